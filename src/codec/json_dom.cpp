#include "codec/json_dom.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace muster::codec {
namespace json = boost::json;
namespace {

using Text = json::string_view;
using ErrorCode = json::error_code;

/// What both handlers of the parser have in common: limits, and no interest in comments.
struct HandlerBase {
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();
    bool on_document_begin(ErrorCode&) { return true; }
    bool on_document_end(ErrorCode&) { return true; }
    bool on_number_part(Text, ErrorCode&) { return true; }
    bool on_comment_part(Text, ErrorCode&) { return true; }
    bool on_comment(Text, ErrorCode&) { return true; }
};

/// Builds the DOM and counts the keys that the text has: the DOM keeps the last of equal ones.
struct Builder : HandlerBase {
    json::value_stack stack;
    std::size_t keys = 0;

    bool on_object_begin(ErrorCode&) { return true; }
    bool on_object_end(std::size_t n, ErrorCode&) {
        keys += n;
        stack.push_object(n);
        return true;
    }
    bool on_array_begin(ErrorCode&) { return true; }
    bool on_array_end(std::size_t n, ErrorCode&) {
        stack.push_array(n);
        return true;
    }
    bool on_key_part(Text s, std::size_t, ErrorCode&) {
        stack.push_chars(s);
        return true;
    }
    bool on_key(Text s, std::size_t, ErrorCode&) {
        stack.push_key(s);
        return true;
    }
    bool on_string_part(Text s, std::size_t, ErrorCode&) {
        stack.push_chars(s);
        return true;
    }
    bool on_string(Text s, std::size_t, ErrorCode&) {
        stack.push_string(s);
        return true;
    }
    bool on_int64(std::int64_t i, Text, ErrorCode&) {
        stack.push_int64(i);
        return true;
    }
    bool on_uint64(std::uint64_t u, Text, ErrorCode&) {
        stack.push_uint64(u);
        return true;
    }
    /// Boost.JSON 1.81 rounds some doubles wrongly; from_chars does not.
    bool on_double(double d, Text s, ErrorCode&) {
        double exact = 0;
        const auto parsed = std::from_chars(s.data(), s.data() + s.size(), exact);
        const bool whole = parsed.ec == std::errc{} && parsed.ptr == s.data() + s.size();
        stack.push_double(whole ? exact : d);
        return true;
    }
    bool on_bool(bool b, ErrorCode&) {
        stack.push_bool(b);
        return true;
    }
    bool on_null(ErrorCode&) {
        stack.push_null();
        return true;
    }
};

/// Second pass over a text that has an equal key twice: which one, and where.
struct DuplicateFinder : HandlerBase {
    struct Level {
        std::set<std::string> keys;
        std::string at;
        std::size_t index = 0;
        bool list = false;
    };
    std::vector<Level> levels;
    std::string key;
    std::string found;

