#pragma once
// Lead: the authority over the generations of an attempt. It gathers the launchers, fixes rank
// tables, watches all ranks (its own like those of members), judges failures, restarts the gang
// within the allowance, and ends the attempt. Internal to launch/.
//
//   gathering -> binding -> starting -> running -> judging -> clearing -> waiting -> binding ...
//                                                               `-> farewell -> (left)
//
// Life: as long as the core; does nothing on a launcher that does not lead. The next generation is
// only bound after every launcher has proved that nothing of the last one is left.

#include "launch/account.hpp"
#include "launch/context.hpp"
#include "recovery/recovery.hpp"

#include <map>
#include <optional>

namespace muster::launch {

/// One launcher as the lead sees it; all times are on the lead's clock.
struct LauncherView {
    bool heard = false; // it has beaten; always true for our own
    Instant heard_at;
    std::int64_t asked = 0; // of its newest beat
    std::int64_t order_revision = 0;
    Generation generation = 0;
    bool started = false;
    bool empty = true;
    bool leaving = false;
    std::int64_t survivors = 0;
    std::string holders;
    std::vector<RankExit> exits;
    std::vector<RankProgress> progress;
};

class Lead {
  public:
    explicit Lead(Context& context);

    void take_order(Instant now, const LauncherOrder& order);
    void on_asked(Instant now, const MemberAsked& event);
    void on_port(Instant now, const PortBound& event);
    void on_leave_asked(Instant now, std::int64_t signal);
    /// The control plane's word, heard by us or by a member.
    void on_cancel(Instant now);
    /// The attempt is over for others to judge: end everything, with no outcome of ours.
    void on_fenced(Instant now);
    /// We did not run for `stall`: nobody was silent meanwhile.
    void forgive(Duration stall);
    void advance(Instant now);
    /// Answers every held member at once, with the order as it is.
    void answer_all();
    Instant wake_at() const;

    bool begun() const { return phase_ != Phase::gathering; }
    LauncherState state() const;
    Generation generation() const { return generation_; }
    const std::vector<GenerationSummary>& closed() const { return closed_; }
    std::optional<RankTable> running_table() const;
    std::optional<Progress> progress() const;

  private:
    enum class Phase {
        gathering,
        binding,
        starting,
        running,
        judging,
        clearing,
        waiting,
        farewell
    };
    enum class FailureKind { ranks, early_exit, start_timeout };

    /// How the attempt ends, once decided.
    struct Verdict {
        AttemptOutcome outcome = AttemptOutcome::none;
        std::optional<ExitCause> cause;
        std::int64_t exit_code = 0;
    };
    struct HeldReply {
        std::int64_t launcher = 0;
        std::int64_t reply = 0;
        std::int64_t asked = 0;
        Instant until;
    };

    // lead.cpp: the path of a healthy attempt
    bool step_once(Instant now);
    void take_allowance(const RestartAllowance& allowance);
    bool gather(Instant now);
    void bind(Instant now, Generation generation);
    void start(Instant now, std::int64_t port);
    bool watch(Instant now);
    void begin_clear(Instant now, MemberAction action, Duration grace);
    bool cleared() const;
    void say_farewell(Instant now);
    void leave();

    // lead_failure.cpp: what goes wrong
    bool judge_members(Instant now);
    void fail(Instant now, FailureKind kind);
    Instant judge_until() const;
    void close(Instant now);
    void close_account(const std::optional<ExitCause>& cause, Instant torn_down_at);
    void remedy(Instant now, const ExitCause& cause);
    ExitCause find_cause(Instant now) const;
    Instant fault_time(const ExitCause& cause) const;
    bool ends_early(const std::vector<recovery::EndedRank>& all) const;
    void decide(Verdict verdict) { verdict_ = std::move(verdict); }
    bool fenced() const { return verdict_ && verdict_->outcome == AttemptOutcome::none; }
    void end_as_lost(Instant now, std::int64_t launcher, Reason reason);
    void stuck(Instant now);

    // lead_members.cpp: what members say and are told
    void look_at_self();
    void take_beat(Instant now, LauncherView& view, const MemberBeat& beat);
    void set_order(MemberAction action);
    void answer(const HeldReply& held);
    void answer_due(Instant now);
    bool all_started() const;
    bool all_ended() const;
    bool reachable(Instant now, const LauncherView& view) const;
    std::vector<recovery::EndedRank> ends() const;
    std::vector<RankedProgress> all_progress() const;

    std::optional<std::int64_t> rank_of(std::int64_t launcher, std::int64_t local_rank) const;
    RestartAllowance allowance() const;

    Context& context_;
    Phase phase_ = Phase::gathering;
    std::vector<LauncherView> views_; // by launcher index
    std::vector<HeldReply> held_;
    MemberOrder order_; // what members are told
    Instant now_;       // of the newest step

    Generation generation_ = 0;
    RankTable table_;
    std::optional<GenerationAccount> account_; // of the newest generation with a table
    bool open_ = false;                        // its summary is not closed yet
    std::vector<GenerationSummary> closed_;    // not acknowledged by the server
    Instant deadline_ = Instant::never();      // of the phase
    std::int64_t bind_tries_ = 0;
    bool bind_asked_ = false;

    FailureKind failure_ = FailureKind::ranks;
    Instant detected_at_;
    Instant early_since_; // a rank of a role ended with 0, others of it run; zero: none
    std::optional<Verdict> verdict_;

    RestartPolicy policy_;
    std::vector<Instant> earlier_restarts_; // before this attempt, as the server knows them
    std::vector<Instant> own_restarts_;
    std::int64_t highest_step_ = -1;
    bool has_failed_ = false;                // from then on the counts below are ours
    std::int64_t failures_without_step_ = 0; // of the job, as recovery::Failure has them
    std::int64_t own_failures_without_step_ = 0;
};

} // namespace muster::launch
