#include "base/prng.hpp"
#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace muster::scheduler {
namespace {

Inventory machine(std::int64_t devices, std::int64_t cpus = 0) {
    Inventory inventory;
    inventory.cpus = cpus;
    for (std::int64_t d = 0; d < devices; ++d)
        inventory.devices.push_back({d, DeviceKind::slot, "", "", 0});
    return inventory;
}

WorkloadSpec gang(std::int64_t ranks, std::int64_t devices_per_rank = 1,
                  std::optional<std::int64_t> ranks_per_node = {}) {
    WorkloadSpec spec;
    Role role;
    role.ranks = ranks;
    role.devices_per_rank = devices_per_rank;
    role.ranks_per_node = ranks_per_node;
    spec.roles.push_back(role);
    return spec;
}

WorkloadId id_of(std::size_t n) { return WorkloadId{RawId{1, n}}; }

struct Case {
    State state;
    std::map<WorkloadId, WorkloadSpec> specs;

    void node(const std::string& name, std::int64_t devices, std::int64_t cpus = 0) {
        state.apply(NodeJoined{NodeName{name}, 1, "boot", machine(devices, cpus), {}}, Instant{});
        state.nodes.at(NodeName{name}).in_contact = true;
    }
    void cordon(const std::string& name) {
        state.apply(NodeCordoned{NodeName{name},
                                 CordonOwner::admin,
                                 {ReasonCode::cordoned_by_admin, "", 0, 0, "broken"}},
                    Instant{});
    }
    WorkloadId add(WorkloadSpec spec, std::int64_t priority = 50) {
        spec.priority = priority;
        return submit(specs.size() + 1, spec);
    }
    /// The n-th job, submitted at n ns.
    WorkloadId submit(std::size_t n, const WorkloadSpec& spec) {
        const WorkloadName name{"j" + std::to_string(n)};
        specs.emplace(id_of(n), spec);
        state.apply(WorkloadSubmitted{id_of(n), name, spec, "", {}},
                    Instant{static_cast<std::int64_t>(n)});
        return id_of(n);
    }
};

/// A plan, and why those wait that it leaves once it is carried out.
struct Outcome {
    std::vector<Admission> admissions;
    std::map<WorkloadId, std::vector<Reason>> waiting;
    Instant next_at;
};

Outcome decide(State& state, Instant now) {
    const State before = state;
    auto plan = scheduler::plan(state, now);
    EXPECT_EQ(state, before) << "a plan leaves the state as it was";
    State after = state;
    for (const auto& admission : plan.admissions)
        after.apply(WorkloadAdmitted{admission.id, 1, admission.placement, admission.reason}, now);
    Outcome outcome{std::move(plan.admissions), {}, plan.next_at};
    for (const auto& key : after.queue)
        outcome.waiting[key.id] = why_waiting(after, plan.blocker, key.id, now);
    return outcome;
}

TEST(Plan, PriorityThenOrderOfSubmission) {
    Case c;
    c.node("n1", 2);
    const auto first = c.add(gang(1));
    const auto second = c.add(gang(1));
    const auto urgent = c.add(gang(1), 90);
    const auto plan = decide(c.state, Instant{100});
    ASSERT_EQ(plan.admissions.size(), 2U);
    EXPECT_EQ(plan.admissions[0].id, urgent);
    EXPECT_EQ(plan.admissions[1].id, first);
    ASSERT_TRUE(plan.waiting.contains(second));
    EXPECT_EQ(plan.waiting.at(second)[0].code, ReasonCode::waiting_for_devices);
    EXPECT_EQ(plan.waiting.at(second)[0].have, 0);
    EXPECT_EQ(plan.waiting.at(second)[0].need, 1);
}

TEST(Plan, AGangIsPlacedWholeOrNotAtAllAndNobodyOvertakesIt) {
    Case c;
    c.node("n1", 2);
    c.node("n2", 4);
    const auto user = c.add(gang(3));
    Placement three; // of the second node's devices are in use
    three.nodes.push_back({NodeName{"n2"}, 1, {{RoleName{"worker"}, {1, 2, 3}}}});
    c.state.apply(WorkloadAdmitted{user, 1, three, {}}, Instant{50});
    const auto gang_of_four = c.add(gang(4));
    const auto small = c.add(gang(1));
    const auto plan = decide(c.state, Instant{100});
    EXPECT_TRUE(plan.admissions.empty());
    EXPECT_EQ(plan.waiting.at(gang_of_four)[0].code, ReasonCode::waiting_for_devices);
    EXPECT_EQ(plan.waiting.at(small)[0].code, ReasonCode::behind_in_queue);
    EXPECT_EQ(c.state.nodes.at(NodeName{"n1"}).free.size(), 2U);
}

TEST(Plan, WhatCanNeverFitHoldsNobodyUp) {
    Case c;
    c.node("n1", 2);
    c.node("n2", 2);
    const auto too_large = c.add(gang(5));
    const auto too_wide = c.add(gang(3, 1, 3));
    const auto small = c.add(gang(1));
    const auto plan = decide(c.state, Instant{100});
    EXPECT_EQ(plan.waiting.at(too_large)[0].code, ReasonCode::larger_than_cluster);
    EXPECT_EQ(plan.waiting.at(too_wide)[0].code, ReasonCode::larger_than_nodes);
    ASSERT_EQ(plan.admissions.size(), 1U);
    EXPECT_EQ(plan.admissions[0].id, small);
}

TEST(Plan, WhatACordonKeepsAwayIsNotCalledTooLarge) {
    Case c;
    c.node("n1", 2);
    c.node("n2", 2);
    c.cordon("n2");
    const auto waits = c.add(gang(4));
    const auto too_large = c.add(gang(5));
    const auto small = c.add(gang(2));
    const auto plan = decide(c.state, Instant{100});
    EXPECT_EQ(plan.waiting.at(waits)[0].code, ReasonCode::waiting_for_devices);
    EXPECT_EQ(plan.waiting.at(waits)[1].code, ReasonCode::cordoned_devices);
    EXPECT_EQ(plan.waiting.at(too_large)[0].code, ReasonCode::larger_than_cluster);
    EXPECT_EQ(plan.waiting.at(too_large)[0].have, 4); // the cordoned ones count
    ASSERT_EQ(plan.admissions.size(), 1U);
    EXPECT_EQ(plan.admissions[0].id, small);
}

TEST(Plan, ALongListOfBarredNodesIsCutShort) {
    Case c;
    c.node("n1", 2);
    for (int i = 0; i < 100; ++i) {
        c.node("m" + std::to_string(i), 1);
        c.cordon("m" + std::to_string(i));
    }
    const auto waits = c.add(gang(4));
    EXPECT_EQ(decide(c.state, Instant{100}).waiting.at(waits).size(), 1 + nodes_named_max);
}

TEST(Plan, RanksPerNodeIsExactAndTakesTheTightestNodes) {
    Case c;
    c.node("n1", 4);
    c.node("n2", 2);
    c.node("n3", 3);
    c.add(gang(4, 1, 2));
    const auto plan = decide(c.state, Instant{100});
    ASSERT_EQ(plan.admissions.size(), 1U);
    const auto& nodes = plan.admissions[0].placement.nodes;
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].node.text, "n2");
    EXPECT_EQ(nodes[1].node.text, "n3");
    for (const auto& placed : nodes) EXPECT_EQ(placed.seats.size(), 2U);
}

