#include "scheduler/state.hpp"

#include <algorithm>
#include <tuple>

namespace muster::scheduler {
namespace {

struct Applier {
    State& state;
    Instant at;

    /// Facts of workloads that are over may still come (a release); those change no demand.
    template <class F>
    void change(const WorkloadId& id, F how) const {
        const auto found = state.demands.find(id);
        if (found == state.demands.end()) return;
        Demand& demand = found->second;
        state.queue.erase(queue_key(id, demand));
        how(demand);
        if (demand.queued && !demand.stop_asked) state.queue.insert(queue_key(id, demand));
    }

    template <class Other>
    void operator()(const Other&) const {} // no concern of a placement

    void operator()(const NodeJoined& fact) const {
        NodeState& node = state.nodes[fact.node];
        node.incarnation = fact.incarnation;
        node.lost = false;
        node.holdings.clear(); // a boot frees all that the one before held
        node.set_inventory(fact.inventory);
    }
    void operator()(const NodeInventoryChanged& fact) const {
        state.nodes[fact.node].set_inventory(fact.inventory);
    }
    void operator()(const NodeLost& fact) const { state.nodes[fact.node].lost = true; }
    void operator()(const NodeBack& fact) const { state.nodes[fact.node].lost = false; }
    void operator()(const NodeCordoned& fact) const {
        lift(fact.node, fact.owner);
        state.nodes[fact.node].cordons.push_back({fact.owner, fact.reason.detail, at});
    }
    void operator()(const NodeUncordoned& fact) const { lift(fact.node, fact.owner); }
    void lift(const NodeName& node, CordonOwner owner) const {
        std::erase_if(state.nodes[node].cordons, [&](const Cordon& c) { return c.owner == owner; });
    }

    void operator()(const WorkloadSubmitted& fact) const {
        Demand demand;
        demand.name = fact.name;
        demand.priority = fact.spec.priority;
        demand.submitted_at = at;
        demand.shape = shape_of(fact.spec);
        state.queue.insert(queue_key(fact.id, demand));
        state.demands.emplace(fact.id, std::move(demand));
    }
    void operator()(const WorkloadAdmitted& fact) const {
        change(fact.id, [&](Demand& demand) {
            demand.queued = false;
            for (const auto& placed : fact.placement.nodes) {
                demand.placed_on.push_back(placed.node);
                hold({fact.id, fact.attempt}, placed);
            }
        });
    }
    void hold(const AttemptKey& key, const PlacedNode& placed) const {
        Holding holding;
        for (const auto& seat : placed.seats)
            holding.devices.insert(holding.devices.end(), seat.devices.begin(), seat.devices.end());
        if (holding.devices.empty()) return;
        std::ranges::sort(holding.devices);
        NodeState& node = state.nodes[placed.node];
        node.holdings.emplace(key, std::move(holding));
        node.find_free();
    }
    void operator()(const WorkloadStopAsked& fact) const {
        change(fact.id, [](Demand& demand) { demand.stop_asked = true; });
    }
    void operator()(const AttemptEnded& fact) const {
        change(fact.id, [&](Demand& demand) {
            for (const auto& name : demand.placed_on) {
                auto& holdings = state.nodes[name].holdings;
                const auto held = holdings.find({fact.id, fact.attempt});
                if (held != holdings.end()) held->second.ended = true;
            }
            demand.placed_on.clear();
        });
    }
    void operator()(const DevicesReleased& fact) const {
        NodeState& node = state.nodes[fact.node];
        node.holdings.erase({fact.id, fact.attempt});
        node.find_free();
    }
    void operator()(const WorkloadRequeued& fact) const {
        change(fact.id, [&](Demand& demand) {
            demand.queued = true;
            demand.not_before = fact.not_before;
        });
    }
    void operator()(const WorkloadFinished& fact) const {
        change(fact.id, [](Demand& demand) { demand.queued = false; });
        state.demands.erase(fact.id);
    }
};

} // namespace

std::int64_t Shape::devices() const {
    std::int64_t sum = 0;
    for (const auto& role : roles) sum += role.ranks * role.devices_per_rank;
    return sum;
}

const RoleShape* Shape::role(const RoleName& name) const {
    const auto found = std::ranges::find(roles, name, &RoleShape::name);
    return found == roles.end() ? nullptr : &*found;
}

Shape shape_of(const WorkloadSpec& spec) {
    Shape shape;
    for (const auto& role : spec.roles)
        shape.roles.push_back({role.name, role.ranks, role.ranks_per_node, role.devices_per_rank});
    return shape;
}

void NodeState::set_inventory(const Inventory& inventory) {
    devices.clear();
    for (const auto& device : inventory.devices) devices.push_back(device.index);
    std::ranges::sort(devices);
    helpers = std::max<std::int64_t>({1, std::ssize(devices), inventory.cpus});
    find_free();
}

void NodeState::find_free() {
    std::vector<std::int64_t> held;
    for (const auto& [key, holding] : holdings)
        held.insert(held.end(), holding.devices.begin(), holding.devices.end());
    std::ranges::sort(held);
    free.clear();
    std::ranges::set_difference(devices, held, std::back_inserter(free));
}

bool operator==(const NodeState& a, const NodeState& b) {
    const auto facts = [](const NodeState& n) {
        return std::tie(n.incarnation, n.lost, n.cordons, n.devices, n.free, n.helpers, n.holdings);
    };
    return facts(a) == facts(b);
}

QueueKey queue_key(const WorkloadId& id, const Demand& demand) {
    return {demand.priority, demand.submitted_at, id};
}

bool operator<(const QueueKey& a, const QueueKey& b) {
    return std::tie(b.priority, a.submitted_at, a.id) < std::tie(a.priority, b.submitted_at, b.id);
}

void State::apply(const Fact& fact, Instant at) { std::visit(Applier{*this, at}, fact); }

const Demand* State::demand(const WorkloadId& id) const {
    const auto found = demands.find(id);
    return found == demands.end() ? nullptr : &found->second;
}

bool State::waits(const WorkloadId& id) const {
    const auto* known = demand(id);
    return known != nullptr && queue.contains(queue_key(id, *known));
}

} // namespace muster::scheduler
