#pragma once
// The scheduler: State -> Plan, pure. Policy here is simple (priority, then order of submission;
// gangs all or nothing; never oversubscribing). Equal states give equal plans, and a plan leaves
// the State as it was. Reasons for waiting are derived on demand, by class (Shape): they are not
// kept for each workload and never journalled.

#include "scheduler/state.hpp"

#include <optional>
#include <vector>

namespace muster::scheduler {

/// A waiting workload names at most so many nodes that are held or barred.
inline constexpr std::size_t nodes_named_max = 8;

struct Admission {
    WorkloadId id;
    Placement placement;
    Reason reason;
};

struct Plan {
    std::vector<Admission> admissions; // in the order of the queue
    /// The first that waits for devices which others have: nobody behind it overtakes it.
    std::optional<WorkloadId> blocker;
    /// The earliest end of a back-off, for the caller's next wake.
    Instant next_at = Instant::never();
};

/// Works on `state` under an undo log and leaves it as it was.
Plan plan(State& state, Instant now);

/// Why a workload of the queue waits: all reasons that hold, the first is what is missing. Empty
/// for one that is not in the queue, and for one that the next plan admits. `blocker` as the last
/// plan found it.
std::vector<Reason> why_waiting(const State& state, const std::optional<WorkloadId>& blocker,
                                const WorkloadId& id, Instant now);

/// Why a shape would not fit even if every device of every node known were free, also of lost and
/// cordoned ones; empty where it would, and where a bounded search could not tell.
std::optional<Reason> never_fits(const State& state, const Shape& shape);

} // namespace muster::scheduler