TEST(Plan, SeveralRolesShareNodes) {
    Case c;
    c.node("n1", 2);
    c.node("n2", 2);
    WorkloadSpec spec = gang(3);
    Role helper;
    helper.name = RoleName{"data"};
    helper.ranks = 2;
    helper.devices_per_rank = 0;
    spec.roles.push_back(helper);
    c.add(spec);
    const auto plan = decide(c.state, Instant{100});
    ASSERT_EQ(plan.admissions.size(), 1U);
    std::int64_t workers = 0;
    std::int64_t helpers = 0;
    for (const auto& placed : plan.admissions[0].placement.nodes)
        for (const auto& seat : placed.seats) (seat.devices.empty() ? helpers : workers) += 1;
    EXPECT_EQ(workers, 3);
    EXPECT_EQ(helpers, 2);
}

WorkloadSpec roles(const std::vector<Role>& all) {
    WorkloadSpec spec;
    for (std::size_t r = 0; r < all.size(); ++r) {
        spec.roles.push_back(all[r]);
        spec.roles.back().name = RoleName{"r" + std::to_string(r)};
    }
    return spec;
}
Role role(std::int64_t ranks, std::int64_t devices_per_rank,
          std::optional<std::int64_t> ranks_per_node = {}) {
    return gang(ranks, devices_per_rank, ranks_per_node).roles[0];
}

TEST(Plan, ARoleThatFitsAnywhereLeavesTheLargeNodeToTheOneThatNeedsIt) {
    Case c;
    c.node("n1", 4);
    c.node("n2", 2);
    c.add(roles({role(2, 1), role(4, 1, 4)}));
    const auto plan = decide(c.state, Instant{100});
    ASSERT_EQ(plan.admissions.size(), 1U);
    const auto& nodes = plan.admissions[0].placement.nodes;
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].seats[0].role.text, "r1");
    EXPECT_EQ(nodes[1].seats[0].role.text, "r0");
}

