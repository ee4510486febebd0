#include "base/text.hpp"
#include "codec/scalar.hpp"
#include "codec/yaml.hpp"

#include <algorithm>
#include <array>

namespace muster::codec {
namespace {

constexpr std::size_t simple_key_bytes_max = 1'000; // YAML allows 1,024 before the colon

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// True where the text reads back as itself without quotes, in any reader of YAML 1.1 or 1.2.
bool is_plain(std::string_view text) {
    constexpr std::array<std::string_view, 11> words = {"true", "false", "null", "yes", "no", "on",
                                                        "off",  "y",     "n",    "inf", "nan"};
    if (text.empty() || !(is_letter(text[0]) || text[0] == '/')) return false;
    for (const char c : text)
        if (!is_letter(c) && !(c >= '0' && c <= '9') &&
            std::string_view("-_./@+=").find(c) == std::string_view::npos)
            return false;
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return std::find(words.begin(), words.end(), lower) == words.end();
}

std::string text_scalar(std::string_view text) {
    return is_plain(text) ? std::string(text) : json_string(text);
}

std::string scalar(const Shape& shape, const void* value) {
    if (shape.kind == Kind::string || shape.kind == Kind::name)
        return text_scalar(*static_cast<const std::string*>(value));
    if (shape.kind == Kind::enumeration) return text_scalar(enum_text(shape, value));
    if (shape.kind == Kind::duration) return to_text(*static_cast<const Duration*>(value));
    std::string out;
    write_json(shape, value, Style::wire, out);
    return out;
}

class Writer {
  public:
    explicit Writer(std::string& out) : out_(out) {}
    /// `lead` is what stands before the value on its line: "key:" or "-".
    void value(const Shape& shape, const void* value, std::size_t indent, std::string_view lead);
    void members(const Shape& shape, const void* value, std::size_t indent);

  private:
    void begin(std::size_t indent) {
        if (inline_)
            inline_ = false;
        else
            out_.append(indent, ' ');
    }
    void line(std::size_t indent, std::string_view lead, std::string_view text) {
        begin(indent);
        out_ += lead;
        if (!lead.empty() && !text.empty()) out_ += ' ';
        out_ += text;
        out_ += '\n';
    }
    /// Opens a nested block: behind "-" on the same line, behind "key:" on the next.
    std::size_t open(std::size_t indent, std::string_view lead, bool block_is_list) {
        if (lead.empty()) return indent;
        begin(indent);
        out_ += lead;
        if (lead == "-" && !block_is_list) {
            out_ += ' ';
            inline_ = true;
        } else {
            out_ += '\n';
        }
        return indent + 2;
    }
    void list(const Shape& shape, const void* value, std::size_t indent, std::string_view lead);
    void map(const Shape& shape, const void* value, std::size_t indent, std::string_view lead);

    std::string& out_;
    bool inline_ = false; // the next line goes on behind "- "
};

void Writer::list(const Shape& shape, const void* value, std::size_t indent,
                  std::string_view lead) {
    const std::size_t size = shape.sequence.size(value);
    if (size == 0) return line(indent, lead, "[]");
    const std::size_t inner = open(indent, lead, true);
    for (std::size_t i = 0; i < size; ++i)
        this->value(*shape.element, shape.sequence.at(value, i), inner, "-");
}

struct MapContext {
    Writer& writer;
    const Shape& shape;
    std::size_t indent;
};

void Writer::map(const Shape& shape, const void* value, std::size_t indent, std::string_view lead) {
    if (shape.map.empty(value)) return line(indent, lead, "{}");
    MapContext context{*this, shape, open(indent, lead, false)};
    shape.map.visit(value, &context, [](void* raw, const void* key, const void* element) {
        auto& c = *static_cast<MapContext*>(raw);
        const std::string text = text_scalar(key_text(*c.shape.key, key));
        const std::string lead = text.size() <= simple_key_bytes_max
                                     ? text + ":"
                                     : "? " + text + "\n" + std::string(c.indent, ' ') + ":";
        c.writer.value(*c.shape.element, element, c.indent, lead);
    });
}

void Writer::members(const Shape& shape, const void* value, std::size_t indent) {
    for (const auto& member : shape.members) {
        const void* field = member.at(const_cast<void*>(value)); // only read
        if (member.shape->kind == Kind::optional && member.shape->sequence.size(field) == 0)
            continue;
        this->value(*member.shape, field, indent, std::string(member.name) + ":");
    }
}

void Writer::value(const Shape& shape, const void* value, std::size_t indent,
                   std::string_view lead) {
    switch (shape.kind) {
    case Kind::optional:
        if (shape.sequence.size(value) == 0) return line(indent, lead, "null");
        return this->value(*shape.element, shape.sequence.at(value, 0), indent, lead);
    case Kind::list: return list(shape, value, indent, lead);
    case Kind::map: return map(shape, value, indent, lead);
    case Kind::record: {
        if (shape.members.empty()) return line(indent, lead, "{}");
        const std::size_t inner = open(indent, lead, false);
        const std::size_t before = out_.size();
        members(shape, value, inner);
        if (out_.size() == before) line(inner, "", "{}"); // only absent optionals
        return;
    }
    case Kind::variant: {
        const Shape& held = *shape.cases[shape.variant.index(value)];
        const std::size_t inner = open(indent, lead, false);
        line(inner, "tag:", held.name);
        return members(held, shape.variant.get(value), inner);
    }
    default: return line(indent, lead, scalar(shape, value));
    }
}

} // namespace

void write_yaml(const Shape& shape, const void* value, std::string& out) {
    Writer(out).value(shape, value, 0, "");
}

} // namespace muster::codec
