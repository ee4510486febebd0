#pragma once
// Recovery: from what ended to what is done about it. Pure; used by the lead launcher (restarts in
// place, within its allowance) and by the control plane (requeue, verdict), so that both agree.

#include "model/orders.hpp"

#include <vector>

namespace muster::recovery {

enum class Action {
    restart, // a new generation (the lead) or a new attempt (the control plane)
    stop,    // a verdict: `reason` says which
};

struct Remedy {
    Action action = Action::stop;
    Duration delay; // before the restart
    Reason reason;  // why it is done; for stop, the verdict
};

/// One rank's end within a failed generation.
struct EndedRank {
    std::int64_t rank = 0;
    NodeName node;
    RankExit exit;
};

struct Failure {
    ExitCause cause;
    std::vector<EndedRank> ends; // of all ranks that ended by themselves
    std::int64_t ranks = 0;      // of the generation
    bool stepped = false;        // a step beyond the last known one was made since the last failure
    bool lost = false;           // with a launcher or a machine: it says nothing about the program
    /// Failures of the job in a row without a new step, over all of its attempts, before this one:
    /// of any cause (the next one waits longer), and of the program alone (too many are a verdict).
    std::int64_t failures_without_step = 0;
    std::int64_t own_failures_without_step = 0;
    Duration lived; // from start to the first end
};

inline constexpr Duration user_error_window = Duration::seconds(20); // imports alone take seconds
inline constexpr std::int64_t failures_without_step_max = 3;         // of the program
inline constexpr Duration unreported_lived = Duration::minutes(10);  // counts as progress
inline constexpr Duration backoff_first = Duration::seconds(1); // from the second failure, doubles
inline constexpr Duration backoff_max = Duration::seconds(60);
inline constexpr Duration budget_window = Duration::minutes(10);
inline constexpr Duration budget_day = Duration::hours(24);

/// A rank that ends with this code asks not to be restarted (docs/launch.md).
inline constexpr std::int64_t exit_do_not_retry = 93;

/// What an end says about itself: the stronger kind comes first.
enum class Evidence {
    own,         // killed from outside, crashed, a Python error of its own, could not be executed
    plain,       // an exit code without words
    consequence, // it lost a peer: connection reset, collective timed out
    none,        // ended with 0, or by us
};
Evidence evidence_of(const RankExit& exit);

/// True where the rank ended by itself and not with 0.
bool failed(const RankExit& exit);
/// The rank's exit code as a shell would report it: 128 + signal for signals.
std::int64_t exit_code_of(const RankExit& exit);
/// True where two ends have the same code and the same last words, numbers aside.
bool alike(const RankExit& a, const RankExit& b);

/// The first cause among the ends of one generation: who failed, and who only followed.
/// `ends` in the order of their exit; ends closer than `window` compete by kind of evidence.
ExitCause first_cause(const std::vector<EndedRank>& ends, Duration window);

/// The rank that ended with 0 first, as the cause of an end at `until`; no reason where none did.
ExitCause early_exit_cause(const std::vector<EndedRank>& ends, Instant until);

/// True where every rank failed with the same exit code and last line soon after the start.
bool is_user_error(const Failure& failure);

/// True for a generation that never reported progress and lived long enough to count as progress.
bool lived_unreported(const GenerationSummary& summary);

/// True for ends that came with a launcher or a machine and say nothing about the program.
bool is_loss(const Reason& reason);

/// True where one more restart at `now` is within the policy.
bool within_budget(const RestartAllowance& allowance, Instant now);

/// What to do about a failed generation or a lost attempt.
Remedy remedy_for(const Failure& failure, const RestartAllowance& allowance, Instant now);

} // namespace muster::recovery
