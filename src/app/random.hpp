#pragma once
// Ids drawn from the kernel, for shells.

#include "base/id.hpp"
#include "base/require.hpp"
#include "io/posix/clock.hpp"

#include <cstdint>
#include <sys/random.h>

namespace muster::app {

inline std::uint64_t random_bits() {
    std::uint64_t bits = 0;
    REQUIRE(::getrandom(&bits, sizeof bits, 0) == sizeof bits, "the kernel gives random bits");
    return bits;
}

template <class Tag>
Id<Tag> random_id() {
    return Id<Tag>::make(io::SystemClock().now(), random_bits(), random_bits());
}

} // namespace muster::app
