#pragma once
// State: what the scheduler knows of the cluster. Built from a ledger (control/scheduling.hpp) or
// kept by apply(fact): both give equal states. It owns all that it needs, so that a plan can be
// made away from the ledger.

#include "model/facts.hpp"

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::scheduler {

/// What a placement looks at in a role.
struct RoleShape {
    RoleName name{"worker"};
    std::int64_t ranks = 1;
    std::optional<std::int64_t> ranks_per_node; // exactly this many on each node; else as it fits
    std::int64_t devices_per_rank = 1;          // 0: a helper
    friend auto operator<=>(const RoleShape&, const RoleShape&) = default;
};

/// What a placement looks at in a workload. Workloads of one shape are one class: what keeps one of
/// them from a place keeps all of them.
struct Shape {
    std::vector<RoleShape> roles;
    friend auto operator<=>(const Shape&, const Shape&) = default;

    std::int64_t devices() const; // that all roles ask for together
    const RoleShape* role(const RoleName& name) const;
};
Shape shape_of(const WorkloadSpec& spec);

/// Devices of one node that an attempt has not been reported to have released.
struct Holding {
    std::vector<std::int64_t> devices; // ascending, never empty
    bool ended = false;                // the attempt has ended, the devices are still to come back
    friend bool operator==(const Holding&, const Holding&) = default;
};

struct NodeState {
    Incarnation incarnation = 0;
    bool lost = false;
    std::vector<Cordon> cordons;
    std::vector<std::int64_t> devices; // indices, ascending
    std::vector<std::int64_t> free;    // those that nobody holds, ascending
    std::int64_t helpers = 1;          // ranks without devices that one gang may have here
    std::map<AttemptKey, Holding> holdings;
    /// Seen live, no part of the facts: set by the caller before a plan. Not compared.
    bool in_contact = false;

    bool accepts_work() const { return in_contact && !lost && cordons.empty(); }
    void set_inventory(const Inventory& inventory);
    void find_free();
    friend bool operator==(const NodeState& a, const NodeState& b);
};

/// A workload that is not over.
struct Demand {
    WorkloadName name;
    std::int64_t priority = 0;
    Instant submitted_at; // the original time, also after a requeue
    Instant not_before;   // of the newest requeue; zero before
    Shape shape;
    bool queued = true;
    bool stop_asked = false;
    std::vector<NodeName> placed_on; // of its live attempt
    friend bool operator==(const Demand&, const Demand&) = default;
};

/// The order in which workloads are looked at: priority, then order of submission.
struct QueueKey {
    std::int64_t priority = 0;
    Instant submitted_at;
    WorkloadId id;
    friend bool operator==(const QueueKey&, const QueueKey&) = default;
    friend bool operator<(const QueueKey& a, const QueueKey& b);
};
QueueKey queue_key(const WorkloadId& id, const Demand& demand);

struct State {
    std::map<NodeName, NodeState> nodes;
    std::map<WorkloadId, Demand> demands;
    std::set<QueueKey> queue; // of the demands that wait and that nobody asked to stop
    friend bool operator==(const State&, const State&) = default;

    /// Facts come in order, each once; `at` is the record's time.
    void apply(const Fact& fact, Instant at);
    const Demand* demand(const WorkloadId& id) const; // null: over, or not known
    bool waits(const WorkloadId& id) const;
};

} // namespace muster::scheduler
