#include "goodput/goodput.hpp"

#include <algorithm>
#include <map>

namespace muster::goodput {
namespace {

constexpr std::int64_t million = 1'000'000;

/// The order in which categories are listed; declared phases follow.
constexpr const char* categories[] = {"productive",   "start",    "initialisation", "detection",
                                      "teardown",     "restart",  "redo",           "lost_step",
                                      "not_reported", "epilogue", "closing"};

/// Cuts one attempt's time into consecutive pieces: each cut ends where the next begins, so that
/// the pieces partition the time whatever order the stamps have.
class Cutter {
  public:
    Cutter(std::map<std::string, Duration>& sums, const AttemptTimes& attempt)
        : sums_(sums), weight_(attempt.devices), at_(attempt.placed_at), end_(attempt.ended_at) {}

    /// Everything up to `until` goes to `category`; a stamp of zero cuts nothing.
    Duration cut(Instant until, const std::string& category) {
        if (until == Instant{} || until <= at_) return Duration{};
        until = std::min(until, end_);
        const Duration length = until - at_;
        if (length <= Duration{}) return Duration{};
        at_ = until;
        sums_[category] += length * weight_;
        return length;
    }

    /// Moves up to `length` of what `from` got to `to`.
    void move(const std::string& from, const std::string& to, Duration length) {
        const Duration moved = std::min(length * weight_, sums_[from]);
        sums_[from] = sums_[from] - moved;
        sums_[to] += moved;
    }

    Instant end() const { return end_; }

  private:
    std::map<std::string, Duration>& sums_;
    std::int64_t weight_;
    Instant at_;
    Instant end_;
};

void cut_generation(Cutter& cutter, const GenerationSummary& generation, bool first, bool running) {
    cutter.cut(generation.started_at, first ? "start" : "restart");
    const bool stepped = generation.last_step >= 0 && generation.last_step_at != Instant{};
    if (stepped) {
        cutter.cut(generation.first_step_at, "initialisation");
        // Never caught up: every step that it made was made before.
        cutter.cut(generation.caught_up_at == Instant{} ? generation.last_step_at
                                                        : generation.caught_up_at,
                   "redo");
        const Duration productive = cutter.cut(generation.last_step_at, "productive");
        Duration left = productive;
        for (const auto& [phase, time] : generation.phases) {
            const Duration moved = std::clamp(time, Duration{}, left);
            cutter.move("productive", phase, moved);
            left = left - moved;
        }
    }
    if (running) {
        cutter.cut(cutter.end(), stepped ? "productive"
                                 : generation.started_at == Instant{}
                                     ? (first ? "start" : "restart")
                                     : "initialisation");
        return;
    }
    if (generation.cause) {
        cutter.cut(generation.fault_at, stepped ? "lost_step" : "not_reported");
        cutter.cut(generation.detected_at, "detection");
        cutter.cut(generation.torn_down_at, "teardown");
    } else {
        cutter.cut(generation.detected_at, stepped ? "epilogue" : "not_reported");
        cutter.cut(generation.torn_down_at, "epilogue");
    }
}

void cut_attempt(std::map<std::string, Duration>& sums, const AttemptTimes& attempt) {
    Cutter cutter(sums, attempt);
    bool first = true;
    for (const auto& generation : attempt.generations) {
        cut_generation(cutter, generation, first, false);
        first = false;
    }
    if (attempt.running) {
        cut_generation(cutter, *attempt.running, first, true);
        first = false;
    }
    cutter.cut(attempt.ended_at, first ? "start" : "closing");
}

/// Shares that sum to exactly one million: largest remainders get what rounding left.
void share_out(std::vector<AccountRow>& rows) {
    __int128 total = 0;
    for (const auto& row : rows) total += row.time.ns;
    if (total == 0) return;
    std::vector<std::pair<std::int64_t, std::size_t>> remainders;
    std::int64_t given = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const __int128 scaled = static_cast<__int128>(rows[i].time.ns) * million;
        rows[i].share_per_million = static_cast<std::int64_t>(scaled / total);
        given += rows[i].share_per_million;
        remainders.push_back({-static_cast<std::int64_t>(scaled % total >> 16), i});
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t k = 0; given < million; ++given, ++k)
        ++rows[remainders[k % rows.size()].second].share_per_million;
}

struct GenerationRef {
    const AttemptTimes* attempt;
    const GenerationSummary* generation;
};

std::vector<GenerationRef> in_order(const JobTimes& job) {
    std::vector<GenerationRef> all;
    for (const auto& attempt : job.attempts) {
        for (const auto& generation : attempt.generations) all.push_back({&attempt, &generation});
        if (attempt.running) all.push_back({&attempt, &*attempt.running});
    }
    return all;
}

Duration between(Instant from, Instant to) {
    if (from == Instant{} || to == Instant{} || to < from) return Duration{};
    return to - from;
}

} // namespace

std::vector<AccountRow> account(const JobTimes& job) {
    std::map<std::string, Duration> sums;
    for (const auto& attempt : job.attempts) cut_attempt(sums, attempt);
    std::vector<AccountRow> rows;
    for (const char* category : categories) {
        const auto it = sums.find(category);
        if (it == sums.end()) continue;
        if (it->second > Duration{}) rows.push_back({category, it->second, 0});
        sums.erase(it);
    }
    for (const auto& [phase, time] : sums)
        if (time > Duration{}) rows.push_back({phase, time, 0});
    share_out(rows);
    return rows;
}

std::vector<RestartView> restarts(const JobTimes& job) {
    std::vector<RestartView> views;
    const auto all = in_order(job);
    std::int64_t highest = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& ended = *all[i].generation;
        highest = std::max(highest, ended.last_step);
        if (!ended.cause || i + 1 >= all.size()) continue;
        const auto& next = *all[i + 1].generation;
        RestartView view;
        view.attempt = all[i].attempt->number;
        view.generation = ended.generation;
        view.reason = ended.cause->reason;
        view.cause = ended.cause;
        view.fault_at = ended.fault_at;
        view.detect = between(ended.fault_at, ended.detected_at);
        view.teardown = between(ended.detected_at, ended.torn_down_at);
        view.restart = between(ended.torn_down_at, next.started_at);
        view.to_step = between(next.started_at, next.first_step_at);
        view.redo = between(next.first_step_at, next.caught_up_at);
        if (next.first_step >= 0)
            view.lost_steps = std::max<std::int64_t>(0, capped_sum(highest, 1) - next.first_step);
        views.push_back(std::move(view));
    }
    return views;
}

} // namespace muster::goodput
