#include "base/prng.hpp"

#include "base/require.hpp"

namespace muster {
namespace {
constexpr std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
} // namespace

std::uint64_t mix64(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15ULL;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

Prng::Prng(std::uint64_t seed) {
    for (auto& word : state_) {
        seed = mix64(seed);
        word = seed;
    }
}

std::uint64_t Prng::next() {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
}

std::uint64_t Prng::below(std::uint64_t bound) {
    REQUIRE(bound > 0, "the bound of a draw is positive");
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

std::int64_t Prng::between(std::int64_t low, std::int64_t high) {
    REQUIRE(low <= high, "a range has its low end first");
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

bool Prng::chance(std::uint32_t per_mille) { return below(1000) < per_mille; }

} // namespace muster
