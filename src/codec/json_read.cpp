#include "base/require.hpp"
#include "base/text.hpp"
#include "codec/json_dom.hpp"
#include "codec/scalar.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::codec {
namespace json = boost::json;
namespace {

/// Where in the document we are: a list on the stack, written out only for an error.
struct Path {
    const Path* up = nullptr;
    std::string_view key{};
    std::size_t index = 0;
};

std::string path_text(const Path& path) {
    if (path.up == nullptr) return {};
    std::string text = path_text(*path.up);
    if (path.key.data() == nullptr) return text + "[" + std::to_string(path.index) + "]";
    if (!text.empty()) text += '.';
    return text + to_valid_utf8(path.key);
}

std::string shortened(std::string_view text) {
    constexpr std::size_t shown_max = 60;
    if (text.size() <= shown_max) return "\"" + to_valid_utf8(text) + "\"";
    return "\"" + to_valid_utf8(text.substr(0, shown_max)) + "...\"";
}

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

std::string what_is(const json::value& value) {
    switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64: return "the number " + std::to_string(value.get_int64());
    case json::kind::uint64: return "the number " + std::to_string(value.get_uint64());
    case json::kind::double_:
        if (!std::isfinite(value.get_double())) return "a number that is too large";
        return "the number " + to_json(value.get_double());
    case json::kind::string: return "the text " + shortened(view(value.get_string()));
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
    }
    return "something else";
}

std::string suggestion(std::string_view word, std::vector<std::string> known) {
    const std::string guess = nearest(word, known);
    if (!guess.empty()) return " (did you mean \"" + guess + "\"?)";
    std::string all;
    for (const auto& name : known) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "" : " (known: " + all + ")";
}

constexpr std::string_view tag_key = "tag";
constexpr std::size_t members_max = 64; // of one record: a bit each

class Reader {
  public:
    explicit Reader(const DecodeOptions& options) : options_(options) {}

    void read(const Shape& shape, void* out, const json::value& in, const Path& at);
    Status result();

  private:
    struct Found {
        std::string path;
        std::string message;
    };

    void wrong(const Path& at, std::string message) {
        if (errors_.size() < decode_errors_max)
            errors_.push_back({path_text(at), std::move(message)});
    }
    void expected(const Path& at, const json::value& in, std::string_view what) {
        wrong(at, "is " + what_is(in) + ", needs " + std::string(what));
    }

    void read_boolean(void* out, const json::value& in, const Path& at);
    void read_integer(const Shape& shape, void* out, const json::value& in, const Path& at);
    void read_floating(void* out, const json::value& in, const Path& at);
    void read_string(void* out, const json::value& in, const Path& at);
    void read_name(void* out, const json::value& in, const Path& at);
    void read_id(void* out, const json::value& in, const Path& at);
    void read_duration(void* out, const json::value& in, const Path& at);
    void read_instant(void* out, const json::value& in, const Path& at);
    void read_enum(const Shape& shape, void* out, const json::value& in, const Path& at);
    void read_list(const Shape& shape, void* out, const json::value& in, const Path& at);
    void read_map(const Shape& shape, void* out, const json::value& in, const Path& at);
    void read_variant(const Shape& shape, void* out, const json::value& in, const Path& at);
    void read_record(const Shape& shape, void* out, const json::value& in, const Path& at,
                     bool tagged);
    void unknown_key(const Shape& shape, std::string_view key, const Path& at);

    const DecodeOptions& options_;
    std::vector<Found> errors_;
};

Status Reader::result() {
    if (errors_.empty()) return ok();
    Error error{
        Code::invalid_argument, std::move(errors_[0].message), {}, std::move(errors_[0].path)};
    for (std::size_t i = 1; i < errors_.size(); ++i) {
        error.message += "; ";
        if (!errors_[i].path.empty()) error.message += errors_[i].path + ": ";
        error.message += errors_[i].message;
    }
    if (errors_.size() == decode_errors_max) error.message += "; there may be more";
    return fail(std::move(error));
}

void Reader::read_boolean(void* out, const json::value& in, const Path& at) {
    if (const auto* value = in.if_bool())
        *static_cast<bool*>(out) = *value;
    else
        expected(at, in, "true or false");
}

void Reader::read_integer(const Shape& shape, void* out, const json::value& in, const Path& at) {
    const IntegerRange range = integer_range(shape);
    const auto too_large = [&] { wrong(at, what_is(in) + " does not fit " + integer_kind(shape)); };
    if (const auto* number = in.if_int64()) {
        if (*number < range.low ||
            (*number > 0 && static_cast<std::uint64_t>(*number) > range.high))
            return too_large();
        return store_integer(shape, out, *number);
    }
    if (const auto* number = in.if_uint64()) {
        if (*number > range.high) return too_large();
        return store_integer(shape, out, static_cast<std::int64_t>(*number));
    }
    if (const auto* number = in.if_double()) {
        constexpr double exact_max = 9007199254740992.0; // 2^53: whole numbers below are exact
        if (std::floor(*number) != *number) return expected(at, in, "a whole number");
        if (std::abs(*number) > exact_max) return too_large();
        const json::value whole(static_cast<std::int64_t>(*number));
        return read_integer(shape, out, whole, at);
    }
    expected(at, in, "a whole number");
}

