#include "api/metrics.hpp"

#include "model/enum_text.hpp"

#include <boost/mp11/algorithm.hpp>
#include <optional>

namespace muster::api {
namespace {

const char* state_of(const control::NodeRecord& node) {
    if (node.lost) return "lost";
    return node.cordons.empty() ? "in_service" : "cordoned";
}

const control::AttemptRecord* find_attempt(const control::Ledger& ledger, const WorkloadId& id,
                                           AttemptNumber number) {
    const auto* workload = ledger.workload(id);
    return workload == nullptr ? nullptr : workload->attempt(number);
}

/// Why the newest generation before this one ended; none where that is not known any more.
ReasonCode failure_before(const control::Ledger& ledger, const GenerationStarted& started) {
    const auto* attempt = find_attempt(ledger, started.id, started.attempt);
    if (attempt == nullptr) return ReasonCode::none;
    ReasonCode code = ReasonCode::none;
    for (const auto& closed : attempt->generations)
        if (closed.generation < started.generation && closed.cause)
            code = closed.cause->reason.code;
    return code;
}

/// Why the attempt before this one ended.
ReasonCode failure_before(const control::Ledger& ledger, const WorkloadAdmitted& admitted) {
    const auto* attempt = find_attempt(ledger, admitted.id, admitted.attempt - 1);
    if (attempt == nullptr) return ReasonCode::none;
    return attempt->cause ? attempt->cause->reason.code : attempt->reason.code;
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

void count_restarts(const std::vector<FactRecord>& records, const control::Ledger& ledger,
                    ClusterCounts& counts) {
    for (const auto& record : records) {
        std::optional<ReasonCode> after;
        if (const auto* started = std::get_if<GenerationStarted>(&record.fact);
            started != nullptr && started->generation > 1)
            after = failure_before(ledger, *started);
        if (const auto* admitted = std::get_if<WorkloadAdmitted>(&record.fact);
            admitted != nullptr && admitted->attempt > 1)
            after = failure_before(ledger, *admitted);
        if (after) ++counts.restarts_by_reason[enum_name(*after)];
    }
}

} // namespace muster::api
