// What goes wrong: who failed first, what is done about it, and how an attempt ends badly.

#include "launch/lead.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::launch {
namespace {

constexpr std::int64_t exit_failed = 1; // where the first cause has no code of its own

/// Exit codes of ranks soon after the start that speak alike: perhaps every rank will.
bool may_be_user_error(const std::vector<recovery::EndedRank>& failing) {
    return std::all_of(failing.begin(), failing.end(), [&](const auto& end) {
        const RankExit& exit = end.exit;
        return exit.signal == 0 && !exit.cannot_execute &&
               exit.exit_code != recovery::exit_do_not_retry &&
               exit.lived < recovery::user_error_window &&
               recovery::evidence_of(exit) != recovery::Evidence::consequence &&
               recovery::alike(exit, failing.front().exit);
    });
}

std::vector<recovery::EndedRank> failing_of(std::vector<recovery::EndedRank> ends) {
    std::erase_if(ends, [](const auto& end) { return !recovery::failed(end.exit); });
    return ends;
}

} // namespace

/// A member that is silent or leaves takes the attempt with it: generations are whole.
bool Lead::judge_members(Instant now) {
    if (phase_ == Phase::farewell || verdict_) return false;
    for (std::int64_t i = 0; i < context_.launchers(); ++i) {
        const LauncherView& view = views_[static_cast<std::size_t>(i)];
        if (!view.heard || (!view.leaving && reachable(now, view))) continue;
        Reason reason;
        reason.code = ReasonCode::launcher_lost;
        reason.detail = view.leaving ? "it was told to leave"
                                     : "it gave no sign for " + to_text(member_silent_limit);
        end_as_lost(now, i, reason);
        return true;
    }
    return false;
}

void Lead::end_as_lost(Instant now, std::int64_t launcher, Reason reason) {
    ExitCause cause;
    cause.reason = std::move(reason);
    cause.reason.subject = to_text(context_.node(launcher));
    cause.node = context_.node(launcher);
    cause.exit_code = exit_lost;
    for (const auto& end : ends())
        if (recovery::failed(end.exit)) cause.consequences.push_back(end.rank);
    std::sort(cause.consequences.begin(), cause.consequences.end());
    decide({AttemptOutcome::lost, cause, exit_lost});
    begin_clear(now, MemberAction::clear, context_.short_grace());
}

void Lead::on_fenced(Instant now) {
    if (phase_ == Phase::farewell) {
        deadline_ = now;
        return;
    }
    if (verdict_ && verdict_->outcome == AttemptOutcome::none) return;
    ExitCause cause;
    cause.reason.code = ReasonCode::launcher_lost;
    cause.reason.subject = to_text(context_.node(context_.self()));
    cause.reason.detail = "the attempt had been ended without it";
    cause.exit_code = exit_lost;
    decide({AttemptOutcome::none, cause, exit_lost});
    begin_clear(now, MemberAction::clear, context_.short_grace());
}

void Lead::on_cancel(Instant now) {
    if (verdict_ && verdict_->outcome != AttemptOutcome::lost) return;
    ExitCause cause;
    cause.reason.code = ReasonCode::cancelled_by_user;
    cause.reason.subject = "request";
    cause.exit_code = exit_cancelled;
    decide({AttemptOutcome::cancelled, cause, cause.exit_code});
    begin_clear(now, MemberAction::leave, context_.full_grace());
}

void Lead::on_leave_asked(Instant now, std::int64_t signal) {
    if (phase_ == Phase::farewell) {
        deadline_ = now;
        return;
    }
    if (verdict_ && verdict_->outcome != AttemptOutcome::lost) {
        // Asked again, or about to end anyway: a person who insists does not wait for the grace.
        if (context_.config.standalone) context_.local.clear(now, Duration{}, context_.out);
        return;
    }
    ExitCause cause;
    if (context_.config.standalone) {
        cause.reason.code = ReasonCode::cancelled_by_user;
        cause.reason.subject = "signal " + std::to_string(signal);
        cause.exit_code = exit_signalled + signal;
        decide({AttemptOutcome::cancelled, cause, cause.exit_code});
    } else {
        // The machine goes down, or its agent clears it: nobody asked for the job's end.
        cause.reason.code = ReasonCode::launcher_lost;
        cause.reason.subject = to_text(context_.node(context_.self()));
        cause.reason.detail = "it got signal " + std::to_string(signal);
        cause.node = context_.node(context_.self());
        cause.exit_code = exit_lost;
        decide({AttemptOutcome::lost, cause, cause.exit_code});
    }
    context_.tell("ending all ranks: the launcher got signal " + std::to_string(signal) +
                  " (SIGKILL follows after " + to_text(context_.full_grace()) + ")");
    begin_clear(now, MemberAction::leave, context_.full_grace());
}

