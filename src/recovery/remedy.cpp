// What to do about a failure: user errors and spent budgets stop, everything else restarts.

#include "recovery/recovery.hpp"
#include "recovery/words.hpp"

#include <algorithm>

namespace muster::recovery {
namespace {

std::int64_t count_since(const RestartAllowance& allowance, Instant since) {
    return std::count_if(allowance.recent.begin(), allowance.recent.end(),
                         [&](Instant at) { return at > since; });
}

/// The limit that one more restart would break, as a reason; none where it fits.
Reason budget_reason(const RestartAllowance& allowance, Instant now) {
    const std::int64_t lately = count_since(allowance, now - budget_window);
    const std::int64_t today = count_since(allowance, now - budget_day);
    Reason reason;
    reason.code = ReasonCode::budget_spent;
    if (lately >= allowance.policy.per_ten_minutes) {
        reason.have = lately;
        reason.need = allowance.policy.per_ten_minutes;
    } else if (today >= allowance.policy.per_day) {
        reason.have = today;
        reason.need = allowance.policy.per_day;
    } else {
        reason.code = ReasonCode::none;
    }
    return reason;
}

bool any_cannot_execute(const Failure& failure) {
    return std::any_of(failure.ends.begin(), failure.ends.end(),
                       [](const EndedRank& end) { return end.exit.cannot_execute; });
}

Remedy stop(Reason reason) { return Remedy{Action::stop, Duration{}, std::move(reason)}; }

/// A verdict whose detail tells what happened last.
Remedy stop_because(Reason verdict, const ExitCause& cause) {
    verdict.detail = explain(cause.reason);
    return stop(std::move(verdict));
}

Duration backoff(std::int64_t failures) {
    if (failures < 2) return Duration{}; // the first failure after progress restarts at once
    Duration delay = backoff_first;
    for (std::int64_t i = 2; i < failures && delay < backoff_max; ++i) delay = delay * 2;
    return std::min(delay, backoff_max);
}

} // namespace

bool is_user_error(const Failure& failure) {
    if (failure.stepped || failure.ranks <= 0 || failure.ends.empty()) return false;
    if (failure.lived > user_error_window) return false;
    std::int64_t count = 0;
    for (const auto& end : failure.ends) {
        const RankExit& exit = end.exit;
        if (!failed(exit)) continue;
        // Signals come from outside or from the machine; so do the other two.
        if (exit.signal != 0 || exit.cannot_execute) return false;
        if (evidence_of(exit) == Evidence::consequence) return false;
        if (speaks_of_surroundings(last_words(exit))) return false;
        if (!alike(exit, failure.ends.front().exit)) return false;
        ++count;
    }
    return count == failure.ranks;
}

bool lived_unreported(const GenerationSummary& summary) {
    const bool reported = summary.last_step >= 0 || summary.samples > 0 || summary.has_loss ||
                          !summary.phases.empty();
    if (reported || summary.started_at == Instant{} || summary.fault_at == Instant{}) return false;
    return summary.fault_at - summary.started_at >= unreported_lived;
}

bool is_loss(const Reason& reason) {
    return reason.code == ReasonCode::launcher_lost || reason.code == ReasonCode::node_lost ||
           reason.code == ReasonCode::node_rebooted;
}

bool within_budget(const RestartAllowance& allowance, Instant now) {
    return budget_reason(allowance, now).code == ReasonCode::none;
}

Remedy remedy_for(const Failure& failure, const RestartAllowance& allowance, Instant now) {
    const ExitCause& cause = failure.cause;
    if (any_cannot_execute(failure) || cause.reason.code == ReasonCode::cannot_start)
        return stop(cause.reason);
    if (cause.rank && cause.exit_code == exit_do_not_retry) {
        Reason reason = cause.reason;
        reason.detail = "this code asks not to be restarted";
        return stop(reason);
    }
    if (is_user_error(failure)) {
        Reason reason;
        reason.code = ReasonCode::user_error;
        reason.subject = cause.reason.subject;
        reason.have = cause.exit_code;
        reason.detail = cause.reason.detail.empty() ? "exit code " + std::to_string(cause.exit_code)
                                                    : cause.reason.detail;
        return stop(reason);
    }
    // No restarts wanted at all: the failure itself is the verdict.
    if (allowance.policy.per_ten_minutes == 0 || allowance.policy.per_day == 0)
        return stop(cause.reason);
    const std::int64_t failures = failure.stepped ? 1 : failure.failures_without_step + 1;
    const std::int64_t own = failure.stepped ? 1 : failure.own_failures_without_step + 1;
    if (!failure.lost && own >= failures_without_step_max) {
        Reason reason;
        reason.code = ReasonCode::no_progress;
        reason.have = own;
        reason.need = failures_without_step_max;
        return stop_because(reason, cause);
    }
    if (Reason reason = budget_reason(allowance, now); reason.code != ReasonCode::none)
        return stop_because(reason, cause);
    return Remedy{Action::restart, backoff(failures), cause.reason};
}

} // namespace muster::recovery
