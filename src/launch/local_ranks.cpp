#include "launch/local_ranks.hpp"

#include "base/require.hpp"

#include <algorithm>

namespace muster::launch {

void LocalRanks::start(const RankTable& table, Commands& out) {
    REQUIRE(empty(), "a generation starts only after the former was verified gone");
    REQUIRE(table.generation > generation_, "generations only grow");
    take_up(table.generation);
    rows_ = std::count_if(table.ranks.begin(), table.ranks.end(),
                          [&](const RankRow& row) { return row.launcher == launcher_; });
    state_ = State::starting;
    out.push_back(StartRanks{table});
}

void LocalRanks::take_up(Generation generation) {
    REQUIRE(empty(), "a generation is taken up only after the former was verified gone");
    generation_ = generation;
    rows_ = 0;
    started_ = false;
    leftover_ = 0;
    exits_.clear();
    progress_.clear();
}

void LocalRanks::clear(Instant now, Duration grace, Commands& out) {
    if (state_ == State::empty || state_ == State::killing) return;
    if (state_ == State::ending) {
        kill_at_ = std::min(kill_at_, now + grace);
        return;
    }
    state_ = State::ending;
    kill_at_ = now + grace;
    if (!all_ended()) out.push_back(TerminateRanks{generation_});
}

void LocalRanks::on_started(const RanksStarted& event) {
    if (event.generation != generation_ || empty()) return;
    started_ = true;
    if (state_ == State::starting) state_ = State::running;
}

void LocalRanks::on_exited(const RankExited& event) {
    if (event.generation != generation_) return;
    for (const auto& known : exits_)
        if (known.local_rank == event.exit.local_rank) return;
    exits_.push_back(event.exit);
}

void LocalRanks::on_cleared(Instant now, const RanksCleared& event) {
    if (event.generation != generation_ || state_ != State::killing) return;
    leftover_ = event.leftover;
    holders_ = event.holders;
    if (leftover_ == 0)
        state_ = State::empty;
    else
        kill_at_ = now + kill_retry;
}

void LocalRanks::on_progress(const ProgressRead& event) {
    if (event.generation == generation_ && !empty()) progress_ = event.ranks;
}

void LocalRanks::advance(Instant now, Commands& out) {
    const bool kill_first = state_ == State::ending && (all_ended() || now >= kill_at_);
    const bool kill_again = state_ == State::killing && now >= kill_at_;
    if (!kill_first && !kill_again) return;
    state_ = State::killing;
    kill_at_ = now + kill_retry;
    out.push_back(KillRanks{generation_});
}

std::int64_t LocalRanks::survivors() const {
    if (empty()) return 0;
    if (leftover_ > 0) return leftover_;
    return std::max<std::int64_t>(1, rows_ - static_cast<std::int64_t>(exits_.size()));
}

Instant LocalRanks::wake_at() const { return clearing() ? kill_at_ : Instant::never(); }

} // namespace muster::launch
