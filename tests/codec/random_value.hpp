#pragma once
// Random values of any described type, with the nasty ones among them: extreme numbers, bytes that
// are not ASCII, empty and long containers.

#include "base/prng.hpp"
#include "codec/shape.hpp"

namespace muster::codec {

void fill_random(const Shape& shape, void* value, Prng& prng);

template <class T>
T random_value(Prng& prng) {
    T value{};
    fill_random(shape_of<T>, &value, prng);
    return value;
}

} // namespace muster::codec
