#pragma once
// MachineClock: what one machine reads, given the true time. It has an offset and a drift and never
// runs backwards. Offsets change only while the machine is off.

#include "base/time.hpp"

namespace muster::sim {

inline constexpr Instant epoch{1'796'000'000'000'000'000}; // true time zero, as an Instant

struct MachineClock {
    Duration offset;
    std::int64_t drift_ppm = 0; // parts per million; positive runs fast
    Instant last;               // newest Instant that was given out

    Instant at(Duration truth) const { return epoch + offset + truth + drift_of(truth); }
    Instant read(Duration truth) {
        const Instant now = at(truth);
        if (now > last) last = now;
        return last;
    }
    /// The first true time at which the clock shows `instant` or later.
    Duration truth_of(Instant instant) const {
        const Duration shown = instant - (epoch + offset);
        Duration truth = shown - drift_of(shown);
        while (at(truth) < instant) truth += instant - at(truth);
        return truth;
    }

  private:
    Duration drift_of(Duration d) const { return Duration::nanos(d.ns * drift_ppm / 1'000'000); }
};

} // namespace muster::sim
