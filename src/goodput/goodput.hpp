#pragma once
// Goodput: from facts to an account of every device-second between placement and release. Pure.
// Categories and their meaning: docs/goodput.md. The rows partition the time: nothing twice,
// nothing missing; shares sum to exactly one million.

#include "model/views.hpp"

#include <vector>

namespace muster::goodput {

/// One attempt as the facts tell it. `ended_at` of a running attempt is the time of asking.
struct AttemptTimes {
    AttemptNumber number = 0;
    std::int64_t devices = 1; // weight: devices held, or ranks for jobs without devices
    Instant placed_at;
    Instant ended_at;
    std::vector<GenerationSummary> generations; // closed ones, oldest first
    std::optional<GenerationSummary> running;   // the open one, as far as it is known
};

struct JobTimes {
    Instant submitted_at;
    Instant finished_at; // or the time of asking
    std::vector<AttemptTimes> attempts;
};

std::vector<AccountRow> account(const JobTimes& job);
std::vector<RestartView> restarts(const JobTimes& job);

} // namespace muster::goodput
