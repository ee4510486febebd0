#pragma once
// Prng: a small seeded generator (xoshiro256**). The only source of randomness in the simulator and
// in tests; production shells draw from the kernel and hand values into cores through events.

#include <cstdint>

namespace muster {

class Prng {
  public:
    explicit Prng(std::uint64_t seed);

    std::uint64_t next();
    /// Uniform in [0, bound); bound > 0.
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [low, high], both included.
    std::int64_t between(std::int64_t low, std::int64_t high);
    /// True with probability per_mille / 1000.
    bool chance(std::uint32_t per_mille);

  private:
    std::uint64_t state_[4];
};

/// One round of splitmix64: mixes a value into a well-spread one.
std::uint64_t mix64(std::uint64_t value);

} // namespace muster
