#pragma once
// The scheduler: State -> Plan, pure. Policy here is simple (priority, then order of submission;
// gangs all or nothing; never oversubscribing). Reasons for everything; equal input gives an equal
// plan; the State is as it was when plan() returns.

#include "model/attempt.hpp"
#include "model/workload.hpp"

#include <map>
#include <optional>
#include <vector>

namespace muster::scheduler {

/// A node that accepts work, with its free devices.
struct NodeState {
    NodeName name;
    Incarnation incarnation = 0;
    std::vector<std::int64_t> free; // device indices, ascending
    std::int64_t devices = 0;       // in all
    std::int64_t helpers = 1;       // ranks without devices that one gang may have here
    friend bool operator==(const NodeState&, const NodeState&) = default;
};

/// A workload that waits. The order of `pending` in State does not matter.
struct Pending {
    WorkloadId id;
    WorkloadName name;
    std::int64_t priority = 0;
    Instant submitted_at; // the original time, also after a requeue
    Instant not_before;
    const WorkloadSpec* spec = nullptr; // of the caller's ledger, valid during plan()
};

/// A node that takes no new work now and could again: cordoned, or its agent is silent.
struct Barred {
    NodeState node; // as if empty
    Reason reason;  // cordoned_devices or silent_devices
};

struct State {
    std::vector<NodeState> nodes; // ascending by name
    std::vector<Pending> pending;
    std::vector<std::pair<NodeName, std::int64_t>>
        held; // devices not free though their attempt ended
    std::vector<Barred> barred;
};

/// A waiting workload names at most so many nodes that are held or barred.
inline constexpr std::size_t nodes_named_max = 8;

struct Admission {
    WorkloadId id;
    Placement placement;
    Reason reason;
};

struct Plan {
    std::vector<Admission> admissions;
    /// For each workload that still waits: all reasons that hold.
    std::map<WorkloadId, std::vector<Reason>> waiting;
    /// The earliest end of a back-off, for the caller's next wake.
    Instant next_at = Instant::never();
};

/// Why `spec` would not fit even if every device of `nodes` were free; empty where it would, and
/// where a bounded search could not tell.
std::optional<Reason> never_fits(const std::vector<NodeState>& nodes, const WorkloadSpec& spec);

/// Works on `state` under an undo log and leaves it as it was.
Plan plan(State& state, Instant now);

} // namespace muster::scheduler