void Reader::read_floating(void* out, const json::value& in, const Path& at) {
    auto& number = *static_cast<double*>(out);
    if (const auto* real = in.if_double()) {
        if (!std::isfinite(*real)) return wrong(at, "the number is too large");
        number = *real;
    } else if (const auto* whole = in.if_int64()) {
        number = static_cast<double>(*whole);
    } else if (const auto* large = in.if_uint64()) {
        number = static_cast<double>(*large);
    } else if (in.is_null()) { // how Style::wire writes what JSON has no number for
        number = std::numeric_limits<double>::quiet_NaN();
    } else if (const auto* text = in.if_string(); text != nullptr && *text == "NaN") {
        number = std::numeric_limits<double>::quiet_NaN();
    } else if (text != nullptr && *text == "Infinity") {
        number = std::numeric_limits<double>::infinity();
    } else if (text != nullptr && *text == "-Infinity") {
        number = -std::numeric_limits<double>::infinity();
    } else {
        expected(at, in, "a number");
    }
}

void Reader::read_string(void* out, const json::value& in, const Path& at) {
    if (const auto* text = in.if_string())
        static_cast<std::string*>(out)->assign(view(*text));
    else
        expected(at, in, "a text");
}

void Reader::read_name(void* out, const json::value& in, const Path& at) {
    const auto* text = in.if_string();
    if (text == nullptr) return expected(at, in, "a name");
    if (!text->empty() && !is_dns_label(view(*text)))
        return wrong(at, shortened(view(*text)) +
                             " is not a name (use a-z, 0-9 and '-', at most 63 characters, with a "
                             "letter or digit at both ends)");
    static_cast<std::string*>(out)->assign(view(*text));
}

void Reader::read_id(void* out, const json::value& in, const Path& at) {
    const auto* text = in.if_string();
    if (text == nullptr) return expected(at, in, "an id");
    if (text->empty()) return;
    auto id = raw_id_from_text(view(*text));
    if (!id) return wrong(at, shortened(view(*text)) + " is not an id: " + id.error().message);
    *static_cast<RawId*>(out) = *id;
}

void Reader::read_duration(void* out, const json::value& in, const Path& at) {
    if (const auto* ns = in.if_int64()) {
        if (options_.bare_times == BareTimes::refuse && *ns != 0)
            return wrong(at, std::to_string(*ns) + " has no unit (write a duration as 90s, 10m or "
                                                   "1h30m)");
        *static_cast<Duration*>(out) = Duration{*ns};
        return;
    }
    const auto* text = in.if_string();
    if (text == nullptr) return expected(at, in, "a duration such as \"90s\"");
    auto duration = parse_duration(view(*text));
    if (!duration) return wrong(at, duration.error().message + " (" + duration.error().hint + ")");
    *static_cast<Duration*>(out) = *duration;
}

void Reader::read_instant(void* out, const json::value& in, const Path& at) {
    if (const auto* ns = in.if_int64(); ns != nullptr && options_.bare_times == BareTimes::accept) {
        *static_cast<Instant*>(out) = Instant{*ns};
        return;
    }
    const auto* text = in.if_string();
    if (text == nullptr) return expected(at, in, "a time such as \"2026-11-30T19:12:34.123Z\"");
    if (*text == "never") {
        *static_cast<Instant*>(out) = Instant::never();
        return;
    }
    auto instant = parse_instant(view(*text));
    if (!instant) return wrong(at, instant.error().message + " (" + instant.error().hint + ")");
    *static_cast<Instant*>(out) = *instant;
}

void Reader::read_enum(const Shape& shape, void* out, const json::value& in, const Path& at) {
    const auto* text = in.if_string();
    std::vector<std::string> names;
    if (text != nullptr)
        for (const auto& known : shape.values)
            if (known.name == view(*text)) return store_integer(shape, out, known.value);
    for (const auto& known : shape.values) names.emplace_back(known.name);
    if (text == nullptr) return wrong(at, "is " + what_is(in) + suggestion("", names));
    wrong(at, shortened(view(*text)) + " is not known" + suggestion(view(*text), names));
}

void Reader::read_list(const Shape& shape, void* out, const json::value& in, const Path& at) {
    const auto* list = in.if_array();
    if (list == nullptr) return expected(at, in, "a list");
    shape.sequence.clear(out);
    for (std::size_t i = 0; i < list->size(); ++i) {
        if (errors_.size() == decode_errors_max) return;
        read(*shape.element, shape.sequence.add(out), (*list)[i], Path{&at, {}, i});
    }
}

