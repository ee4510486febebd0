#include "scheduler/gang_placer.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::scheduler {
namespace {

std::int64_t devices_on_a_node(const RoleShape& role) {
    return role.devices_per_rank * role.ranks_per_node.value_or(1);
}

} // namespace

GangPlacer::GangPlacer(const std::vector<Room>& rooms, const Shape& shape)
    : rooms_(rooms), shape_(shape), ranks_(shape.roles.size(), Counts(rooms_.size())) {
    for (const auto& room : rooms_) free_.push_back(std::ssize(*room.devices));
    for (std::size_t r = 0; r < shape.roles.size(); ++r)
        (shape.roles[r].devices_per_rank == 0 ? helpers_ : order_).push_back(r);
    std::ranges::stable_sort(order_, std::greater{}, [&](std::size_t r) {
        const RoleShape& role = shape.roles[r];
        return std::tuple(devices_on_a_node(role), role.devices_per_rank, role.ranks);
    });
}

Fit GangPlacer::place() {
    if (std::ranges::any_of(helpers_, [&](std::size_t r) { return !place_helpers(r); }))
        return Fit::no;
    if (place_greedily()) return Fit::yes;
    if (order_.size() < 2) return Fit::no;
    const RoleName misfit = misfit_;
    clear();
    if (search(0)) return Fit::yes;
    misfit_ = misfit;
    return steps_ < search_steps_max ? Fit::no : Fit::unknown;
}

Placement GangPlacer::placement() const {
    Placement placement;
    for (std::size_t n = 0; n < rooms_.size(); ++n) {
        const Room& room = rooms_[n];
        std::size_t taken = 0;
        std::vector<Seat> seats;
        for (std::size_t r = 0; r < shape_.roles.size(); ++r)
            for (std::int64_t rank = 0; rank < ranks_[r][n]; ++rank) {
                Seat seat{shape_.roles[r].name, {}};
                for (std::int64_t d = 0; d < shape_.roles[r].devices_per_rank; ++d)
                    seat.devices.push_back((*room.devices)[taken++]);
                seats.push_back(std::move(seat));
            }
        if (!seats.empty())
            placement.nodes.push_back({*room.name, room.node->incarnation, std::move(seats)});
    }
    return placement;
}

std::int64_t GangPlacer::room(std::size_t node, const RoleShape& role) const {
    const std::int64_t ranks = free_[node] / role.devices_per_rank;
    if (!role.ranks_per_node) return ranks;
    return ranks >= *role.ranks_per_node ? *role.ranks_per_node : 0;
}

void GangPlacer::put(std::size_t node, std::size_t role, std::int64_t ranks) {
    ranks_[role][node] += ranks;
    free_[node] -= ranks * shape_.roles[role].devices_per_rank;
}

void GangPlacer::clear() {
    for (const auto r : order_)
        for (std::size_t n = 0; n < free_.size(); ++n) put(n, r, -ranks_[r][n]);
}

bool GangPlacer::place_greedily() {
    return std::ranges::all_of(order_, [&](std::size_t r) { return place_role(r); });
}

bool GangPlacer::place_role(std::size_t r) {
    const RoleShape& role = shape_.roles[r];
    std::int64_t left = role.ranks;
    for (const auto n : nodes_by_room(role)) {
        const auto ranks = std::min(left, room(n, role));
        put(n, r, ranks);
        left -= ranks;
    }
    if (left > 0) misfit_ = role.name;
    return left == 0;
}

/// Nodes with more room first, so that a gang spans few nodes; equals by name. Where each node
/// takes a fixed number anyhow, the tightest first: the larger holes stay for others.
std::vector<std::size_t> GangPlacer::nodes_by_room(const RoleShape& role) const {
    std::vector<std::size_t> nodes;
    for (std::size_t n = 0; n < free_.size(); ++n)
        if (room(n, role) > 0) nodes.push_back(n);
    std::ranges::stable_sort(
        nodes, {}, [&](std::size_t n) { return role.ranks_per_node ? free_[n] : -room(n, role); });
    return nodes;
}

/// Helpers need no device: they go where the gang is not crowded, the emptiest nodes first.
bool GangPlacer::place_helpers(std::size_t r) {
    const RoleShape& role = shape_.roles[r];
    const auto seats = [&](std::size_t n) {
        std::int64_t taken = 0;
        for (const auto helper : helpers_) taken += ranks_[helper][n];
        const std::int64_t left = std::max<std::int64_t>(0, rooms_[n].node->helpers - taken);
        if (!role.ranks_per_node) return left;
        return left >= *role.ranks_per_node ? *role.ranks_per_node : 0;
    };
    std::vector<std::size_t> nodes(rooms_.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
    std::ranges::stable_sort(nodes, std::greater{}, seats);
    std::int64_t left = role.ranks;
    for (const auto n : nodes) {
        const auto ranks = std::min(left, seats(n));
        put(n, r, ranks);
        left -= ranks;
    }
    if (left > 0) misfit_ = role.name;
    return left == 0;
}

/// Places the roles from `level` on; leaves things as they were where there is no way.
bool GangPlacer::search(std::size_t level) {
    if (level == order_.size()) return true;
    std::vector<std::size_t> nodes(free_.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
    std::ranges::stable_sort(nodes, std::greater{}, [&](std::size_t n) { return free_[n]; });
    const Counts before = free_;
    return search_node(level, nodes, before, 0, shape_.roles[order_[level]].ranks);
}

bool GangPlacer::search_node(std::size_t level, const std::vector<std::size_t>& nodes,
                             const Counts& before, std::size_t at, std::int64_t left) {
    if (++steps_ >= search_steps_max) return false;
    if (left == 0) return search(level + 1);
    const std::size_t r = order_[level];
    const RoleShape& role = shape_.roles[r];
    std::int64_t possible = 0;
    for (std::size_t i = at; i < nodes.size() && possible < left; ++i)
        possible += room(nodes[i], role);
    if (possible < left) return false;
    const std::size_t n = nodes[at];
    std::int64_t ranks = std::min(left, room(n, role));
    // Of nodes that are alike, an earlier one takes as many as a later one, or more.
    if (at > 0 && before[nodes[at - 1]] == before[n])
        ranks = std::min(ranks, ranks_[r][nodes[at - 1]]);
    const std::int64_t step = role.ranks_per_node.value_or(1);
    for (; ranks >= 0; ranks -= step) {
        put(n, r, ranks);
        if (search_node(level, nodes, before, at + 1, left - ranks)) return true;
        put(n, r, -ranks);
        if (steps_ >= search_steps_max) return false;
    }
    return false;
}

} // namespace muster::scheduler