void Lead::forgive(Duration stall) {
    for (auto& view : views_) view.heard_at = view.heard_at + stall;
}

void Lead::fail(Instant now, FailureKind kind) {
    failure_ = kind;
    detected_at_ = now;
    phase_ = Phase::judging;
}

/// Until when ends are collected before the gang is torn down; strong evidence needs no wait.
Instant Lead::judge_until() const {
    if (failure_ != FailureKind::ranks || all_ended()) return detected_at_;
    const auto failing = failing_of(ends());
    const bool stepped = account_->summary().last_step >= 0;
    if (!stepped && may_be_user_error(failing)) return detected_at_ + alike_wait;
    const bool strong = std::any_of(failing.begin(), failing.end(), [](const auto& end) {
        return recovery::evidence_of(end.exit) == recovery::Evidence::own;
    });
    return strong ? detected_at_ : detected_at_ + cause_window;
}

/// A rank ended with 0 while others of its role run on.
bool Lead::ends_early(const std::vector<recovery::EndedRank>& all) const {
    std::map<RoleName, std::int64_t> ranks;
    std::map<RoleName, std::int64_t> ended;
    for (const auto& row : table_.ranks) ++ranks[row.role];
    for (const auto& end : all) {
        const auto row = std::find_if(table_.ranks.begin(), table_.ranks.end(),
                                      [&](const auto& r) { return r.rank == end.rank; });
        if (row != table_.ranks.end()) ++ended[row->role];
    }
    return std::any_of(ended.begin(), ended.end(),
                       [&](const auto& role) { return role.second < ranks[role.first]; });
}

ExitCause Lead::find_cause(Instant now) const {
    const auto all = ends();
    if (failure_ == FailureKind::early_exit) return recovery::early_exit_cause(all, detected_at_);
    ExitCause cause = recovery::first_cause(all, cause_window);
    if (cause.reason.code != ReasonCode::none) return cause;
    cause.reason.code = ReasonCode::start_timeout;
    cause.reason.need = start_limit.ns / 1'000'000'000;
    cause.reason.have = (now - account_->summary().began_at).ns / 1'000'000'000;
    cause.exit_code = exit_lost;
    for (std::int64_t i = 0; i < context_.launchers(); ++i) {
        const LauncherView& view = views_[static_cast<std::size_t>(i)];
        if (view.generation == generation_ && view.started) continue;
        cause.reason.subject +=
            (cause.reason.subject.empty() ? "" : ", ") + to_text(context_.node(i));
    }
    return cause;
}

/// When the fault happened, as far as it is known.
Instant Lead::fault_time(const ExitCause& cause) const {
    if (verdict_ && verdict_->outcome == AttemptOutcome::succeeded) return Instant{};
    if (cause.reason.code == ReasonCode::launcher_lost) {
        for (std::int64_t i = 0; i < context_.launchers(); ++i)
            if (i != context_.self() && context_.node(i) == cause.node)
                return std::min(detected_at_, views_[static_cast<std::size_t>(i)].heard_at);
        return detected_at_;
    }
    Instant at = detected_at_;
    for (const auto& end : ends())
        if (cause.rank && end.rank == *cause.rank) at = end.exit.at;
    // Ranks that still moved after another had left were at work, not at fault.
    if (cause.reason.code == ReasonCode::early_exit) at = std::max(at, account_->moved_at());
    return std::min(at, detected_at_);
}

/// Every launcher has proved that nothing is left (or is not waited for): the generation is over.
void Lead::close(Instant now) {
    std::optional<ExitCause> cause;
    if (verdict_)
        cause = verdict_->cause;
    else
        cause = find_cause(now);
    const bool was_open = open_;
    if (open_) close_account(cause, now);
    if (!verdict_ && was_open) remedy(now, *cause);
    if (verdict_) say_farewell(now);
}

