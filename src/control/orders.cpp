// Desired state for agents and launchers, and the polls held until it changes.

#include "control/core_state.hpp"

#include <algorithm>
#include <utility>

namespace muster::control {
namespace {

/// Where a held poll still waits: a changed order answers at once, an old revision too.
bool due(const HeldPoll& poll, Instant now, std::int64_t told, std::int64_t revision) {
    return poll.until <= now || told != revision;
}

void answer_agent(CoreState& state, const NodeName& name) {
    auto& agent = state.live.agents[name];
    if (!agent.poll || !due(*agent.poll, state.now, agent.told_revision, agent.revision)) return;
    AgentOrder order = agent_order(state, name, agent);
    order.asked = agent.poll->asked;
    state.out->commands.push_back(AnswerAgent{agent.poll->reply, std::move(order)});
    state.live.deadlines.erase({agent.poll->until, agent.poll->reply});
    state.live.agent_polls.erase(agent.poll->reply);
    agent.poll.reset();
}

void answer_launcher(CoreState& state, const AttemptKey& key, std::int64_t index) {
    auto& live = state.live.attempts[key];
    auto& launcher = live.launchers[index];
    if (!launcher.poll || !due(*launcher.poll, state.now, launcher.told_revision, live.revision))
        return;
    state.out->commands.push_back(
        AnswerLauncher{launcher.poll->reply, launcher_order(state, key, launcher.poll->asked)});
    state.live.deadlines.erase({launcher.poll->until, launcher.poll->reply});
    state.live.launcher_polls.erase(launcher.poll->reply);
    launcher.poll.reset();
}

/// Orders of what changed get a new revision; then whoever waits on them is looked at.
void answer_changed(CoreState& state) {
    const auto agents = std::exchange(state.live.changed_agents, {});
    for (const auto& name : agents) {
        const auto found = state.live.agents.find(name);
        if (found == state.live.agents.end()) continue;
        auto content = agent_order(state, name, found->second);
        content.revision = 0;
        if (found->second.revision < revision_base(state))
            found->second.revision = revision_base(state);
        if (!found->second.last_order || *found->second.last_order != content) {
            ++found->second.revision;
            found->second.last_order = std::move(content);
        }
        answer_agent(state, name);
    }
    for (const auto& due : std::exchange(state.live.agent_replies, {})) {
        AgentOrder order = agent_order(state, due.node, state.live.agents[due.node]);
        order.asked = due.asked;
        state.out->commands.push_back(AnswerAgent{due.reply, std::move(order)});
    }
    const auto polled = std::exchange(state.live.polled_agents, {});
    for (const auto& name : polled) answer_agent(state, name);
    const auto attempts = std::exchange(state.live.changed_attempts, {});
    for (const auto& key : attempts) {
        const auto found = state.live.attempts.find(key);
        if (found == state.live.attempts.end()) continue;
        auto& live = found->second;
        if (live.revision < revision_base(state)) live.revision = revision_base(state);
        auto content = launcher_order(state, key, 0);
        content.revision = 0;
        if (!live.last_order || *live.last_order != content) {
            ++live.revision;
            live.last_order = std::move(content);
        }
        std::vector<std::int64_t> indices;
        for (const auto& [index, launcher] : live.launchers) indices.push_back(index);
        for (const auto index : indices) answer_launcher(state, key, index);
    }
    for (const auto& due : std::exchange(state.live.launcher_replies, {}))
        state.out->commands.push_back(
            AnswerLauncher{due.reply, launcher_order(state, due.key, due.asked)});
    for (const auto& key : attempts) {
        const auto* workload = state.ledger.workload(key.workload);
        const auto* attempt = workload == nullptr ? nullptr : workload->attempt(key.attempt);
        if (attempt == nullptr || attempt->state == AttemptState::ended)
            state.live.attempts.erase(key); // everybody was told; later beats are fenced
    }
    const auto launchers = std::exchange(state.live.polled_launchers, {});
    for (const auto& [key, index] : launchers)
        if (state.live.attempts.contains(key)) answer_launcher(state, key, index);
}

/// What is left of the budget, without the restarts of the attempt itself: its lead knows those.
RestartAllowance allowance_of(const WorkloadRecord& workload, const AttemptRecord& attempt) {
    RestartAllowance allowance;
    allowance.policy = workload.spec.restarts;
    allowance.failures_without_step = workload.failures_without_step;
    allowance.own_failures_without_step = workload.own_failures_without_step;
    for (const auto at : workload.recent_restarts)
        if (at <= attempt.placed_at) allowance.recent.push_back(at);
    return allowance;
}

std::int64_t restarts_before(const WorkloadRecord& workload, const AttemptRecord& attempt) {
    return workload.restarts - std::max<Generation>(0, attempt.generation - 1);
}

} // namespace

AgentOrder agent_order(const CoreState& state, const NodeName& node, const AgentLive& agent) {
    const auto& record = *state.ledger.node(node);
    AgentOrder order;
    order.installation = state.ledger.installation;
    order.incarnation = record.incarnation;
    order.session = agent.session;
    order.revision = agent.revision;
    for (const auto& key : record.attempts) {
        const auto* workload = state.ledger.workload(key.workload);
        const auto* attempt = workload == nullptr ? nullptr : workload->live_attempt();
        if (attempt == nullptr || attempt->number != key.attempt) continue;
        for (std::size_t i = 0; i < attempt->placement.nodes.size(); ++i)
            if (attempt->placement.nodes[i].node == node)
                order.run.push_back(
                    {key.workload, key.attempt, static_cast<std::int64_t>(i), workload->name,
                     workload->spec, attempt->placement, restarts_before(*workload, *attempt),
                     allowance_of(*workload, *attempt), last_step_before(*workload, key.attempt)});
    }
    order.forget.assign(agent.forget.begin(), agent.forget.end());
    for (const auto& [number, request] : agent.log_requests) order.log_requests.push_back(request);
    return order;
}

LauncherOrder launcher_order(const CoreState& state, const AttemptKey& key, std::int64_t asked) {
    LauncherOrder order;
    order.attempt = key.attempt;
    order.asked = asked;
    const auto live = state.live.attempts.find(key);
    if (live != state.live.attempts.end()) order.revision = live->second.revision;
    const auto* workload = state.ledger.workload(key.workload);
    const auto* attempt = workload == nullptr ? nullptr : workload->attempt(key.attempt);
    if (attempt == nullptr || attempt->state == AttemptState::ended) {
        order.fenced = true;
        return order;
    }
    order.lead = attempt->lead;
    order.term = attempt->term;
    if (live != state.live.attempts.end()) {
        const auto lead = live->second.launchers.find(attempt->lead);
        if (lead != live->second.launchers.end()) order.lead_endpoint = lead->second.endpoint;
    }
    order.allowance = allowance_of(*workload, *attempt);
    if (!attempt->generations.empty())
        order.closed_through = attempt->generations.back().generation;
    order.last_step = last_step_before(*workload, key.attempt);
    if (workload->stop_asked) order.stop = StopKind::cancel;
    return order;
}

std::int64_t last_step_before(const WorkloadRecord& workload, AttemptNumber attempt) {
    std::int64_t last = -1;
    for (const auto& earlier : workload.attempts)
        if (earlier.number < attempt)
            for (const auto& generation : earlier.generations)
                last = std::max(last, generation.last_step);
    return last;
}

void answer_polls(CoreState& state) {
    answer_changed(state);
    auto& live = state.live;
    while (!live.deadlines.empty() && live.deadlines.begin()->first <= state.now) {
        const std::int64_t reply = live.deadlines.begin()->second;
        live.deadlines.erase(live.deadlines.begin());
        if (const auto agent = live.agent_polls.find(reply); agent != live.agent_polls.end())
            answer_agent(state, NodeName{agent->second});
        else if (const auto launcher = live.launcher_polls.find(reply);
                 launcher != live.launcher_polls.end()) {
            const auto [key, index] = launcher->second;
            answer_launcher(state, key, index);
        } else if (const auto await = live.awaits.find(reply); await != live.awaits.end()) {
            live.changed_workloads.insert(await->second.workload);
        }
    }
}

Instant next_deadline(const CoreState& state) {
    const auto& live = state.live;
    Instant next = std::min({live.plan_at, live.judge_at, live.judge_launchers_at});
    if (!live.deadlines.empty()) next = std::min(next, live.deadlines.begin()->first);
    for (const auto& [number, pending] : live.logs) next = std::min(next, pending.until);
    for (const auto& id : live.stopping) {
        const auto* workload = state.ledger.workload(id);
        if (workload->stop_asked && workload->live_attempt() != nullptr)
            next =
                std::min(next, workload->stop_asked_at + workload->spec.stop_grace + cancel_extra);
    }
    for (const auto& [member, since] : live.members_gone)
        next = std::min(next, std::max(since, live.listens_since) + member_gone_limit);
    return next;
}

} // namespace muster::control
