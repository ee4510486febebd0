#include "random_value.hpp"

#include "codec/scalar.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace muster::codec {
namespace {

std::string random_text(Prng& prng) {
    static constexpr std::array<std::string_view, 12> pieces = {
        "a", "rank 0", "\"", "\\", "\n", "\t", "\x01", "ü", "节点", "😀", "/usr/bin", "{}[],:"};
    std::string text;
    for (auto n = prng.below(5); n > 0; --n) text += pieces[prng.below(pieces.size())];
    if (prng.chance(20)) text += std::string(5000, 'x');
    if (prng.chance(20)) text += '\0';
    return text;
}

std::string random_name(Prng& prng) {
    std::string name = "n";
    for (auto n = prng.below(8); n > 0; --n) name += static_cast<char>('a' + prng.below(26));
    return name + std::to_string(prng.below(1000));
}

std::int64_t random_integer(const Shape& shape, Prng& prng) {
    const IntegerRange range = integer_range(shape);
    switch (prng.below(5)) {
    case 0: return range.low;
    case 1: return static_cast<std::int64_t>(range.high);
    case 2: return 0;
    case 3: return prng.between(0, 100);
    default:
        return shape.size == 8 ? static_cast<std::int64_t>(prng.next())
                               : prng.between(range.low, static_cast<std::int64_t>(range.high));
    }
}

double random_double(Prng& prng) {
    const double any = std::bit_cast<double>(prng.next());
    switch (prng.below(4)) {
    case 0: return 0.1 * static_cast<double>(prng.below(100));
    case 1: return static_cast<double>(prng.below(1000));
    case 2: return std::numeric_limits<double>::infinity(); // NaN does not equal itself
    default: return std::isnan(any) ? -0.5 : any;
    }
}

RawId random_id(Prng& prng) { return RawId{prng.next() >> 16, prng.next()}; }

void fill_key(const Shape& shape, void* key, Prng& prng) {
    if (shape.kind == Kind::integer)
        store_integer(shape, key, random_integer(shape, prng));
    else if (shape.kind == Kind::id)
        *static_cast<RawId*>(key) = random_id(prng);
    else if (shape.kind == Kind::name)
        *static_cast<std::string*>(key) = random_name(prng);
    else
        *static_cast<std::string*>(key) = random_text(prng);
}

struct KeyContext {
    const Shape& shape;
    Prng& prng;
};

void fill_map(const Shape& shape, void* value, Prng& prng) {
    for (auto n = prng.below(4); n > 0; --n) {
        KeyContext context{*shape.key, prng};
        void* element = shape.map.add(value, &context, [](void* raw, void* key) {
            auto& c = *static_cast<KeyContext*>(raw);
            fill_key(c.shape, key, c.prng);
            return true;
        });
        fill_random(*shape.element, element, prng);
    }
}

void fill_sequence(const Shape& shape, void* value, Prng& prng) {
    shape.sequence.clear(value);
    const std::uint64_t max = shape.kind == Kind::optional ? 1 : 3;
    for (auto n = prng.below(max + 1); n > 0; --n)
        fill_random(*shape.element, shape.sequence.add(value), prng);
}

} // namespace

void fill_random(const Shape& shape, void* value, Prng& prng) {
    switch (shape.kind) {
    case Kind::boolean: *static_cast<bool*>(value) = prng.chance(500); return;
    case Kind::integer: return store_integer(shape, value, random_integer(shape, prng));
    case Kind::floating: *static_cast<double*>(value) = random_double(prng); return;
    case Kind::string: *static_cast<std::string*>(value) = random_text(prng); return;
    case Kind::name:
        *static_cast<std::string*>(value) = prng.chance(100) ? "" : random_name(prng);
        return;
    case Kind::duration:
        *static_cast<Duration*>(value) = Duration{static_cast<std::int64_t>(prng.next())};
        return;
    case Kind::instant:
        *static_cast<Instant*>(value) = Instant{static_cast<std::int64_t>(prng.next() >> 1)};
        return;
    case Kind::id: *static_cast<RawId*>(value) = random_id(prng); return;
    case Kind::enumeration:
        store_integer(shape, value, shape.values[prng.below(shape.values.size())].value);
        return;
    case Kind::optional:
    case Kind::list: return fill_sequence(shape, value, prng);
    case Kind::map: return fill_map(shape, value, prng);
    case Kind::variant: {
        const auto index = prng.below(shape.cases.size());
        return fill_random(*shape.cases[index], shape.variant.emplace(value, index), prng);
    }
    case Kind::record:
        for (const auto& member : shape.members) fill_random(*member.shape, member.at(value), prng);
        return;
    }
}

} // namespace muster::codec