void Lead::close_account(const std::optional<ExitCause>& cause, Instant torn_down_at) {
    open_ = false;
    GenerationSummary summary = account_->close(detected_at_, torn_down_at);
    summary.cause = cause;
    summary.fault_at = fault_time(cause.value_or(ExitCause{}));
    highest_step_ = std::max(highest_step_, summary.last_step);
    closed_.push_back(std::move(summary));
}

void Lead::remedy(Instant now, const ExitCause& cause) {
    recovery::Failure failure;
    failure.cause = cause;
    failure.ends = failing_of(ends());
    failure.ranks = static_cast<std::int64_t>(table_.ranks.size());
    failure.failures_without_step = failures_without_step_;
    failure.own_failures_without_step = own_failures_without_step_;
    failure.lived = detected_at_ - account_->summary().began_at;
    for (const auto& end : failure.ends) failure.lived = std::min(failure.lived, end.exit.lived);
    failure.stepped = account_->stepped() || recovery::lived_unreported(closed_.back());
    has_failed_ = true;
    failures_without_step_ = failure.stepped ? 1 : failures_without_step_ + 1;
    own_failures_without_step_ = failure.stepped ? 1 : own_failures_without_step_ + 1;

    const RestartAllowance allowed = allowance();
    const recovery::Remedy remedy = recovery::remedy_for(failure, allowed, now);
    const GenerationSummary& summary = closed_.back();
    std::string text = "generation " + std::to_string(generation_) + ": " + explain(cause.reason) +
                       "; known after " +
                       duration_for_people(summary.detected_at - summary.fault_at) +
                       ", nothing left after " + duration_for_people(now - summary.detected_at);
    if (remedy.action == recovery::Action::restart) {
        phase_ = Phase::waiting;
        deadline_ = now + remedy.delay;
        text += "; restart " + std::to_string(own_restarts_.size() + 1) + " follows";
        if (remedy.delay.ns > 0) text += " in " + duration_for_people(remedy.delay);
        context_.tell(std::move(text));
        return;
    }
    ExitCause verdict = cause;
    verdict.reason = remedy.reason;
    if (verdict.exit_code == 0) verdict.exit_code = exit_failed;
    context_.tell(std::move(text));
    decide({AttemptOutcome::failed, verdict, verdict.exit_code});
}

/// Processes survive SIGKILL for too long: no restart beside them.
void Lead::stuck(Instant now) {
    ExitCause cause;
    cause.reason.code = ReasonCode::teardown_stuck;
    cause.exit_code = exit_lost;
    if (!verdict_ && open_) {
        const ExitCause first = find_cause(now);
        cause.exit_code = first.exit_code;
        cause.rank = first.rank;
        cause.last_lines = first.last_lines;
        cause.traceback = first.traceback;
        cause.reason.detail = "after: " + explain(first.reason);
    }
    for (std::int64_t i = 0; i < context_.launchers(); ++i) {
        const LauncherView& view = views_[static_cast<std::size_t>(i)];
        if (view.empty && view.generation == generation_) continue;
        if (cause.node.empty()) cause.node = context_.node(i);
        cause.reason.subject +=
            (cause.reason.subject.empty() ? "" : ", ") + to_text(context_.node(i));
        cause.reason.have += std::max<std::int64_t>(1, view.survivors);
        if (view.holders.empty()) continue;
        const std::string held =
            "still there: " + view.holders + " on " + to_text(context_.node(i));
        cause.reason.detail =
            cause.reason.detail.empty() ? held : held + "; " + cause.reason.detail;
    }
    // What the ranks achieved stands; the result names what is left behind.
    if (!verdict_) decide({AttemptOutcome::failed, cause, cause.exit_code});
    if (open_) close_account(verdict_->cause, Instant{});
    say_farewell(now);
}

RestartAllowance Lead::allowance() const {
    RestartAllowance result;
    result.policy = policy_;
    result.recent = earlier_restarts_;
    result.recent.insert(result.recent.end(), own_restarts_.begin(), own_restarts_.end());
    std::sort(result.recent.begin(), result.recent.end());
    return result;
}

} // namespace muster::launch
