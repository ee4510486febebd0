#pragma once
// Duration and Instant: signed 64-bit nanoseconds. An Instant counts from the Unix epoch on a clock
// that never runs backwards (runtime/clock); cores receive it, they never read a clock.

#include <compare>
#include <cstdint>
#include <limits>

namespace muster {

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
    friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
    friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
    friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ns * k}; }
    friend constexpr Duration operator/(Duration a, std::int64_t k) { return {a.ns / k}; }
    constexpr Duration& operator+=(Duration other) {
        ns += other.ns;
        return *this;
    }
};

struct Instant {
    std::int64_t ns = 0;

    static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }
    constexpr bool is_never() const { return *this == never(); }

    friend constexpr auto operator<=>(Instant, Instant) = default;
    friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
    friend constexpr Instant operator+(Instant a, Duration d) {
        return a.is_never() ? a : Instant{a.ns + d.ns};
    }
    friend constexpr Instant operator-(Instant a, Duration d) { return {a.ns - d.ns}; }
};

} // namespace muster
