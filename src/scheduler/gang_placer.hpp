#pragma once
// GangPlacer: finds seats for all ranks of one gang on free devices, or proves that there are none.
// Internal to scheduler/. One object, one gang, one place().
//
// A role alone is decided exactly by counting. Several roles compete for nodes: the most
// constrained goes first, and where that fails a bounded search tries the other ways.

#include "scheduler/state.hpp"

namespace muster::scheduler {

/// Steps of the search for one gang. Small clusters are searched to the end well below it.
inline constexpr std::int64_t search_steps_max = 10'000;

enum class Fit {
    yes,
    no,      // proven: no way exists
    unknown, // the search was given up
};

/// A node as the placer sees it. Points into the State, valid while the placer is used.
struct Room {
    const NodeName* name = nullptr;
    const NodeState* node = nullptr;
    const std::vector<std::int64_t>* devices = nullptr; // that may be taken, ascending
};

class GangPlacer {
  public:
    GangPlacer(const std::vector<Room>& rooms, const Shape& shape);

    Fit place();
    /// After a place() that did not say yes: the role that found no room first.
    const RoleName& misfit() const { return misfit_; }
    /// After a yes: the seats, devices taken from the front of each room's list.
    Placement placement() const;

  private:
    using Counts = std::vector<std::int64_t>; // by node

    std::int64_t room(std::size_t node, const RoleShape& role) const;
    bool place_greedily();
    bool place_role(std::size_t role);
    bool place_helpers(std::size_t role);
    std::vector<std::size_t> nodes_by_room(const RoleShape& role) const;
    void put(std::size_t node, std::size_t role, std::int64_t ranks);
    void clear();

    bool search(std::size_t level);
    bool search_node(std::size_t level, const std::vector<std::size_t>& nodes, const Counts& before,
                     std::size_t at, std::int64_t left);

    const std::vector<Room>& rooms_;
    const Shape& shape_;
    std::vector<std::size_t> order_;   // roles with devices, the most constrained first
    std::vector<std::size_t> helpers_; // roles without
    Counts free_;                      // devices left by node
    std::vector<Counts> ranks_;        // by role, by node
    RoleName misfit_;
    std::int64_t steps_ = 0;
};

} // namespace muster::scheduler