TEST(Plan, HelpersAreBoundByCpusAndTheReasonSaysSo) {
    Case c;
    c.node("n1", 2, 8);
    EXPECT_FALSE(never_fits(c.state, shape_of(roles({role(2, 1), role(8, 0)}))));
    const auto never = never_fits(c.state, shape_of(roles({role(2, 1), role(9, 0)})));
    ASSERT_TRUE(never);
    EXPECT_EQ(never->code, ReasonCode::too_many_helpers);
    EXPECT_EQ(explain(*never), "role r1 has 9 ranks without devices, the nodes take 8 of one job "
                               "(one a CPU or device)");
}

/// The oracle: tries every number of ranks of every role on every node.
bool some_way(std::vector<std::int64_t>& free, const WorkloadSpec& spec, std::size_t r,
              std::size_t n, std::int64_t left) {
    if (r == spec.roles.size()) return true;
    const Role& role = spec.roles[r];
    if (left == 0)
        return some_way(free, spec, r + 1, 0,
                        r + 1 < spec.roles.size() ? spec.roles[r + 1].ranks : 0);
    if (n == free.size()) return false;
    for (std::int64_t k = 0; k <= left && k * role.devices_per_rank <= free[n]; ++k) {
        if (role.ranks_per_node && k != 0 && k != *role.ranks_per_node) continue;
        free[n] -= k * role.devices_per_rank;
        const bool found = some_way(free, spec, r, n + 1, left - k);
        free[n] += k * role.devices_per_rank;
        if (found) return true;
    }
    return false;
}

TEST(Plan, FindsAPlaceForSeveralRolesExactlyWhereThereIsOne) {
    int with = 0;
    int without = 0;
    for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
        Prng prng(seed);
        Case c;
        std::vector<std::int64_t> free;
        for (auto n = prng.between(1, 4); n > 0; --n) {
            free.push_back(prng.between(0, 6));
            c.node("n" + std::to_string(free.size()), free.back());
        }
        std::vector<Role> all;
        for (auto r = prng.between(1, 3); r > 0; --r) {
            const auto per_node = prng.between(1, 3);
            all.push_back(prng.chance(500)
                              ? role(per_node * prng.between(1, 2), prng.between(1, 2), per_node)
                              : role(prng.between(1, 4), prng.between(1, 3)));
        }
        const auto spec = roles(all);
        c.add(spec);
        const auto plan = decide(c.state, Instant{100});
        const bool possible = some_way(free, spec, 0, 0, spec.roles[0].ranks);
        ASSERT_EQ(plan.admissions.size(), possible ? 1U : 0U) << "seed " << seed;
        (possible ? with : without) += 1;
    }
    EXPECT_GT(with, 500);
    EXPECT_GT(without, 500);
}

TEST(Plan, BackOffIsReportedAndBlocksNobody) {
    Case c;
    c.node("n1", 1);
    const auto failed = c.add(gang(1));
    const auto next = c.add(gang(1));
    c.state.apply(WorkloadRequeued{failed, {}, Instant{} + Duration::seconds(10)}, Instant{3});
    const auto plan = decide(c.state, Instant{} + Duration::seconds(4));
    EXPECT_EQ(plan.waiting.at(failed)[0].code, ReasonCode::backing_off);
    EXPECT_EQ(plan.waiting.at(failed)[0].need, 6);
    EXPECT_EQ(plan.next_at, Instant{} + Duration::seconds(10));
    ASSERT_EQ(plan.admissions.size(), 1U);
    EXPECT_EQ(plan.admissions[0].id, next);
}

