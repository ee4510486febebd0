#include "control/scheduling.hpp"

#include "control/core_state.hpp"
#include "scheduler/scheduler.hpp"

#include <algorithm>

namespace muster::control {
namespace {

scheduler::NodeState node_of(const Ledger& ledger, const NodeRecord& record) {
    scheduler::NodeState node;
    node.incarnation = record.incarnation;
    node.lost = record.lost;
    node.cordons = record.cordons;
    for (const auto& [device, key] : record.holders) {
        auto& holding = node.holdings[key];
        holding.devices.push_back(device);
        const auto* workload = ledger.workload(key.workload);
        const auto* attempt = workload == nullptr ? nullptr : workload->attempt(key.attempt);
        holding.ended = attempt != nullptr && attempt->state == AttemptState::ended;
    }
    node.set_inventory(record.inventory);
    return node;
}

scheduler::Demand demand_of(const WorkloadRecord& workload) {
    scheduler::Demand demand;
    demand.name = workload.name;
    demand.priority = workload.spec.priority;
    demand.submitted_at = workload.submitted_at;
    demand.not_before = workload.not_before;
    demand.shape = scheduler::shape_of(workload.spec);
    demand.queued = workload.phase == WorkloadPhase::queued;
    demand.stop_asked = workload.stop_asked;
    if (const auto* attempt = workload.live_attempt())
        for (const auto& placed : attempt->placement.nodes) demand.placed_on.push_back(placed.node);
    return demand;
}

} // namespace

scheduler::State scheduling_of(const Ledger& ledger) {
    scheduler::State state;
    for (const auto& [name, record] : ledger.nodes)
        state.nodes.emplace(name, node_of(ledger, record));
    for (const auto& [id, workload] : ledger.workloads) {
        if (is_terminal(workload.phase)) continue;
        auto demand = demand_of(workload);
        if (demand.queued && !demand.stop_asked) state.queue.insert(queue_key(id, demand));
        state.demands.emplace(id, std::move(demand));
    }
    return state;
}

void note_contact(CoreState& state) {
    for (auto& [name, node] : state.scheduling.nodes) node.in_contact = in_contact(state, name);
}

void plan_if_needed(CoreState& state) {
    auto& live = state.live;
    if (!live.plan_needed && state.now < live.plan_at) return;
    live.plan_needed = false;
    live.plan_at = Instant::never();
    live.blocker.reset();
    if (state.scheduling.queue.empty()) return;
    note_contact(state);
    auto plan = scheduler::plan(state.scheduling, state.now);
    live.plan_at = plan.next_at;
    live.blocker = plan.blocker;
    for (auto& admission : plan.admissions) {
        const AttemptNumber number = state.ledger.workload(admission.id)->attempts_made + 1;
        state.emit(actor_scheduler,
                   WorkloadAdmitted{admission.id, number, std::move(admission.placement),
                                    std::move(admission.reason)});
    }
    live.plan_needed = false; // admissions take devices, they free none
}

} // namespace muster::control
