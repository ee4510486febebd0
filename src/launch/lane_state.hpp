#pragma once
// LaneState: one lane of beats with at most one request in flight, back-off after silence, and a
// pause where a receiver answers a poll at once without news. Internal to launch/.

#include "launch/core.hpp"

#include <algorithm>

namespace muster::launch {

struct LaneState {
    bool in_flight = false;
    Instant sent_at;
    Instant ready_at;               // not before
    Duration delay;                 // of the last back-off; zero: the last request was answered
    std::int64_t told_revision = 0; // that the request in flight said it obeys

    bool ready(Instant now) const { return !in_flight && now >= ready_at; }
    Instant wake_at() const { return in_flight ? Instant::never() : ready_at; }

    void sent(Instant now, std::int64_t revision) {
        in_flight = true;
        sent_at = now;
        told_revision = revision;
    }
    /// A poll that was answered without news is held by its receiver: asked again at once, it would
    /// spin where it is not. Pushes are driven by what happens here.
    void answered(Instant now, Lane lane, std::int64_t revision) {
        in_flight = false;
        delay = Duration{};
        const bool idle = lane == Lane::poll && revision == told_revision;
        ready_at = idle ? std::max(now, sent_at + answer_min) : now;
    }
    void failed(Instant now) {
        in_flight = false;
        delay = delay.ns == 0 ? beat_retry_first : std::min(delay * 2, beat_retry_max);
        ready_at = now + delay;
    }
};

} // namespace muster::launch
