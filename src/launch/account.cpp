#include "launch/account.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

constexpr Duration rate_window = Duration::seconds(30);
constexpr std::size_t rate_points_max = 128;

bool has_said_anything(const RankProgress& p) {
    return p.step >= 0 || p.has_loss || p.samples > 0 || !p.phase.empty() || !p.metrics.empty();
}

bool moved(const std::vector<RankedProgress>& before, const std::vector<RankedProgress>& after) {
    if (before.size() != after.size()) return true;
    for (std::size_t i = 0; i < after.size(); ++i) {
        const RankProgress& a = before[i].progress;
        const RankProgress& b = after[i].progress;
        if (a.step != b.step || a.samples != b.samples || a.phase != b.phase) return true;
    }
    return false;
}

/// Raises a time that happened to at least `floor`; zero stays "did not happen".
void not_before(Instant& at, Instant& floor) {
    if (at == Instant{}) return;
    at = std::max(at, floor);
    floor = at;
}

} // namespace

GenerationAccount::GenerationAccount(Generation generation, Instant began_at,
                                     std::int64_t redo_through)
    : redo_through_(redo_through) {
    summary_.generation = generation;
    summary_.began_at = began_at;
}

void GenerationAccount::raise_redo_through(std::int64_t step) {
    if (summary_.caught_up_at == Instant{}) redo_through_ = std::max(redo_through_, step);
}

void GenerationAccount::observe(Instant now, const std::vector<RankedProgress>& ranks) {
    if (!moved(seen_, ranks)) return;
    moved_at_ = now;
    seen_ = ranks;
    summary_.samples = 0;
    for (const auto& [rank, p] : ranks) {
        if (!has_said_anything(p)) continue;
        progress_.reported = true;
        summary_.samples = capped_sum(summary_.samples, p.samples);
        summary_.total_steps = std::max(summary_.total_steps, p.total);
        if (rank == 0) progress_.phase = p.phase;
    }
    const std::int64_t last_step = summary_.last_step;
    observe_steps(ranks);
    if (summary_.last_step != last_step) observe_phases(last_step < 0, ranks);
    observe_loss(ranks);
    measure(now);
}

/// The slowest rank that reports speaks for the job.
void GenerationAccount::observe_steps(const std::vector<RankedProgress>& ranks) {
    std::int64_t slowest = -1;
    Instant first_at;
    Instant slowest_at;
    for (const auto& [rank, p] : ranks) {
        if (p.step < 0) continue;
        if (first_steps_.emplace(rank, p.step).second)
            summary_.first_step =
                summary_.first_step < 0 ? p.step : std::min(summary_.first_step, p.step);
        first_at = std::max(first_at, p.first_step_at);
        if (slowest < 0 || p.step < slowest) {
            slowest = p.step;
            slowest_at = p.step_at;
        } else if (p.step == slowest) {
            slowest_at = std::max(slowest_at, p.step_at);
        }
    }
    if (slowest < 0) return;
    summary_.first_step_at = first_at;
    summary_.last_step = slowest;
    summary_.last_step_at = slowest_at;
    if (slowest > redo_through_ && summary_.caught_up_at == Instant{})
        summary_.caught_up_at = summary_.first_step > redo_through_ ? first_at : slowest_at;
    progress_.step = slowest;
    progress_.total = summary_.total_steps;
}

/// Only what lies between steps: a phase before the first one is part of the initialisation, one
/// after the last part of the epilogue.
void GenerationAccount::observe_phases(bool first, const std::vector<RankedProgress>& ranks) {
    for (const auto& [rank, p] : ranks) {
        if (rank != 0) continue;
        if (first) phases_before_ = p.phases;
        for (const auto& [phase, total] : p.phases) {
            const auto before = phases_before_.find(phase);
            const auto time = before == phases_before_.end() ? total : total - before->second;
            if (time > Duration{}) summary_.phases[phase] = time;
        }
    }
}

void GenerationAccount::observe_loss(const std::vector<RankedProgress>& ranks) {
    for (const auto& [rank, p] : ranks) {
        if (!p.has_loss) continue;
        if (!summary_.has_loss) summary_.first_loss = p.loss;
        summary_.has_loss = true;
        summary_.last_loss = p.loss;
        progress_.has_loss = true;
        progress_.loss = p.loss;
        break; // the lowest rank that has one
    }
    for (const auto& [rank, p] : ranks) {
        if (p.metrics.empty()) continue;
        progress_.metrics = p.metrics;
        break;
    }
}

void GenerationAccount::measure(Instant now) {
    if (summary_.last_step < 0 && summary_.samples == 0) return;
    recent_.push_back({now, summary_.last_step, summary_.samples});
    while (recent_.size() > 2 &&
           (recent_.size() > rate_points_max || now - recent_.front().at > rate_window))
        recent_.pop_front();
    const Point& from = recent_.front();
    const Duration time = now - from.at;
    if (time.ns <= 0) return;
    progress_.samples_per_second =
        std::max(0.0, static_cast<double>(capped_difference(summary_.samples, from.samples)) /
                          time.as_seconds());
    const std::int64_t steps = capped_difference(summary_.last_step, from.step);
    const std::int64_t left = summary_.total_steps - 1 - summary_.last_step;
    progress_.eta = Duration{-1};
    if (summary_.total_steps <= 0 || steps <= 0) return;
    const double eta = static_cast<double>(time.ns) / static_cast<double>(steps) *
                       static_cast<double>(std::max<std::int64_t>(0, left));
    constexpr double eta_max = 1e18; // 30 years; above it nothing is known
    if (eta < eta_max) progress_.eta = Duration{static_cast<std::int64_t>(eta)};
}

GenerationSummary GenerationAccount::close(Instant detected_at, Instant torn_down_at) const {
    GenerationSummary s = summary_;
    s.detected_at = detected_at;
    s.torn_down_at = torn_down_at;
    // Members' times were brought to our clock with a network's delay of error: keep their order.
    Instant floor = s.began_at;
    not_before(s.started_at, floor);
    not_before(s.first_step_at, floor);
    not_before(s.caught_up_at, floor);
    not_before(s.last_step_at, floor);
    if (torn_down_at == Instant{}) return s; // never verified empty
    for (Instant* at : {&s.started_at, &s.first_step_at, &s.caught_up_at, &s.last_step_at})
        if (*at != Instant{}) *at = std::min(*at, torn_down_at);
    return s;
}

} // namespace muster::launch
