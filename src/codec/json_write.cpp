#include "base/require.hpp"
#include "base/text.hpp"
#include "codec/json.hpp"
#include "codec/scalar.hpp"

#include <charconv>
#include <cmath>

namespace muster::codec {
namespace {

/// Characters that a JSON string holds as they are, below 0x80.
constexpr auto plain = [] {
    std::array<bool, 256> table{};
    for (std::size_t c = 0x20; c < 0x7f; ++c) table[c] = c != '"' && c != '\\';
    return table;
}();

void write_escaped(unsigned char c, std::string& out) {
    constexpr char hex[] = "0123456789abcdef";
    switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
        if (c >= 0x80) {
            out += static_cast<char>(c);
        } else {
            out += "\\u00";
            out += hex[c >> 4];
            out += hex[c & 15];
        }
    }
}

void write_hard_string(std::string_view text, std::string& out) {
    for (const char c : to_valid_utf8(text)) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain[byte])
            out += c;
        else
            write_escaped(byte, out);
    }
}

void write_string(std::string_view text, std::string& out) {
    out += '"';
    std::size_t clean = 0;
    while (clean < text.size() && plain[static_cast<unsigned char>(text[clean])]) ++clean;
    if (clean == text.size())
        out.append(text);
    else
        write_hard_string(text, out);
    out += '"';
}

template <class Number>
void write_number(Number number, std::string& out) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    out.append(buffer, static_cast<std::size_t>(end - buffer));
}

void write_double(double number, Style style, std::string& out) {
    if (std::isfinite(number))
        write_number(number, out);
    else if (style == Style::wire)
        out += "null";
    else if (std::isnan(number))
        out += "\"NaN\"";
    else
        out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

void write_integer(const Shape& shape, const void* value, std::string& out) {
    if (shape.is_signed)
        write_number(load_integer(shape, value), out);
    else
        write_number(static_cast<std::uint64_t>(load_integer(shape, value)), out);
}

void write_instant(Instant instant, Style style, std::string& out) {
    if (style == Style::exact) return write_number(instant.ns, out);
    write_string(instant.is_never() ? std::string("never") : to_text(instant), out);
}

void write_duration(Duration duration, Style style, std::string& out) {
    if (style == Style::exact) return write_number(duration.ns, out);
    write_string(to_text(duration), out);
}

void write_id(const RawId& id, std::string& out) {
    out += '"';
    out += raw_id_to_text(id);
    out += '"';
}

void write_members(const Shape& shape, const void* value, Style style, bool first,
                   std::string& out) {
    for (const auto& member : shape.members) {
        // Accessors are made for reading and writing alike; this only reads.
        const void* field = member.at(const_cast<void*>(value));
        if (member.shape->kind == Kind::optional && member.shape->sequence.size(field) == 0)
            continue;
        out += first ? "\"" : ",\"";
        first = false;
        out += member.name;
        out += "\":";
        write_json(*member.shape, field, style, out);
    }
    out += '}';
}

void write_variant(const Shape& shape, const void* value, Style style, std::string& out) {
    const Shape& held = *shape.cases[shape.variant.index(value)];
    out += "{\"tag\":\"";
    out += held.name;
    out += '"';
    write_members(held, shape.variant.get(value), style, false, out);
}

void write_list(const Shape& shape, const void* value, Style style, std::string& out) {
    out += '[';
    const std::size_t size = shape.sequence.size(value);
    for (std::size_t i = 0; i < size; ++i) {
        if (i != 0) out += ',';
        write_json(*shape.element, shape.sequence.at(value, i), style, out);
    }
    out += ']';
}

struct MapWriter {
    const Shape& shape;
    Style style;
    std::string& out;
    bool first = true;
};

void write_map(const Shape& shape, const void* value, Style style, std::string& out) {
    out += '{';
    MapWriter writer{shape, style, out};
    shape.map.visit(value, &writer, [](void* context, const void* key, const void* element) {
        auto& w = *static_cast<MapWriter*>(context);
        if (!w.first) w.out += ',';
        w.first = false;
        write_string(key_text(*w.shape.key, key), w.out);
        w.out += ':';
        write_json(*w.shape.element, element, w.style, w.out);
    });
    out += '}';
}

} // namespace

void write_json(const Shape& shape, const void* value, Style style, std::string& out) {
    switch (shape.kind) {
    case Kind::boolean: out += *static_cast<const bool*>(value) ? "true" : "false"; return;
    case Kind::integer: return write_integer(shape, value, out);
    case Kind::floating: return write_double(*static_cast<const double*>(value), style, out);
    case Kind::string:
    case Kind::name: return write_string(*static_cast<const std::string*>(value), out);
    case Kind::duration: return write_duration(*static_cast<const Duration*>(value), style, out);
    case Kind::instant: return write_instant(*static_cast<const Instant*>(value), style, out);
    case Kind::id: return write_id(*static_cast<const RawId*>(value), out);
    case Kind::enumeration: return write_string(enum_text(shape, value), out);
    case Kind::optional:
        if (shape.sequence.size(value) == 0)
            out += "null";
        else
            write_json(*shape.element, shape.sequence.at(value, 0), style, out);
        return;
    case Kind::list: return write_list(shape, value, style, out);
    case Kind::map: return write_map(shape, value, style, out);
    case Kind::variant: return write_variant(shape, value, style, out);
    case Kind::record: out += '{'; return write_members(shape, value, style, true, out);
    }
}

std::string json_string(std::string_view text) {
    std::string out;
    write_string(text, out);
    return out;
}

} // namespace muster::codec
