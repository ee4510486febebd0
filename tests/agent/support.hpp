#pragma once
// Values that the tests of AgentCore share.

#include "agent/core.hpp"

#include <vector>

namespace muster::agent::testing {

template <class Tag>
Id<Tag> id_of(std::uint64_t number) {
    return Id<Tag>{RawId{1, number}};
}
inline InstallationId installation_of(std::uint64_t number) {
    return id_of<InstallationTag>(number);
}
inline WorkloadId workload_of(std::uint64_t number) { return id_of<WorkloadTag>(number); }
inline AgentSessionId session_of(std::uint64_t number) { return id_of<AgentSessionTag>(number); }
inline AttemptKey key_of(std::uint64_t workload, AttemptNumber attempt = 1) {
    return {workload_of(workload), attempt};
}

/// One rank of `key` on this node's `device`.
inline AttemptOrder entry_of(const AttemptKey& key, std::int64_t device,
                             Incarnation incarnation = 1) {
    AttemptOrder entry;
    entry.workload = key.workload;
    entry.attempt = key.attempt;
    entry.spec.stop_grace = Duration::seconds(15);
    PlacedNode placed;
    placed.node = NodeName{"n1"};
    placed.incarnation = incarnation;
    placed.seats.push_back({RoleName{"worker"}, {device}});
    entry.placement.nodes.push_back(placed);
    return entry;
}

inline AgentConfig config_of(std::uint64_t session = 1) {
    AgentConfig config;
    config.node = NodeName{"n1"};
    config.boot_id = "boot";
    config.session = session_of(session);
    config.inventory.cpus = 2;
    return config;
}

template <class Command>
std::vector<Command> commands_of(const Decision<AgentRecord, AgentCommand>& decision) {
    std::vector<Command> found;
    for (const auto& command : decision.commands)
        if (const auto* one = std::get_if<Command>(&command)) found.push_back(*one);
    return found;
}
template <class Fact>
std::vector<Fact> facts_of(const Decision<AgentRecord, AgentCommand>& decision) {
    std::vector<Fact> found;
    for (const auto& record : decision.facts)
        if (const auto* one = std::get_if<Fact>(&record.fact)) found.push_back(*one);
    return found;
}

} // namespace muster::agent::testing