    std::string child_path() {
        if (levels.empty()) return {};
        auto& level = levels.back();
        if (level.list) return level.at + "[" + std::to_string(level.index++) + "]";
        std::string name = std::move(key);
        key.clear();
        return level.at.empty() ? name : level.at + "." + name;
    }
    bool open(bool list) {
        std::string at = child_path();
        levels.push_back({{}, std::move(at), 0, list});
        return true;
    }
    bool close() {
        levels.pop_back();
        return true;
    }
    bool scalar() {
        child_path();
        return true;
    }
    bool on_object_begin(ErrorCode&) { return open(false); }
    bool on_object_end(std::size_t, ErrorCode&) { return close(); }
    bool on_array_begin(ErrorCode&) { return open(true); }
    bool on_array_end(std::size_t, ErrorCode&) { return close(); }
    bool on_key_part(Text s, std::size_t, ErrorCode&) {
        key.append(s.data(), s.size());
        return true;
    }
    bool on_key(Text s, std::size_t, ErrorCode&) {
        key.append(s.data(), s.size());
        if (!levels.back().keys.insert(key).second && found.empty())
            found = levels.back().at.empty() ? key : levels.back().at + "." + key;
        return true;
    }
    bool on_string_part(Text, std::size_t, ErrorCode&) { return true; }
    bool on_string(Text, std::size_t, ErrorCode&) { return scalar(); }
    bool on_int64(std::int64_t, Text, ErrorCode&) { return scalar(); }
    bool on_uint64(std::uint64_t, Text, ErrorCode&) { return scalar(); }
    bool on_double(double, Text, ErrorCode&) { return scalar(); }
    bool on_bool(bool, ErrorCode&) { return scalar(); }
    bool on_null(ErrorCode&) { return scalar(); }
};

json::parse_options parse_options() {
    json::parse_options options;
    options.max_depth = json_depth_max;
    return options;
}

std::size_t count_keys(const json::value& value) {
    std::size_t count = 0;
    if (const auto* object = value.if_object()) {
        count = object->size();
        for (const auto& pair : *object)
            if (pair.value().is_structured()) count += count_keys(pair.value());
    } else if (const auto* array = value.if_array()) {
        for (const auto& element : *array) {
            if (!element.is_structured()) continue;
            count += count_keys(element);
        }
    }
    return count;
}

std::string place_of(std::string_view text, std::size_t at) {
    at = std::min(at, text.size());
    const auto before = text.substr(0, at);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::size_t line_start = before.rfind('\n') + 1; // npos + 1 is 0
    return "line " + std::to_string(line) + ", column " + std::to_string(at - line_start + 1);
}

Error syntax_error(std::string_view text, std::size_t at, const ErrorCode& code) {
    if (code == json::error::too_deep)
        return {Code::invalid_argument,
                "the JSON is nested deeper than " + std::to_string(json_depth_max) + " levels",
                {},
                {}};
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return {Code::invalid_argument, "the JSON is empty", {}, {}};
    return {Code::invalid_argument,
            "not JSON: " + code.message() + " at " + place_of(text, at),
            {},
            {}};
}

Error duplicate_error(std::string_view text) {
    json::basic_parser<DuplicateFinder> parser(parse_options());
    ErrorCode code;
    parser.write_some(false, text.data(), text.size(), code);
    return {Code::invalid_argument, "the key is given twice", "keep one of them",
            parser.handler().found};
}

using Parser = json::basic_parser<Builder>;

/// Texts up to this size are parsed with a parser and a buffer that the thread keeps.
constexpr std::size_t small_text_bytes = 64 * 1024;
constexpr std::size_t buffer_bytes = 32 * 1024;

struct Workspace {
    Parser parser{parse_options()};
    std::array<unsigned char, buffer_bytes> buffer;
};

} // namespace

Status with_document(std::string_view text, std::size_t bytes_max, void* context,
                     Status (*use)(void* context, const json::value& document)) {
    if (text.size() > bytes_max)
        return fail(Code::invalid_argument, "the JSON has " + std::to_string(text.size()) +
                                                " bytes, at most " + std::to_string(bytes_max) +
                                                " are taken");
    static thread_local std::unique_ptr<Workspace> kept;
    std::unique_ptr<Workspace> own;
    if (text.size() > small_text_bytes)
        own = std::make_unique<Workspace>();
    else if (!kept)
        kept = std::make_unique<Workspace>();
    Workspace& space = own ? *own : *kept;

    json::monotonic_resource resource(space.buffer.data(), space.buffer.size());
    Builder& builder = space.parser.handler();
    builder.keys = 0;
    builder.stack.reset(&resource);
    space.parser.reset();
    ErrorCode code;
    std::size_t used = space.parser.write_some(false, text.data(), text.size(), code);
    if (!code && used < text.size()) code = json::error::extra_data;
    if (code) {
        builder.stack.reset();
        return fail(syntax_error(text, used, code));
    }
    const json::value document = builder.stack.release();
    if (count_keys(document) != builder.keys) return fail(duplicate_error(text));
    return use(context, document);
}

} // namespace muster::codec
