#pragma once
// Numbers, enums and keys of maps behind a shape, as the walkers of this folder need them.

#include "codec/shape.hpp"

namespace muster::codec {

/// Unsigned 64-bit values keep their bits.
std::int64_t load_integer(const Shape& shape, const void* value);
void store_integer(const Shape& shape, void* value, std::int64_t number);
/// Least and greatest value of the shape's integer; of an unsigned 64-bit one the bits of the
/// latter.
struct IntegerRange {
    std::int64_t low;
    std::uint64_t high;
};
IntegerRange integer_range(const Shape& shape);
/// "unsigned 32 bit"
std::string integer_kind(const Shape& shape);

/// A value outside the described ones is a bug of ours.
std::string_view enum_text(const Shape& shape, const void* value);
void store_enum(const Shape& shape, void* value, std::int64_t number);

/// Keys are strings, Names, Ids or integers.
std::string key_text(const Shape& shape, const void* key);
/// Empty: done. Otherwise what is wrong with the text.
std::string store_key(const Shape& shape, void* key, std::string_view text);

} // namespace muster::codec
