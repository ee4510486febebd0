// The path of a healthy attempt: gather, bind, start, watch, end.

#include "launch/lead.hpp"

#include "base/require.hpp"
#include "base/text.hpp"
#include "launch/table.hpp"

#include <algorithm>

namespace muster::launch {

Lead::Lead(Context& context)
    : context_(context), policy_(context.config.order.spec.restarts),
      highest_step_(context.config.order.last_step) {
    take_allowance(context.config.order.allowance);
    views_.resize(static_cast<std::size_t>(context.launchers()));
    set_order(MemberAction::wait);
}

void Lead::take_allowance(const RestartAllowance& allowance) {
    earlier_restarts_ = allowance.recent; // without our own
    if (has_failed_) return;              // from here on we count ourselves
    failures_without_step_ = allowance.failures_without_step;
    own_failures_without_step_ = allowance.own_failures_without_step;
}

void Lead::take_order(Instant now, const LauncherOrder& order) {
    if (!context_.config.standalone) policy_ = order.allowance.policy;
    take_allowance(order.allowance);
    highest_step_ = std::max(highest_step_, order.last_step);
    if (open_) account_->raise_redo_through(highest_step_);
    std::erase_if(closed_, [&](const GenerationSummary& summary) {
        return summary.generation <= order.closed_through;
    });
    if (order.fenced)
        on_fenced(now);
    else if (order.stop == StopKind::cancel)
        on_cancel(now);
}

void Lead::advance(Instant now) {
    now_ = now;
    constexpr int steps_max = 32; // far above the longest chain of phases
    for (int i = 0; i < steps_max && !context_.left; ++i) {
        context_.local.advance(now, context_.out);
        look_at_self();
        if (!step_once(now)) break;
        REQUIRE(i + 1 < steps_max, "the lead comes to rest");
    }
    answer_due(now);
}

/// One transition at most; true where one was made.
bool Lead::step_once(Instant now) {
    if (open_) account_->observe(now, all_progress());
    if (judge_members(now)) return true;
    switch (phase_) {
    case Phase::gathering: return gather(now);
    case Phase::binding:
        if (bind_asked_ && now >= deadline_) {
            on_port(now, PortBound{generation_, 0, "no answer within " + to_text(bind_limit)});
            return true;
        }
        if (!bind_asked_ && now >= deadline_) {
            bind_asked_ = true;
            ++bind_tries_;
            deadline_ = now + bind_limit;
            context_.out.push_back(BindPort{generation_});
            return true;
        }
        return false;
    case Phase::starting:
    case Phase::running: return watch(now);
    case Phase::judging:
        deadline_ = judge_until();
        if (now < deadline_) return false;
        begin_clear(now, MemberAction::clear, context_.short_grace());
        return true;
    case Phase::clearing:
        if (cleared()) {
            close(now);
            return true;
        }
        if (now < deadline_) return false;
        stuck(now);
        return true;
    case Phase::waiting:
        if (now < deadline_) return false;
        own_restarts_.push_back(now);
        bind(now, generation_ + 1);
        return true;
    case Phase::farewell: {
        const std::int64_t revision = order_.revision;
        const bool all_gone = std::all_of(views_.begin(), views_.end(), [&](const auto& view) {
            if (&view == &views_[static_cast<std::size_t>(context_.self())]) return true;
            const bool gone = view.empty && (view.order_revision == revision || view.leaving);
            return gone || !reachable(now, view);
        });
        if (all_gone || fenced() || now >= deadline_) leave();
        return false;
    }
    }
    return false;
}

bool Lead::gather(Instant now) {
    if (deadline_.is_never()) deadline_ = context_.begun_at + gather_limit;
    std::string missing;
    for (std::int64_t i = 0; i < context_.launchers(); ++i)
        if (!views_[static_cast<std::size_t>(i)].heard)
            missing += (missing.empty() ? "" : ", ") + to_text(context_.node(i));
    if (missing.empty()) {
        bind(now, 1);
        return true;
    }
    if (now < deadline_) return false;
    ExitCause cause;
    cause.reason.code = ReasonCode::start_timeout;
    cause.reason.subject = missing;
    cause.reason.need = gather_limit.ns / 1'000'000'000;
    cause.exit_code = exit_lost;
    decide({AttemptOutcome::failed, cause, exit_lost});
    begin_clear(now, MemberAction::leave, context_.short_grace());
    return true;
}

void Lead::bind(Instant now, Generation generation) {
    generation_ = generation;
    early_since_ = Instant{};
    detected_at_ = Instant{};
    phase_ = Phase::binding;
    bind_tries_ = 0;
    bind_asked_ = false;
    deadline_ = now;
}

void Lead::on_port(Instant now, const PortBound& event) {
    if (phase_ != Phase::binding || event.generation != generation_ || !bind_asked_) return;
    if (event.port > 0) {
        start(now, event.port);
        return;
    }
    bind_asked_ = false;
    deadline_ = now + bind_retry;
    if (bind_tries_ < bind_tries_max) return;
    ExitCause cause;
    cause.reason.code = ReasonCode::cannot_start;
    cause.reason.subject = "the rendezvous port on " + to_text(context_.node(context_.self()));
    cause.reason.detail = event.error;
    cause.node = context_.node(context_.self());
    cause.exit_code = exit_lost;
    decide({AttemptOutcome::failed, cause, exit_lost});
    begin_clear(now, MemberAction::leave, context_.short_grace());
}

void Lead::start(Instant now, std::int64_t port) {
    table_.term = context_.term;
    table_.generation = generation_;
    table_.master_address = context_.config.address;
    table_.master_port = port;
    table_.restarts = context_.config.order.restarts + generation_ - 1;
    table_.ranks = rank_rows(context_.config.order);
    account_.emplace(generation_, generation_ == 1 ? context_.begun_at : now, highest_step_);
    open_ = true;
    phase_ = Phase::starting;
    deadline_ = now + start_limit;
    set_order(MemberAction::run);
    context_.local.start(table_, context_.out);
}

bool Lead::watch(Instant now) {
    const auto all = ends();
    if (std::any_of(all.begin(), all.end(),
                    [](const auto& end) { return recovery::failed(end.exit); })) {
        fail(now, FailureKind::ranks);
        return true;
    }
    if (phase_ == Phase::starting && all_started()) {
        phase_ = Phase::running;
        account_->started(now);
        deadline_ = Instant::never();
        context_.tell("generation " + std::to_string(generation_) + ": " +
                      std::to_string(table_.ranks.size()) + " ranks started on " +
                      std::to_string(context_.launchers()) + " machine(s), rendezvous at " +
                      table_.master_address + ":" + std::to_string(table_.master_port));
        return true;
    }
    if (phase_ == Phase::starting) {
        if (now < deadline_) return false;
        fail(now, FailureKind::start_timeout);
        return true;
    }
    if (all_ended()) {
        // Nobody failed. Ranks that were ended on their machine without our word did not finish.
        for (const auto& end : all)
            if (end.exit.killed_by_us) {
                Reason reason;
                reason.code = ReasonCode::launcher_lost;
                reason.detail = "it ended rank " + std::to_string(end.rank) + " by itself";
                for (std::int64_t i = 0; i < context_.launchers(); ++i)
                    if (context_.node(i) == end.node) end_as_lost(now, i, reason);
                return true;
            }
        decide({AttemptOutcome::succeeded, std::nullopt, 0});
        begin_clear(now, MemberAction::clear, Duration{});
        return true;
    }
    const bool early = ends_early(all);
    if (!early)
        early_since_ = Instant{};
    else if (early_since_ == Instant{})
        early_since_ = now;
    deadline_ = Instant::never();
    if (!early) return false;
    deadline_ =
        std::max(early_since_, account_->moved_at()) + context_.config.order.spec.early_exit_limit;
    if (now < deadline_) return false;
    fail(now, FailureKind::early_exit);
    return true;
}

void Lead::begin_clear(Instant now, MemberAction action, Duration grace) {
    if (phase_ == Phase::farewell) return;
    const bool clearing = phase_ == Phase::clearing;
    if (!clearing) deadline_ = now + clear_limit(grace);
    if (detected_at_ == Instant{}) detected_at_ = now;
    phase_ = Phase::clearing;
    if (context_.local.empty() && context_.local.generation() < generation_)
        context_.local.take_up(generation_);
    context_.local.clear(now, grace, context_.out);
    now_ = now;
    if (!clearing) set_order(action);
}

bool Lead::cleared() const {
    return std::all_of(views_.begin(), views_.end(), [&](const LauncherView& view) {
        const bool empty = view.empty && (view.generation == generation_ || view.leaving);
        if (empty || &view == &views_[static_cast<std::size_t>(context_.self())]) return empty;
        // A silent one gives no proof. It is waited for only while a restart is to follow, and a
        // silent member rules that out. A fenced attempt is over without us: each node's agent
        // owes the server its own proof.
        return fenced() || (verdict_ && !reachable(now_, view));
    });
}

void Lead::say_farewell(Instant now) {
    phase_ = Phase::farewell;
    deadline_ = now + farewell_limit;
    now_ = now;
    set_order(MemberAction::leave);
}

void Lead::leave() {
    answer_all();
    LauncherResult result;
    result.outcome = verdict_->outcome;
    result.cause = verdict_->cause;
    result.generations = closed_;
    result.leftover_processes = context_.local.survivors();
    context_.out.push_back(Leave{std::move(result), verdict_->exit_code});
    context_.left = true;
}

LauncherState Lead::state() const {
    if (context_.left) return LauncherState::done;
    switch (phase_) {
    case Phase::gathering: return LauncherState::joining;
    case Phase::binding:
    case Phase::starting: return LauncherState::starting;
    case Phase::running: return LauncherState::running;
    case Phase::clearing: return verdict_ ? LauncherState::stopping : LauncherState::recovering;
    case Phase::judging:
    case Phase::waiting: return LauncherState::recovering;
    case Phase::farewell: return LauncherState::stopping;
    }
    return LauncherState::stopping;
}

std::optional<RankTable> Lead::running_table() const {
    if (phase_ != Phase::starting && phase_ != Phase::running) return std::nullopt;
    return table_;
}

std::optional<Progress> Lead::progress() const {
    if (!account_) return std::nullopt;
    return account_->progress();
}

Instant Lead::wake_at() const {
    Instant at = deadline_;
    for (const auto& held : held_) at = std::min(at, held.until);
    for (std::int64_t i = 0; i < context_.launchers(); ++i) {
        const LauncherView& view = views_[static_cast<std::size_t>(i)];
        if (i != context_.self() && view.heard && now_ - view.heard_at < member_silent_limit)
            at = std::min(at, view.heard_at + member_silent_limit);
    }
    return at;
}

} // namespace muster::launch
