#pragma once
// Facts: the durable changes of a ledger, one struct each. They are decisions, never inputs, and
// append-only: a tag is never reused, a field never changes its meaning
// (docs/checklists/add-a-fact.md). control/ledger.hpp applies them; the journal stores them as
// {"tag": ..., fields}.

#include "model/attempt.hpp"
#include "model/node.hpp"
#include "model/workload.hpp"

#include <string>
#include <variant>

namespace muster {

/// The first fact of every journal.
struct InstallationCreated {
    InstallationId id;
    ClusterName cluster;
    friend bool operator==(const InstallationCreated&, const InstallationCreated&) = default;
};
MUSTER_DESCRIBE(InstallationCreated, id, cluster)

/// A node is new, or an agent host booted again: what the earlier incarnation held is free.
struct NodeJoined {
    NodeName node;
    Incarnation incarnation = 0;
    std::string boot_id;
    Inventory inventory;
    Reason reason;
    friend bool operator==(const NodeJoined&, const NodeJoined&) = default;
};
MUSTER_DESCRIBE(NodeJoined, node, incarnation, boot_id, inventory, reason)

struct NodeInventoryChanged {
    NodeName node;
    Inventory inventory;
    friend bool operator==(const NodeInventoryChanged&, const NodeInventoryChanged&) = default;
};
MUSTER_DESCRIBE(NodeInventoryChanged, node, inventory)

struct NodeLost {
    NodeName node;
    Incarnation incarnation = 0;
    Reason reason;
    friend bool operator==(const NodeLost&, const NodeLost&) = default;
};
MUSTER_DESCRIBE(NodeLost, node, incarnation, reason)

/// A lost node beats again in the same incarnation.
struct NodeBack {
    NodeName node;
    Incarnation incarnation = 0;
    Reason reason;
    friend bool operator==(const NodeBack&, const NodeBack&) = default;
};
MUSTER_DESCRIBE(NodeBack, node, incarnation, reason)

struct NodeCordoned {
    NodeName node;
    CordonOwner owner = CordonOwner::admin;
    Reason reason;
    friend bool operator==(const NodeCordoned&, const NodeCordoned&) = default;
};
MUSTER_DESCRIBE(NodeCordoned, node, owner, reason)

struct NodeUncordoned {
    NodeName node;
    CordonOwner owner = CordonOwner::admin;
    Reason reason;
    friend bool operator==(const NodeUncordoned&, const NodeUncordoned&) = default;
};
MUSTER_DESCRIBE(NodeUncordoned, node, owner, reason)

struct WorkloadSubmitted {
    WorkloadId id;
    WorkloadName name;
    WorkloadSpec spec;
    std::string client_token; // empty: none given
    Reason reason;
    friend bool operator==(const WorkloadSubmitted&, const WorkloadSubmitted&) = default;
};
MUSTER_DESCRIBE(WorkloadSubmitted, id, name, spec, client_token, reason)

/// Admission and placement in one: admitted means placed, whole.
struct WorkloadAdmitted {
    WorkloadId id;
    AttemptNumber attempt = 0;
    Placement placement;
    Reason reason;
    friend bool operator==(const WorkloadAdmitted&, const WorkloadAdmitted&) = default;
};
MUSTER_DESCRIBE(WorkloadAdmitted, id, attempt, placement, reason)

struct WorkloadStopAsked {
    WorkloadId id;
    Reason reason;
    friend bool operator==(const WorkloadStopAsked&, const WorkloadStopAsked&) = default;
};
MUSTER_DESCRIBE(WorkloadStopAsked, id, reason)

/// A generation's ranks were started; decided by the lead, recorded after the fact.
struct GenerationStarted {
    WorkloadId id;
    AttemptNumber attempt = 0;
    Term term = 0;
    Generation generation = 0;
    std::int64_t ranks = 0;
    friend bool operator==(const GenerationStarted&, const GenerationStarted&) = default;
};
MUSTER_DESCRIBE(GenerationStarted, id, attempt, term, generation, ranks)

struct GenerationClosed {
    WorkloadId id;
    AttemptNumber attempt = 0;
    GenerationSummary summary;
    Reason reason;
    friend bool operator==(const GenerationClosed&, const GenerationClosed&) = default;
};
MUSTER_DESCRIBE(GenerationClosed, id, attempt, summary, reason)

/// What the running generation had reached, as far as the control plane saw it: recorded now and
/// then, so that a step outlives the server and the lead. The next one and GenerationClosed replace
/// it.
struct GenerationProgressed {
    WorkloadId id;
    AttemptNumber attempt = 0;
    GenerationSummary so_far; // without samples, phases and an end: only the lead knows those
    friend bool operator==(const GenerationProgressed&, const GenerationProgressed&) = default;
};
MUSTER_DESCRIBE(GenerationProgressed, id, attempt, so_far)

/// The attempt has no authority any more. Its devices stay held until DevicesReleased.
struct AttemptEnded {
    WorkloadId id;
    AttemptNumber attempt = 0;
    AttemptOutcome outcome = AttemptOutcome::none;
    std::optional<ExitCause> cause;
    Reason reason;
    friend bool operator==(const AttemptEnded&, const AttemptEnded&) = default;
};
MUSTER_DESCRIBE(AttemptEnded, id, attempt, outcome, cause, reason)

struct DevicesReleased {
    WorkloadId id;
    AttemptNumber attempt = 0;
    NodeName node;
    Reason reason; // released; older journals: none, with the same meaning
    friend bool operator==(const DevicesReleased&, const DevicesReleased&) = default;
};
MUSTER_DESCRIBE(DevicesReleased, id, attempt, node, reason)

/// Queued again after an attempt that did not end the workload, with its original time.
struct WorkloadRequeued {
    WorkloadId id;
    Reason reason;
    Instant not_before;
    friend bool operator==(const WorkloadRequeued&, const WorkloadRequeued&) = default;
};
MUSTER_DESCRIBE(WorkloadRequeued, id, reason, not_before)

struct WorkloadFinished {
    WorkloadId id;
    WorkloadPhase phase = WorkloadPhase::succeeded;
    std::int64_t exit_code = 0;
    Reason reason;
    friend bool operator==(const WorkloadFinished&, const WorkloadFinished&) = default;
};
MUSTER_DESCRIBE(WorkloadFinished, id, phase, exit_code, reason)

/// The ledger keeps a bounded number of finished workloads; the oldest leave it by name.
struct WorkloadForgotten {
    WorkloadId id;
    friend bool operator==(const WorkloadForgotten&, const WorkloadForgotten&) = default;
};
MUSTER_DESCRIBE(WorkloadForgotten, id)

/// Order in the variant is free; the tag is the type's name.
using Fact = std::variant<InstallationCreated, NodeJoined, NodeInventoryChanged, NodeLost, NodeBack,
                          NodeCordoned, NodeUncordoned, WorkloadSubmitted, WorkloadAdmitted,
                          WorkloadStopAsked, GenerationStarted, GenerationClosed, AttemptEnded,
                          DevicesReleased, WorkloadRequeued, WorkloadFinished, WorkloadForgotten,
                          GenerationProgressed>;

struct FactRecord {
    Sequence sequence = 0; // from 1, without gaps
    Instant at;
    std::string actor; // who caused it: "user:root", "node:n1", "scheduler", "controller"
    Fact fact;
    friend bool operator==(const FactRecord&, const FactRecord&) = default;
};
MUSTER_DESCRIBE(FactRecord, sequence, at, actor, fact)

} // namespace muster
