#include "scheduler/scheduler.hpp"

#include "scheduler/gang_placer.hpp"

#include <algorithm>
#include <ranges>

namespace muster::scheduler {
namespace {

enum class Which { in_service, all };
enum class Fill { as_it_is, empty };

std::vector<Room> rooms_of(const State& state, Which which, Fill fill) {
    std::vector<Room> rooms;
    rooms.reserve(state.nodes.size());
    for (const auto& [name, node] : state.nodes)
        if (which == Which::all || node.accepts_work())
            rooms.push_back({&name, &node, fill == Fill::empty ? &node.devices : &node.free});
    return rooms;
}

std::int64_t devices_in(const std::vector<Room>& rooms) {
    std::int64_t sum = 0;
    for (const auto& room : rooms) sum += std::ssize(*room.devices);
    return sum;
}

/// The devices of an admission leave the free lists while the plan is made, and return with it: the
/// caller's State is as it was.
class Taken {
  public:
    explicit Taken(State& state) : state_(state) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() {
        for (auto& [node, devices] : log_ | std::views::reverse)
            node->free.insert(node->free.begin(), devices.begin(), devices.end());
    }
    void take(const Placement& placement) {
        for (const auto& placed : placement.nodes) {
            NodeState& node = state_.nodes.at(placed.node);
            std::ptrdiff_t devices = 0;
            for (const auto& seat : placed.seats) devices += std::ssize(seat.devices);
            const auto end = node.free.begin() + devices;
            log_.emplace_back(&node, std::vector(node.free.begin(), end));
            node.free.erase(node.free.begin(), end);
        }
    }

  private:
    State& state_;
    std::vector<std::pair<NodeState*, std::vector<std::int64_t>>> log_;
};

Reason shape_reason(const Shape& shape, const RoleName& name, std::int64_t free) {
    const RoleShape* role = shape.role(name);
    const std::int64_t per_node =
        role == nullptr ? 0 : role->devices_per_rank * role->ranks_per_node.value_or(1);
    return {ReasonCode::waiting_for_node_fit, name.text, free, per_node, ""};
}

/// Why a shape would not fit into these nodes if they were empty.
std::optional<Reason> never_fits(const std::vector<Room>& empty, const Shape& shape) {
    if (empty.empty()) return Reason{ReasonCode::no_nodes, "", 0, 1, ""};
    std::int64_t largest = 0;
    std::int64_t helpers = 0;
    for (const auto& room : empty) {
        largest = std::max<std::int64_t>(largest, std::ssize(*room.devices));
        helpers += room.node->helpers;
    }
    const std::int64_t all = devices_in(empty);
    if (const auto need = shape.devices(); need > all)
        return Reason{ReasonCode::larger_than_cluster, "", all, need, ""};
    GangPlacer placer(empty, shape);
    if (placer.place() != Fit::no) return std::nullopt;
    const RoleShape* role = shape.role(placer.misfit());
    if (role != nullptr && role->devices_per_rank == 0)
        return Reason{ReasonCode::too_many_helpers, role->name.text, helpers, role->ranks, ""};
    const Reason shaped = shape_reason(shape, placer.misfit(), largest);
    return Reason{ReasonCode::larger_than_nodes, shaped.subject, largest, shaped.need, ""};
}

/// Why the class has no place now: what is missing, then where it could come from. Empty: it has.
std::vector<Reason> why_class_waits(const State& state, const Shape& shape) {
    const auto rooms = rooms_of(state, Which::in_service, Fill::as_it_is);
    GangPlacer placer(rooms, shape);
    if (placer.place() == Fit::yes) return {};
    const std::int64_t free = devices_in(rooms);
    Reason first = shape_reason(shape, placer.misfit(), free);
    if (rooms.empty())
        first = {ReasonCode::no_nodes, "", 0, 1, ""};
    else if (const auto need = shape.devices(); need > free)
        first = {ReasonCode::waiting_for_devices, "", free, need, ""};
    if (never_fits(rooms_of(state, Which::in_service, Fill::empty), shape))
        if (auto never = never_fits(state, shape); never && never->code != ReasonCode::no_nodes)
            first = std::move(*never);

    std::vector<Reason> reasons{std::move(first)};
    const std::size_t limit = 1 + nodes_named_max;
    const auto add = [&](ReasonCode code, const NodeName& name, std::int64_t devices,
                         const std::string& detail) {
        if (devices > 0 && reasons.size() < limit)
            reasons.push_back({code, name.text, devices, 0, detail});
    };
    for (const auto& [name, node] : state.nodes) {
        if (node.accepts_work()) continue;
        if (node.in_contact && !node.lost)
            add(ReasonCode::cordoned_devices, name, std::ssize(node.devices),
                node.cordons.front().reason);
        else
            add(ReasonCode::silent_devices, name, std::ssize(node.devices), "");
    }
    for (const auto& [name, node] : state.nodes) {
        std::int64_t held = 0;
        for (const auto& [key, holding] : node.holdings)
            if (holding.ended) held += std::ssize(holding.devices);
        add(ReasonCode::held_devices, name, held, "");
    }
    return reasons;
}

} // namespace

std::optional<Reason> never_fits(const State& state, const Shape& shape) {
    return never_fits(rooms_of(state, Which::all, Fill::empty), shape);
}

std::vector<Reason> why_waiting(const State& state, const std::optional<WorkloadId>& blocker,
                                const WorkloadId& id, Instant now) {
    if (!state.waits(id)) return {};
    const Demand& demand = *state.demand(id);
    if (demand.not_before > now) {
        const std::int64_t second = 1'000'000'000;
        const std::int64_t left = (demand.not_before - now).ns;
        return {{ReasonCode::backing_off, "", 0, (left + second - 1) / second, ""}};
    }
    if (blocker && state.waits(*blocker)) {
        const Demand& first = *state.demand(*blocker);
        if (queue_key(*blocker, first) < queue_key(id, demand))
            return {{ReasonCode::behind_in_queue, first.name.text, first.priority, demand.priority,
                     ""}};
    }
    return why_class_waits(state, demand.shape);
}

Plan plan(State& state, Instant now) {
    Plan plan;
    // Rooms point into the State: they follow what is taken.
    const auto rooms = rooms_of(state, Which::in_service, Fill::as_it_is);
    const auto empty = rooms_of(state, Which::in_service, Fill::empty);
    Taken taken(state);
    std::set<Shape> without_place; // more admissions do not make room for these classes
    for (const auto& key : state.queue) {
        const Demand& demand = *state.demand(key.id);
        if (demand.not_before > now) {
            plan.next_at = std::min(plan.next_at, demand.not_before);
            continue;
        }
        if (plan.blocker || without_place.contains(demand.shape)) continue;
        GangPlacer placer(rooms, demand.shape);
        if (placer.place() == Fit::yes) {
            const Reason reason{ReasonCode::fits, "", devices_in(rooms), demand.shape.devices(),
                                ""};
            plan.admissions.push_back({key.id, placer.placement(), reason});
            taken.take(plan.admissions.back().placement);
        } else if (never_fits(empty, demand.shape)) {
            without_place.insert(demand.shape); // as the cluster stands: it holds up nobody
        } else {
            plan.blocker = key.id;
        }
    }
    return plan;
}

} // namespace muster::scheduler