TEST(Plan, RandomClustersAreNeverOversubscribedAndEveryoneHasAReason) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Prng prng(seed);
        Case c;
        const auto nodes = prng.below(5);
        for (std::uint64_t n = 0; n < nodes; ++n)
            c.node("n" + std::to_string(n), static_cast<std::int64_t>(prng.below(5)));
        const auto jobs = 1 + prng.below(7);
        for (std::uint64_t j = 0; j < jobs; ++j) {
            const std::int64_t per_node = prng.between(1, 3);
            auto spec = prng.chance(300)
                            ? gang(per_node * prng.between(1, 3), prng.between(0, 2), per_node)
                            : gang(prng.between(1, 6), prng.between(0, 2));
            c.add(std::move(spec), prng.between(0, 2) * 50);
        }
        const auto plan = decide(c.state, Instant{1000});
        std::set<std::pair<std::string, std::int64_t>> used;
        for (const auto& admission : plan.admissions) {
            std::int64_t seats = 0;
            const WorkloadSpec* spec = &c.specs.at(admission.id);
            for (const auto& placed : admission.placement.nodes) {
                ASSERT_FALSE(placed.seats.empty());
                if (spec->roles[0].ranks_per_node) {
                    ASSERT_EQ(static_cast<std::int64_t>(placed.seats.size()),
                              *spec->roles[0].ranks_per_node);
                }
                for (const auto& seat : placed.seats) {
                    ++seats;
                    ASSERT_EQ(static_cast<std::int64_t>(seat.devices.size()),
                              spec->roles[0].devices_per_rank);
                    for (const auto device : seat.devices)
                        ASSERT_TRUE(used.insert({placed.node.text, device}).second)
                            << "seed " << seed;
                }
            }
            ASSERT_EQ(seats, total_ranks(*spec)) << "seed " << seed;
        }
        for (const auto& [id, spec] : c.specs) {
            const bool admitted =
                std::ranges::find(plan.admissions, id, &Admission::id) != plan.admissions.end();
            ASSERT_NE(admitted, plan.waiting.contains(id)) << "seed " << seed;
            if (!admitted) {
                ASSERT_FALSE(plan.waiting.at(id).empty()) << "seed " << seed;
            }
        }
        // Equal input in another order gives an equal plan.
        Case other;
        for (auto n = nodes; n > 0; --n) {
            const auto& known = c.state.nodes.at(NodeName{"n" + std::to_string(n - 1)});
            other.node("n" + std::to_string(n - 1), std::ssize(known.devices));
        }
        for (auto n = jobs; n > 0; --n) other.submit(n, c.specs.at(id_of(n)));
        const auto again = decide(other.state, Instant{1000});
        ASSERT_EQ(again.admissions.size(), plan.admissions.size());
        for (std::size_t i = 0; i < again.admissions.size(); ++i) {
            ASSERT_EQ(again.admissions[i].id, plan.admissions[i].id);
            ASSERT_EQ(again.admissions[i].placement, plan.admissions[i].placement);
        }
    }
}

TEST(State, DevicesComeBackWhenTheirNodeReportsThemAndNoSooner) {
    Case c;
    c.node("n1", 2);
    const auto first = c.add(gang(2));
    const auto second = c.add(gang(1));
    auto plan = scheduler::plan(c.state, Instant{100});
    ASSERT_EQ(plan.admissions.size(), 1U);
    c.state.apply(WorkloadAdmitted{first, 1, plan.admissions[0].placement, {}}, Instant{100});
    c.state.apply(AttemptEnded{first, 1, AttemptOutcome::succeeded, {}, {}}, Instant{200});
    c.state.apply(WorkloadFinished{first, WorkloadPhase::succeeded, 0, {}}, Instant{200});
    auto held = decide(c.state, Instant{200});
    EXPECT_TRUE(held.admissions.empty());
    ASSERT_EQ(held.waiting.at(second).size(), 2U);
    EXPECT_EQ(held.waiting.at(second)[1].code, ReasonCode::held_devices);
    EXPECT_EQ(held.waiting.at(second)[1].have, 2);
    c.state.apply(DevicesReleased{first, 1, NodeName{"n1"}, {}}, Instant{300});
    EXPECT_EQ(decide(c.state, Instant{300}).admissions.size(), 1U);
}

TEST(State, ADeviceThatLeftTheInventoryWhileHeldDoesNotComeBack) {
    Case c;
    c.node("n1", 2);
    const auto job = c.add(gang(2));
    const auto plan = scheduler::plan(c.state, Instant{100});
    c.state.apply(WorkloadAdmitted{job, 1, plan.admissions.at(0).placement, {}}, Instant{100});
    c.state.apply(NodeInventoryChanged{NodeName{"n1"}, machine(1)}, Instant{200});
    c.state.apply(DevicesReleased{job, 1, NodeName{"n1"}, {}}, Instant{300});
    EXPECT_EQ(c.state.nodes.at(NodeName{"n1"}).free, std::vector<std::int64_t>{0});
}

TEST(State, WhomSomebodyAskedToStopIsNotPlanned) {
    Case c;
    c.node("n1", 1);
    const auto job = c.add(gang(1));
    c.state.apply(WorkloadStopAsked{job, {}}, Instant{100});
    EXPECT_TRUE(decide(c.state, Instant{200}).admissions.empty());
    EXPECT_TRUE(why_waiting(c.state, {}, job, Instant{200}).empty());
}

} // namespace
} // namespace muster::scheduler
