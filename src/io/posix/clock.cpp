#include "io/posix/clock.hpp"

#include <algorithm>
#include <ctime>

namespace muster::io {
namespace {

std::int64_t read_clock(clockid_t id) {
    timespec value{};
    ::clock_gettime(id, &value);
    return static_cast<std::int64_t>(value.tv_sec) * 1'000'000'000 + value.tv_nsec;
}

} // namespace

SystemClock::SystemClock(Instant not_before)
    : offset_(std::max(read_clock(CLOCK_REALTIME), not_before.ns) - boottime_ns()) {}

Instant SystemClock::now() { return {boottime_ns() + offset_}; }

std::int64_t SystemClock::boottime_ns() { return read_clock(CLOCK_BOOTTIME); }

} // namespace muster::io
