#pragma once
// LocalRanks: the ranks of one generation on this launcher's machine, from start to the proof that
// no process of theirs is left. Internal to launch/.
//
// Life: as long as the core. empty -> starting -> running -> ending (SIGTERM sent) -> killing
// (SIGKILL sent, looked at) -> empty. There is no way back to empty but RanksCleared with nothing
// left: also ranks that have all exited may leave children that called setsid.

#include "launch/core.hpp"

namespace muster::launch {

class LocalRanks {
  public:
    using Commands = std::vector<LaunchCommand>;

    explicit LocalRanks(std::int64_t launcher) : launcher_(launcher) {}

    /// Only where nothing of an earlier generation is left.
    void start(const RankTable& table, Commands& out);
    /// A generation that never started here: nothing to clear.
    void take_up(Generation generation);
    /// Ends the ranks: SIGKILL once all have ended or `grace` has passed. A later call can only
    /// shorten the grace.
    void clear(Instant now, Duration grace, Commands& out);

    void on_started(const RanksStarted& event);
    void on_exited(const RankExited& event);
    void on_cleared(Instant now, const RanksCleared& event);
    void on_progress(const ProgressRead& event);
    void advance(Instant now, Commands& out);

    Generation generation() const { return generation_; }
    bool started() const { return started_; }
    bool empty() const { return state_ == State::empty; }
    bool clearing() const { return state_ == State::ending || state_ == State::killing; }
    std::int64_t leftover() const { return leftover_; }
    /// Processes still not proven gone, at least; for the word about a teardown that is stuck.
    std::int64_t survivors() const;
    const std::string& holders() const { return holders_; }
    const std::vector<RankExit>& exits() const { return exits_; }
    const std::vector<RankProgress>& progress() const { return progress_; }
    Instant wake_at() const;

  private:
    enum class State { empty, starting, running, ending, killing };

    bool all_ended() const { return static_cast<std::int64_t>(exits_.size()) >= rows_; }

    std::int64_t launcher_;
    State state_ = State::empty;
    Generation generation_ = 0;
    std::int64_t rows_ = 0; // ranks of the generation here
    bool started_ = false;
    Instant kill_at_; // ending: at the latest; killing: again
    std::int64_t leftover_ = 0;
    std::string holders_; // of the newest look
    std::vector<RankExit> exits_;
    std::vector<RankProgress> progress_;
};

} // namespace muster::launch
