#include "codec/yaml.hpp"

#include "base/text.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <sstream>

namespace muster::codec {
namespace {

struct Refusal {
    std::string message;
    YAML::Mark mark;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// -?(0|[1-9][0-9]*) with an optional fraction, and an exponent only behind a fraction.
bool is_number(std::string_view text) {
    std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
    const auto digits = [&] {
        const std::size_t start = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return at - start;
    };
    const bool zero = at < text.size() && text[at] == '0';
    const std::size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) return false;
    if (at == text.size()) return true;
    if (text[at++] != '.' || digits() == 0) return false;
    if (at == text.size()) return true;
    if (text[at] != 'e' && text[at] != 'E') return false;
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    return digits() != 0 && at == text.size();
}

bool wants_text(const Shape* shape) {
    if (shape == nullptr) return false;
    switch (shape->kind) {
    case Kind::string:
    case Kind::name:
    case Kind::id:
    case Kind::duration:
    case Kind::instant:
    case Kind::enumeration: return true;
    default: return false;
    }
}

class Converter {
  public:
    void convert(const YAML::Node& node, const Shape* shape, std::size_t depth);
    std::string take() { return std::move(out_); }
    /// The first, after which nothing more is converted.
    const std::optional<Refusal>& refusal() const { return refusal_; }

  private:
    void scalar(const YAML::Node& node, const Shape* shape);
    void list(const YAML::Node& node, const Shape* shape, std::size_t depth);
    void map(const YAML::Node& node, const Shape* shape, std::size_t depth);
    void refuse(std::string message, const YAML::Mark& mark) {
        if (!refusal_) refusal_ = Refusal{std::move(message), mark};
    }

    std::string out_;
    std::size_t nodes_ = 0;
    std::optional<Refusal> refusal_;
};

bool is_core_tag(const std::string& tag) {
    const std::string core = "tag:yaml.org,2002:";
    return tag.empty() || tag == "?" || tag == "!" || tag == core + "str" || tag == core + "map" ||
           tag == core + "seq";
}

void Converter::scalar(const YAML::Node& node, const Shape* shape) {
    const std::string& text = node.Scalar();
    const bool plain = node.Tag() == "?" || node.Tag().empty();
    if (!plain || wants_text(shape))
        out_ += json_string(text);
    else if (text == "true" || text == "True" || text == "TRUE")
        out_ += "true";
    else if (text == "false" || text == "False" || text == "FALSE")
        out_ += "false";
    else if (is_number(text))
        out_ += text;
    else
        out_ += json_string(text);
}

void Converter::list(const YAML::Node& node, const Shape* shape, std::size_t depth) {
    const Shape* element = shape != nullptr && shape->kind == Kind::list ? shape->element : nullptr;
    out_ += '[';
    bool first = true;
    for (const auto& child : node) {
        if (refusal_) return;
        if (!first) out_ += ',';
        first = false;
        convert(child, element, depth + 1);
    }
    out_ += ']';
}

const Shape* shape_of_key(const Shape* shape, std::string_view key) {
    if (shape == nullptr) return nullptr;
    if (shape->kind == Kind::map) return shape->element;
    if (shape->kind != Kind::record) return nullptr;
    for (const auto& member : shape->members)
        if (member.name == key) return member.shape;
    return nullptr;
}

void Converter::map(const YAML::Node& node, const Shape* shape, std::size_t depth) {
    if (shape != nullptr && shape->kind == Kind::variant) {
        const YAML::Node tag = node["tag"];
        const Shape* found = nullptr;
        for (const Shape* known : shape->cases)
            if (tag && tag.IsScalar() && tag.Scalar() == known->name) found = known;
        shape = found;
    }
    std::set<std::string> keys;
    out_ += '{';
    for (const auto& pair : node) {
        if (refusal_) return;
        if (!pair.first.IsScalar()) return refuse("a key must be a plain text", pair.first.Mark());
        const std::string& key = pair.first.Scalar();
        if (!keys.insert(key).second)
            return refuse("the key \"" + key + "\" is given twice", pair.first.Mark());
        if (keys.size() > 1) out_ += ',';
        out_ += json_string(key);
        out_ += ':';
        convert(pair.second, shape_of_key(shape, key), depth + 1);
    }
    out_ += '}';
}

void Converter::convert(const YAML::Node& node, const Shape* shape, std::size_t depth) {
    if (refusal_) return;
    if (depth > json_depth_max)
        return refuse("nested deeper than " + std::to_string(json_depth_max) + " levels",
                      node.Mark());
    if (++nodes_ > yaml_nodes_max || out_.size() > yaml_json_bytes_max)
        return refuse("more than " + std::to_string(yaml_nodes_max) +
                          " values with aliases followed: too large",
                      node.Mark());
    if (!is_core_tag(node.Tag()))
        return refuse("the tag \"" + node.Tag() + "\" is not supported", node.Mark());
    while (shape != nullptr && shape->kind == Kind::optional) shape = shape->element;
    switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null: out_ += "null"; return;
    case YAML::NodeType::Scalar: return scalar(node, shape);
    case YAML::NodeType::Sequence: return list(node, shape, depth);
    case YAML::NodeType::Map: return map(node, shape, depth);
    }
}

struct Ignore final : YAML::EventHandler {
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  const std::string&) override {}
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {}
    void OnMapEnd() override {}
};

/// Looks once: some broken texts make yaml-cpp 0.7 (YAML::LoadAll) find documents without end.
bool has_second_document(std::string_view text) {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Ignore ignore;
    return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

tl::unexpected<Error> refused(const std::string& message, const YAML::Mark& mark) {
    std::string text = "not a valid YAML document: " + message;
    if (!mark.is_null())
        text += " at line " + std::to_string(mark.line + 1) + ", column " +
                std::to_string(mark.column + 1);
    return fail(Code::invalid_argument, std::move(text));
}

} // namespace

Result<std::string> yaml_to_json(const Shape& shape, std::string_view text) {
    if (text.size() > yaml_bytes_max)
        return fail(Code::invalid_argument, "the YAML has " + std::to_string(text.size()) +
                                                " bytes, at most " +
                                                std::to_string(yaml_bytes_max) + " are taken");
    // The parser would put other characters in their place.
    if (text.find('\0') != std::string_view::npos || to_valid_utf8(text) != text)
        return fail(Code::invalid_argument, "the YAML holds bytes that are not UTF-8 text",
                    "save the file as UTF-8; a zero byte is not taken either");
    try {
        if (has_second_document(text))
            return fail(Code::invalid_argument, "the YAML has more than one document",
                        "give one at a time");
        const YAML::Node document = YAML::Load(std::string(text));
        if (!document.IsDefined() || document.IsNull())
            return fail(Code::invalid_argument, "the YAML is empty");
        Converter converter;
        converter.convert(document, &shape, 1);
        if (converter.refusal())
            return refused(converter.refusal()->message, converter.refusal()->mark);
        return converter.take();
    } catch (const YAML::Exception& problem) {
        return refused(problem.msg, problem.mark);
    } catch (const std::exception& problem) { // yaml-cpp lets some of the library's own through
        return refused(problem.what(), YAML::Mark::null_mark());
    }
}

} // namespace muster::codec
