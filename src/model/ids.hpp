#pragma once
// Identities of the nouns. A name is chosen by people, an id is made once and never reused.

#include "base/id.hpp"

#include <cstdint>

namespace muster {

using InstallationId = Id<struct InstallationTag>; // one control plane and its ledger
using WorkloadId = Id<struct WorkloadTag>;
using AgentSessionId = Id<struct AgentSessionTag>; // one start of an agent process

using ClusterName = Name<struct ClusterNameTag>;
using NodeName = Name<struct NodeNameTag>;
using WorkloadName = Name<struct WorkloadNameTag>;
using RoleName = Name<struct RoleNameTag>;

/// Counts boots of a node's agent host: a new one voids everything the node held.
using Incarnation = std::int64_t;
/// Counts admissions of a workload from 1. With term and generation it fences what a job does.
using AttemptNumber = std::int64_t;
/// Counts lead launchers of an attempt from 1.
using Term = std::int64_t;
/// Counts rank tables of an attempt from 1; 0 before the first.
using Generation = std::int64_t;
/// Position of a fact in the journal, from 1.
using Sequence = std::int64_t;

/// One admission of one workload: the key under which agents and launchers hold things.
struct AttemptKey {
    WorkloadId workload;
    AttemptNumber attempt = 0;
    friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

} // namespace muster
