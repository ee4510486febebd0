#include "codec/scalar.hpp"

#include "base/require.hpp"

#include <charconv>
#include <cstring>
#include <limits>

namespace muster::codec {
namespace {

template <class Number>
std::int64_t load(const void* value) {
    Number number;
    std::memcpy(&number, value, sizeof number);
    return static_cast<std::int64_t>(number);
}

template <class Number>
void store(void* value, std::int64_t number) {
    const auto narrow = static_cast<Number>(number);
    std::memcpy(value, &narrow, sizeof narrow);
}

} // namespace

std::int64_t load_integer(const Shape& shape, const void* value) {
    switch (shape.size) {
    case 1: return shape.is_signed ? load<std::int8_t>(value) : load<std::uint8_t>(value);
    case 2: return shape.is_signed ? load<std::int16_t>(value) : load<std::uint16_t>(value);
    case 4: return shape.is_signed ? load<std::int32_t>(value) : load<std::uint32_t>(value);
    default: return load<std::int64_t>(value);
    }
}

void store_integer(const Shape& shape, void* value, std::int64_t number) {
    switch (shape.size) {
    case 1: return store<std::int8_t>(value, number);
    case 2: return store<std::int16_t>(value, number);
    case 4: return store<std::int32_t>(value, number);
    default: return store<std::int64_t>(value, number);
    }
}

IntegerRange integer_range(const Shape& shape) {
    const auto bits = static_cast<unsigned>(shape.size * 8);
    if (!shape.is_signed)
        return {0, bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (1ull << bits) - 1};
    const std::uint64_t high = (1ull << (bits - 1)) - 1;
    return {-static_cast<std::int64_t>(high) - 1, high};
}

std::string integer_kind(const Shape& shape) {
    return (shape.is_signed ? "signed " : "unsigned ") + std::to_string(shape.size * 8) + " bit";
}

std::string_view enum_text(const Shape& shape, const void* value) {
    const std::int64_t number = load_integer(shape, value);
    for (const auto& known : shape.values)
        if (known.value == number) return known.name;
    REQUIRE(false, "an enum has a value that is not described");
}

void store_enum(const Shape& shape, void* value, std::int64_t number) {
    store_integer(shape, value, number);
}

std::string key_text(const Shape& shape, const void* key) {
    switch (shape.kind) {
    case Kind::id: return raw_id_to_text(*static_cast<const RawId*>(key));
    case Kind::integer: {
        const std::int64_t number = load_integer(shape, key);
        return shape.is_signed ? std::to_string(number)
                               : std::to_string(static_cast<std::uint64_t>(number));
    }
    default: return *static_cast<const std::string*>(key);
    }
}

std::string store_key(const Shape& shape, void* key, std::string_view text) {
    if (shape.kind == Kind::id) {
        auto id = raw_id_from_text(text);
        if (!id) return "key \"" + std::string(text) + "\": " + id.error().message;
        *static_cast<RawId*>(key) = *id;
        return {};
    }
    if (shape.kind == Kind::integer) {
        const IntegerRange range = integer_range(shape);
        const char* end = text.data() + text.size();
        if (shape.is_signed) {
            std::int64_t number = 0;
            const auto parsed = std::from_chars(text.data(), end, number);
            if (parsed.ec != std::errc{} || parsed.ptr != end || number < range.low ||
                (number > 0 && static_cast<std::uint64_t>(number) > range.high))
                return "key \"" + std::string(text) + "\" is not a " + integer_kind(shape) +
                       " number";
            store_integer(shape, key, number);
        } else {
            std::uint64_t number = 0;
            const auto parsed = std::from_chars(text.data(), end, number);
            if (parsed.ec != std::errc{} || parsed.ptr != end || number > range.high)
                return "key \"" + std::string(text) + "\" is not an " + integer_kind(shape) +
                       " number";
            store_integer(shape, key, static_cast<std::int64_t>(number));
        }
        return {};
    }
    if (shape.kind == Kind::name && !is_dns_label(text))
        return "key \"" + std::string(text) + "\" is not a name";
    *static_cast<std::string*>(key) = std::string(text);
    return {};
}

} // namespace muster::codec
