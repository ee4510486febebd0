#pragma once
// SystemClock: the one non-decreasing Instant of a process. Anchored once to max(wall,
// `not_before`), then carried by CLOCK_BOOTTIME, so that a jump of the wall clock never shows.
// Life: one per process. Thread-safe (immutable after construction).

#include "runtime/ports.hpp"

namespace muster::io {

class SystemClock final : public runtime::Clock {
  public:
    explicit SystemClock(Instant not_before = Instant{0});

    Instant now() override;
    /// The Instant of a CLOCK_BOOTTIME reading in nanoseconds, for times taken by other processes.
    Instant from_boottime(std::int64_t boottime_ns) const { return {boottime_ns + offset_}; }

    static std::int64_t boottime_ns();

  private:
    std::int64_t offset_ = 0; // Instant minus CLOCK_BOOTTIME
};

} // namespace muster::io
