// Logs stay on the nodes: a read becomes a request in the orders of the nodes that ran the job, and
// their answers come with beats. Losable: who asked asks again from where it stands.

#include "control/core_state.hpp"

#include <algorithm>

namespace muster::control {
namespace {

void done(CoreState& state, std::map<std::int64_t, PendingLogs>::iterator it) {
    auto& pending = it->second;
    const auto* workload = state.ledger.workload(pending.workload);
    const bool over = workload == nullptr || is_terminal(workload->phase);
    pending.answer.finished = over && pending.all_ended && pending.answer.errors.empty();
    state.out->commands.push_back(
        AnswerRequest{pending.reply, Response{std::move(pending.answer)}});
    for (auto& [name, agent] : state.live.agents)
        if (agent.log_requests.erase(it->first) > 0) state.live.changed_agents.insert(name);
    state.live.logs.erase(it);
}

std::set<NodeName> nodes_of(const WorkloadRecord& workload) {
    std::set<NodeName> nodes;
    for (const auto& attempt : workload.attempts)
        for (const auto& placed : attempt.placement.nodes) nodes.insert(placed.node);
    return nodes;
}

} // namespace

void ask_logs(CoreState& state, const RequestAsked& asked, const ReadJobLogs& request) {
    const auto* workload = find_workload(state, request.job);
    if (workload == nullptr) {
        state.out->commands.push_back(
            AnswerRequest{asked.reply, fail(Code::not_found, "there is no job " + request.job,
                                            "see muster jobs --all", "job")});
        return;
    }
    const std::int64_t number = ++state.live.last_log_request;
    PendingLogs pending;
    pending.reply = asked.reply;
    pending.workload = workload->id;
    pending.until = state.now + state.config.log_wait_max;
    for (const auto& node : nodes_of(*workload)) {
        LogRequest order;
        order.request = number;
        order.workload = workload->id;
        order.bytes_max = std::clamp<std::int64_t>(request.bytes_max, 1, log_bytes_max);
        for (const auto& position : request.positions)
            if (position.node.empty() || position.node == node) order.positions.push_back(position);
        if (!request.positions.empty() && order.positions.empty()) continue;
        if (!in_contact(state, node)) {
            pending.answer.errors.push_back("node " + node.text + " is not in contact");
            continue;
        }
        state.live.agents[node].log_requests[number] = std::move(order);
        state.live.changed_agents.insert(node);
        pending.waiting.insert(node);
    }
    const auto it = state.live.logs.emplace(number, std::move(pending)).first;
    if (it->second.waiting.empty()) done(state, it);
}

void take_log_answer(CoreState& state, const NodeName& node, const LogAnswer& answer) {
    const auto agent = state.live.agents.find(node);
    if (agent != state.live.agents.end() && agent->second.log_requests.erase(answer.request) > 0)
        state.live.changed_agents.insert(node);
    const auto it = state.live.logs.find(answer.request);
    if (it == state.live.logs.end() || it->second.waiting.erase(node) == 0) return;
    auto& pending = it->second;
    if (!answer.error.empty())
        pending.answer.errors.push_back("node " + node.text + ": " + answer.error);
    for (auto chunk : answer.chunks) {
        chunk.node = node;
        pending.all_ended = pending.all_ended && chunk.end_of_log;
        pending.answer.chunks.push_back(std::move(chunk));
    }
    if (pending.waiting.empty()) done(state, it);
}

void expire_logs(CoreState& state) {
    for (auto it = state.live.logs.begin(); it != state.live.logs.end();) {
        const auto here = it++;
        auto& pending = here->second;
        if (pending.until > state.now) continue;
        for (const auto& node : pending.waiting)
            pending.answer.errors.push_back("node " + node.text + " did not answer in time");
        done(state, here);
    }
}

} // namespace muster::control
