#include "scheduler/scheduler.hpp"

#include "scheduler/gang_placer.hpp"

#include <algorithm>
#include <optional>
#include <ranges>

namespace muster::scheduler {
namespace {

struct Counts {
    std::int64_t free = 0;
    std::int64_t all = 0;
};

Counts count(const State& state) {
    Counts counts;
    for (const auto& node : state.nodes) {
        counts.free += static_cast<std::int64_t>(node.free.size());
        counts.all += node.devices;
    }
    return counts;
}

/// The devices of an admission leave the free lists while the plan is made, and return with it: the
/// caller's State is as it was.
class Taken {
  public:
    explicit Taken(State& state) : state_(state) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() {
        for (auto& [node, devices] : log_ | std::views::reverse) {
            auto& free = state_.nodes[node].free;
            free.insert(free.begin(), devices.begin(), devices.end());
        }
    }
    void take(const Placement& placement) {
        for (const auto& placed : placement.nodes) {
            const auto node =
                std::ranges::lower_bound(state_.nodes, placed.node, {}, &NodeState::name);
            std::ptrdiff_t devices = 0;
            for (const auto& seat : placed.seats) devices += std::ssize(seat.devices);
            const auto end = node->free.begin() + devices;
            log_.emplace_back(node - state_.nodes.begin(), std::vector(node->free.begin(), end));
            node->free.erase(node->free.begin(), end);
        }
    }

  private:
    State& state_;
    std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> log_;
};

const Role* role_named(const WorkloadSpec& spec, const RoleName& name) {
    for (const auto& role : spec.roles)
        if (role.name == name) return &role;
    return nullptr;
}

Reason shape_reason(const WorkloadSpec& spec, const RoleName& name, std::int64_t free) {
    const Role* role = role_named(spec, name);
    const std::int64_t per_node =
        role == nullptr ? 0 : role->devices_per_rank * role->ranks_per_node.value_or(1);
    return {ReasonCode::waiting_for_node_fit, name.text, free, per_node, ""};
}

/// Why a gang does not fit into what is free now.
Reason shortage(const State& state, const Pending& pending, const RoleName& role) {
    const Counts counts = count(state);
    const std::int64_t need = total_devices(*pending.spec);
    if (state.nodes.empty()) return {ReasonCode::no_nodes, "", 0, 1, ""};
    if (need > counts.free) return {ReasonCode::waiting_for_devices, "", counts.free, need, ""};
    return shape_reason(*pending.spec, role, counts.free);
}

/// All reasons for which a gang does not fit now: what is missing, then where it could come from.
std::vector<Reason> why_not(const State& state, Reason first) {
    std::vector<Reason> reasons{std::move(first)};
    const std::size_t limit = 1 + nodes_named_max;
    for (const auto& barred : state.barred)
        if (reasons.size() < limit && barred.node.devices > 0) reasons.push_back(barred.reason);
    for (const auto& [node, devices] : state.held)
        if (reasons.size() < limit)
            reasons.push_back({ReasonCode::held_devices, node.text, devices, 0, ""});
    return reasons;
}

/// The nodes that take work and those that could again.
std::vector<NodeState> with_barred(const State& state) {
    std::vector<NodeState> all = state.nodes;
    for (const auto& barred : state.barred) all.push_back(barred.node);
    return all;
}

} // namespace

std::optional<Reason> never_fits(const std::vector<NodeState>& nodes, const WorkloadSpec& spec) {
    if (nodes.empty()) return Reason{ReasonCode::no_nodes, "", 0, 1, ""};
    State empty;
    std::int64_t all = 0;
    std::int64_t largest = 0;
    std::int64_t helpers = 0;
    for (const auto& node : nodes) {
        auto& whole = empty.nodes.emplace_back(
            NodeState{node.name, node.incarnation, {}, node.devices, node.helpers});
        for (std::int64_t d = 0; d < node.devices; ++d) whole.free.push_back(d);
        all += node.devices;
        largest = std::max(largest, node.devices);
        helpers += node.helpers;
    }
    if (const auto need = total_devices(spec); need > all)
        return Reason{ReasonCode::larger_than_cluster, "", all, need, ""};
    GangPlacer placer(empty, spec);
    if (placer.place() != Fit::no) return std::nullopt;
    const Role* role = role_named(spec, placer.misfit());
    if (role != nullptr && role->devices_per_rank == 0)
        return Reason{ReasonCode::too_many_helpers, role->name.text, helpers, role->ranks, ""};
    const Reason shape = shape_reason(spec, placer.misfit(), largest);
    return Reason{ReasonCode::larger_than_nodes, shape.subject, largest, shape.need, ""};
}

Plan plan(State& state, Instant now) {
    std::vector<const Pending*> order;
    for (const auto& pending : state.pending) order.push_back(&pending);
    std::sort(order.begin(), order.end(), [](const Pending* a, const Pending* b) {
        if (a->priority != b->priority) return a->priority > b->priority;
        if (a->submitted_at != b->submitted_at) return a->submitted_at < b->submitted_at;
        return a->id < b->id;
    });

    Plan plan;
    Taken taken(state);
    const Pending* blocker = nullptr; // the first that waits for devices: nobody overtakes it
    for (const auto* pending : order) {
        if (pending->not_before > now) {
            const auto whole = [](Duration d) { return (d.ns + 999'999'999) / 1'000'000'000; };
            plan.waiting[pending->id].push_back(
                {ReasonCode::backing_off, "", 0, whole(pending->not_before - now), ""});
            plan.next_at = std::min(plan.next_at, pending->not_before);
            continue;
        }
        if (blocker != nullptr) {
            plan.waiting[pending->id].push_back({ReasonCode::behind_in_queue, blocker->name.text,
                                                 blocker->priority, pending->priority, ""});
            continue;
        }
        GangPlacer placer(state, *pending->spec);
        if (placer.place() != Fit::yes) {
            // What can never fit as the cluster stands does not hold up the others.
            auto reason = shortage(state, *pending, placer.misfit());
            if (never_fits(state.nodes, *pending->spec)) {
                if (auto never = never_fits(with_barred(state), *pending->spec);
                    never && never->code != ReasonCode::no_nodes)
                    reason = std::move(*never);
            } else {
                blocker = pending;
            }
            plan.waiting[pending->id] = why_not(state, std::move(reason));
            continue;
        }
        const Reason reason{ReasonCode::fits, "", count(state).free, total_devices(*pending->spec),
                            ""};
        plan.admissions.push_back({pending->id, placer.placement(), reason});
        taken.take(plan.admissions.back().placement);
    }
    return plan;
}

} // namespace muster::scheduler
