#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <optional>

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

/// Seats taken on one node while a gang is being placed.
struct Taken {
    std::size_t devices = 0; // from the front of the node's free list
    std::vector<Seat> seats;
};

class GangPlacer {
  public:
    GangPlacer(State& state, const Pending& pending) : state_(state), pending_(pending) {
        taken_.resize(state.nodes.size());
    }

    /// Places every role, or names the first role that does not fit.
    std::optional<RoleName> place() {
        for (const auto& role : pending_.spec->roles)
            if (!place_role(role)) return role.name;
        return std::nullopt;
    }

    Placement commit() {
        Placement placement;
        for (std::size_t i = 0; i < taken_.size(); ++i) {
            if (taken_[i].seats.empty()) continue;
            auto& node = state_.nodes[i];
            node.free.erase(node.free.begin(),
                            node.free.begin() + static_cast<std::ptrdiff_t>(taken_[i].devices));
            placement.nodes.push_back({node.name, node.incarnation, std::move(taken_[i].seats)});
        }
        return placement;
    }

  private:
    std::int64_t free_on(std::size_t i) const {
        return static_cast<std::int64_t>(state_.nodes[i].free.size() - taken_[i].devices);
    }

    std::int64_t room_on(std::size_t i, const Role& role) const {
        // A role without devices is a helper: a node takes as many as it has devices, at least one.
        if (role.devices_per_rank == 0) {
            std::int64_t helpers = 0;
            for (const auto& seat : taken_[i].seats) helpers += seat.devices.empty() ? 1 : 0;
            return std::max<std::int64_t>(0, std::max<std::int64_t>(1, state_.nodes[i].devices) -
                                                 helpers);
        }
        return free_on(i) / role.devices_per_rank;
    }

    void seat(std::size_t i, const Role& role, std::int64_t ranks) {
        for (std::int64_t r = 0; r < ranks; ++r) {
            Seat seat{role.name, {}};
            for (std::int64_t d = 0; d < role.devices_per_rank; ++d)
                seat.devices.push_back(state_.nodes[i].free[taken_[i].devices++]);
            taken_[i].seats.push_back(std::move(seat));
        }
    }

    /// Nodes with more room first, so that a gang spans few nodes; equals by name.
    std::vector<std::size_t> nodes_by_room(const Role& role) const {
        std::vector<std::pair<std::int64_t, std::size_t>> rooms;
        for (std::size_t i = 0; i < state_.nodes.size(); ++i)
            if (const auto room = room_on(i, role); room > 0) rooms.push_back({-room, i});
        std::sort(rooms.begin(), rooms.end());
        std::vector<std::size_t> order;
        for (const auto& [room, i] : rooms) order.push_back(i);
        return order;
    }

    bool place_role(const Role& role) {
        std::int64_t left = role.ranks;
        if (role.ranks_per_node) {
            // Whole nodes' worth only: best fit keeps the larger holes for others.
            auto order = nodes_by_room(role);
            std::reverse(order.begin(), order.end());
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return room_on(a, role) < room_on(b, role);
            });
            for (const auto i : order) {
                if (left == 0) break;
                if (room_on(i, role) < *role.ranks_per_node) continue;
                seat(i, role, *role.ranks_per_node);
                left -= *role.ranks_per_node;
            }
            return left == 0;
        }
        for (const auto i : nodes_by_room(role)) {
            if (left == 0) break;
            const auto ranks = std::min(left, room_on(i, role));
            seat(i, role, ranks);
            left -= ranks;
        }
        return left == 0;
    }

    State& state_;
    const Pending& pending_;
    std::vector<Taken> taken_;
};

const Role* role_named(const WorkloadSpec& spec, const RoleName& name) {
    for (const auto& role : spec.roles)
        if (role.name == name) return &role;
    return nullptr;
}

Reason shape_reason(const Pending& pending, const RoleName& name, std::int64_t free) {
    const Role* role = role_named(*pending.spec, name);
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
    return shape_reason(pending, role, counts.free);
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
    for (auto node : nodes) {
        node.free.clear();
        for (std::int64_t d = 0; d < node.devices; ++d) node.free.push_back(d);
        all += node.devices;
        largest = std::max(largest, node.devices);
        empty.nodes.push_back(std::move(node));
    }
    if (const auto need = total_devices(spec); need > all)
        return Reason{ReasonCode::larger_than_cluster, "", all, need, ""};
    Pending pending;
    pending.spec = &spec;
    GangPlacer placer(empty, pending);
    const auto role = placer.place();
    if (!role) return std::nullopt;
    const Reason shape = shape_reason(pending, *role, largest);
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
        GangPlacer placer(state, *pending);
        const std::int64_t free = count(state).free;
        if (const auto role = placer.place()) {
            // What can never fit as the cluster stands does not hold up the others.
            auto reason = shortage(state, *pending, *role);
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
        plan.admissions.push_back(
            {pending->id,
             placer.commit(),
             {ReasonCode::fits, "", free, total_devices(*pending->spec), ""}});
    }
    return plan;
}

} // namespace muster::scheduler
