#include "api/metrics.hpp"

#include <boost/describe/enum_to_string.hpp>
#include <boost/mp11/algorithm.hpp>

namespace muster::api {
namespace {

const char* state_of(const control::NodeRecord& node) {
    if (node.lost) return "lost";
    return node.cordons.empty() ? "in_service" : "cordoned";
}

} // namespace

void count_ledger(const control::Ledger& ledger, ClusterCounts& counts) {
    for (const char* state : {"in_service", "cordoned", "lost"}) counts.nodes_by_state[state] = 0;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<WorkloadPhase>>(
        [&](auto phase) { counts.workloads_by_phase[phase.name] = 0; });
    for (const auto& [name, node] : ledger.nodes) {
        ++counts.nodes_by_state[state_of(node)];
        if (!node.lost) counts.devices += static_cast<std::int64_t>(node.inventory.devices.size());
        counts.devices_used += static_cast<std::int64_t>(node.holders.size());
    }
    for (const auto& [id, workload] : ledger.workloads)
        ++counts.workloads_by_phase[boost::describe::enum_to_string(control::phase_told(workload),
                                                                    "?")];
    counts.facts = ledger.last_sequence;
}

void count_restarts(const std::vector<FactRecord>& records, ClusterCounts& counts) {
    for (const auto& record : records) {
        const auto* closed = std::get_if<GenerationClosed>(&record.fact);
        if (closed == nullptr || !closed->summary.cause) continue;
        ++counts.restarts_by_reason[boost::describe::enum_to_string(
            closed->summary.cause->reason.code, "none")];
    }
}

} // namespace muster::api
