#pragma once
// Duration and Instant: signed 64-bit nanoseconds. An Instant counts from the Unix epoch on a clock
// that never runs backwards (runtime/clock); cores receive it, they never read a clock.
// Arithmetic ends at the ends of the range: times come from other processes, too, and no nonsense
// that one of them sends may turn a far future into a past.

#include <compare>
#include <cstdint>
#include <limits>

namespace muster {

// The end of the range instead of an overflow; for times, and for counts of other processes.
constexpr std::int64_t capped_sum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b < 0 ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
}
constexpr std::int64_t capped_difference(std::int64_t a, std::int64_t b) {
    std::int64_t difference = 0;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b > 0 ? std::numeric_limits<std::int64_t>::min()
                 : std::numeric_limits<std::int64_t>::max();
}
constexpr std::int64_t capped_product(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) != (b < 0) ? std::numeric_limits<std::int64_t>::min()
                              : std::numeric_limits<std::int64_t>::max();
}

struct Duration {
    std::int64_t ns = 0;

    static constexpr Duration nanos(std::int64_t n) { return {n}; }
    static constexpr Duration micros(std::int64_t n) { return {n * 1'000}; }
    static constexpr Duration millis(std::int64_t n) { return {n * 1'000'000}; }
    static constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }
    static constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
    static constexpr Duration hours(std::int64_t n) { return seconds(n * 3600); }
    static constexpr Duration max() { return {std::numeric_limits<std::int64_t>::max()}; }

    constexpr std::int64_t whole_millis() const { return ns / 1'000'000; }
    constexpr double as_seconds() const { return static_cast<double>(ns) / 1e9; }

    friend constexpr auto operator<=>(Duration, Duration) = default;
    friend constexpr Duration operator+(Duration a, Duration b) { return {capped_sum(a.ns, b.ns)}; }
    friend constexpr Duration operator-(Duration a, Duration b) {
        return {capped_difference(a.ns, b.ns)};
    }
    friend constexpr Duration operator*(Duration a, std::int64_t k) {
        return {capped_product(a.ns, k)};
    }
    friend constexpr Duration operator/(Duration a, std::int64_t k) { return {a.ns / k}; }
    constexpr Duration& operator+=(Duration other) {
        ns = capped_sum(ns, other.ns);
        return *this;
    }
};

struct Instant {
    std::int64_t ns = 0;

    static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }
    constexpr bool is_never() const { return *this == never(); }

    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Duration operator-(Instant a, Instant b) {
        return {capped_difference(a.ns, b.ns)};
    }
    friend constexpr Instant operator+(Instant a, Duration d) {
        return a.is_never() ? a : Instant{capped_sum(a.ns, d.ns)};
    }
    friend constexpr Instant operator-(Instant a, Duration d) {
        return {capped_difference(a.ns, d.ns)};
    }
};

} // namespace muster
