#include "launch/core.hpp"

#include "base/require.hpp"
#include "launch/state.hpp"

#include <algorithm>

namespace muster::launch {

LaunchCore::LaunchCore(LaunchConfig config) {
    const auto launchers = static_cast<std::int64_t>(config.order.placement.nodes.size());
    REQUIRE(config.order.launcher_index >= 0 && config.order.launcher_index < launchers,
            "a launcher is part of its placement");
    state_ = std::make_unique<State>(std::move(config));
}
LaunchCore::~LaunchCore() = default;
LaunchCore::LaunchCore(LaunchCore&&) noexcept = default;
LaunchCore& LaunchCore::operator=(LaunchCore&&) noexcept = default;

Decision<NoRecord, LaunchCommand> LaunchCore::step(Instant now, const LaunchEvent& event) {
    State& state = *state_;
    Context& context = state.context;
    context.out.clear();
    state.forgive_stall(now);
    std::visit([&](const auto& e) { state.take(now, e); }, event);
    if (!context.left) {
        if (state.leads)
            state.lead.advance(now);
        else
            state.member.advance(now);
    }
    if (!context.left) state.server.beat(now, state.word());
    Decision<NoRecord, LaunchCommand> decision;
    decision.commands = std::move(context.out);
    if (!context.left) decision.wake_at = state.wake_at();
    state.planned = decision.wake_at;
    return decision;
}

/// Where we were stopped or starved ourselves, silence proves nothing about others.
void LaunchCore::State::forgive_stall(Instant now) {
    if (planned == Instant{} || planned.is_never() || now <= planned + stall_limit) return;
    lead.forgive(now - planned);
    member.forgive(now - planned);
}

void LaunchCore::State::take(Instant now, const Begin&) { context.begun_at = now; }

void LaunchCore::State::take(Instant now, const ServerSaid& event) {
    const auto order = server.on_said(now, event);
    if (!order || context.left) return;
    set_role(now, *order);
    if (leads) {
        lead.take_order(now, *order);
        return;
    }
    member.set_lead(now, order->lead_endpoint);
    if (order->fenced)
        member.on_fenced(now);
    else if (order->stop == StopKind::cancel)
        member.on_cancel(now);
}

/// The lead may be named anew until the first generation; later, a deposed lead ends.
void LaunchCore::State::set_role(Instant now, const LauncherOrder& order) {
    const bool named = order.lead == context.self();
    if (order.term < context.term) return;
    if (named == leads) {
        context.term = order.term;
        return;
    }
    if (leads && lead.begun()) {
        lead.on_fenced(now);
        return;
    }
    if (!leads && context.local.generation() > 0) {
        member.on_fenced(now);
        return;
    }
    context.term = order.term;
    leads = named;
}

void LaunchCore::State::take(Instant now, const ServerSilent& event) {
    server.on_silent(now, event);
}

void LaunchCore::State::take(Instant now, const MemberAsked& event) {
    if (leads) {
        lead.on_asked(now, event);
        if (context.left) lead.answer_all();
        return;
    }
    // Revision 0 is no order: the asker looks for the lead elsewhere.
    MemberOrder order;
    order.workload = context.config.order.workload;
    order.attempt = context.config.order.attempt;
    order.asked = event.beat.asked;
    context.out.push_back(AnswerMember{event.reply, order});
}

void LaunchCore::State::take(Instant now, const LeadSaid& event) {
    if (!leads) member.on_said(now, event);
}
void LaunchCore::State::take(Instant now, const LeadSilent& event) {
    if (!leads) member.on_silent(now, event);
}
void LaunchCore::State::take(Instant now, const PortBound& event) {
    if (leads) lead.on_port(now, event);
}
void LaunchCore::State::take(Instant, const RanksStarted& event) {
    context.local.on_started(event);
}
void LaunchCore::State::take(Instant, const RankExited& event) { context.local.on_exited(event); }
void LaunchCore::State::take(Instant now, const RanksCleared& event) {
    context.local.on_cleared(now, event);
}
void LaunchCore::State::take(Instant, const ProgressRead& event) {
    context.local.on_progress(event);
}
void LaunchCore::State::take(Instant now, const LeaveAsked& event) {
    if (context.left) return;
    if (leads)
        lead.on_leave_asked(now, event.signal);
    else
        member.on_leave_asked(now, event.signal);
}
void LaunchCore::State::take(Instant, const Wake&) {}

ServerWord LaunchCore::State::word() const {
    if (!leads) return ServerWord{member.state(), context.local.generation(), {}, {}, {}};
    return ServerWord{lead.state(), lead.generation(), lead.running_table(), lead.closed(),
                      lead.progress()};
}

Instant LaunchCore::State::wake_at() const {
    const Instant own =
        leads ? std::min(lead.wake_at(), context.local.wake_at()) : member.wake_at();
    return std::min(own, server.wake_at());
}

} // namespace muster::launch