struct KeyFiller {
    const Shape& shape;
    std::string_view text;
    std::string problem{};
};

void Reader::read_map(const Shape& shape, void* out, const json::value& in, const Path& at) {
    const auto* object = in.if_object();
    if (object == nullptr) return expected(at, in, "an object");
    shape.map.clear(out);
    for (const auto& pair : *object) {
        KeyFiller filler{*shape.key, {pair.key().data(), pair.key().size()}};
        void* value = shape.map.add(out, &filler, [](void* context, void* key) {
            auto& f = *static_cast<KeyFiller*>(context);
            f.problem = store_key(f.shape, key, f.text);
            return f.problem.empty();
        });
        if (value == nullptr)
            wrong(at, std::move(filler.problem));
        else
            read(*shape.element, value, pair.value(), Path{&at, filler.text});
    }
}

void Reader::read_variant(const Shape& shape, void* out, const json::value& in, const Path& at) {
    const auto* object = in.if_object();
    if (object == nullptr) return expected(at, in, "an object with a \"tag\"");
    const Path tag_at{&at, tag_key};
    const auto* tag = object->if_contains("tag");
    if (tag == nullptr) return wrong(tag_at, "required key is missing");
    if (!tag->is_string()) return expected(tag_at, *tag, "a text");
    const std::string_view name = view(tag->get_string());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < shape.cases.size(); ++i)
        if (shape.cases[i]->name == name)
            return read_record(*shape.cases[i], shape.variant.emplace(out, i), in, at, true);
    for (const auto* known : shape.cases) names.emplace_back(known->name);
    wrong(tag_at, shortened(name) + " is not known" + suggestion(name, names));
}

void Reader::unknown_key(const Shape& shape, std::string_view key, const Path& at) {
    if (options_.unknown == UnknownKeys::ignore) return;
    std::vector<std::string> names;
    for (const auto& member : shape.members) names.emplace_back(member.name);
    wrong(Path{&at, key}, "unknown key" + suggestion(key, names));
}

void Reader::read_record(const Shape& shape, void* out, const json::value& in, const Path& at,
                         bool tagged) {
    const auto* object = in.if_object();
    if (object == nullptr) return expected(at, in, "an object");
    const std::size_t count = shape.members.size();
    REQUIRE(count <= members_max, "a record has more members than a decoder can watch");
    std::uint64_t seen = 0;
    std::size_t next = 0; // keys mostly come in the order of the description
    for (const auto& pair : *object) {
        const std::string_view key{pair.key().data(), pair.key().size()};
        if (tagged && key == tag_key) continue;
        std::size_t tried = 0;
        while (tried < count && shape.members[next].name != key) {
            next = next + 1 == count ? 0 : next + 1;
            ++tried;
        }
        if (tried == count) {
            unknown_key(shape, key, at);
            continue;
        }
        seen |= std::uint64_t{1} << next;
        const Member& member = shape.members[next];
        read(*member.shape, member.at(out), pair.value(), Path{&at, key});
        next = next + 1 == count ? 0 : next + 1;
    }
    for (std::size_t i = 0; i < count; ++i)
        if (shape.members[i].required && (seen >> i & 1) == 0)
            wrong(Path{&at, shape.members[i].name}, "required key is missing");
}

void Reader::read(const Shape& shape, void* out, const json::value& in, const Path& at) {
    switch (shape.kind) {
    case Kind::boolean: return read_boolean(out, in, at);
    case Kind::integer: return read_integer(shape, out, in, at);
    case Kind::floating: return read_floating(out, in, at);
    case Kind::string: return read_string(out, in, at);
    case Kind::name: return read_name(out, in, at);
    case Kind::id: return read_id(out, in, at);
    case Kind::duration: return read_duration(out, in, at);
    case Kind::instant: return read_instant(out, in, at);
    case Kind::enumeration: return read_enum(shape, out, in, at);
    case Kind::optional:
        shape.sequence.clear(out);
        if (!in.is_null()) read(*shape.element, shape.sequence.add(out), in, at);
        return;
    case Kind::list: return read_list(shape, out, in, at);
    case Kind::map: return read_map(shape, out, in, at);
    case Kind::variant: return read_variant(shape, out, in, at);
    case Kind::record: return read_record(shape, out, in, at, false);
    }
}

struct Task {
    const Shape& shape;
    void* value;
    const DecodeOptions& options;
};

} // namespace

Status read_json(const Shape& shape, void* value, std::string_view text,
                 const DecodeOptions& options) {
    Task task{shape, value, options};
    return with_document(text, options.bytes_max, &task,
                         [](void* context, const json::value& document) {
                             auto& t = *static_cast<Task*>(context);
                             Reader reader(t.options);
                             reader.read(t.shape, t.value, document, Path{});
                             return reader.result();
                         });
}

} // namespace muster::codec
