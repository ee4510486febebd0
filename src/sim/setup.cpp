// What a world of a seed consists of.

#include "sim/world.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

Duration draw(Prng& prng, Duration least, Duration most) {
    return Duration::nanos(prng.between(least.ns, most.ns));
}

std::int64_t room(const std::vector<std::int64_t>& nodes, std::int64_t devices_per_rank) {
    std::int64_t sum = 0;
    for (const auto devices : nodes) sum += devices / devices_per_rank;
    return sum;
}

/// Roles that fit the empty cluster.
std::vector<Role> draw_roles(Prng& prng, const std::vector<std::int64_t>& nodes) {
    Role worker;
    worker.command = {"python3", "train.py"};
    std::int64_t largest = 0;
    for (const auto devices : nodes) largest = std::max(largest, devices);
    if (prng.chance(200)) worker.devices_per_rank = prng.between(1, largest);
    const std::int64_t most = room(nodes, worker.devices_per_rank);
    worker.ranks = prng.between(1, prng.chance(500) ? most : std::min<std::int64_t>(most, 4));
    if (prng.chance(300)) {
        const std::int64_t per_node = prng.between(1, largest / worker.devices_per_rank);
        std::int64_t fit = 0;
        for (const auto devices : nodes)
            if (devices / worker.devices_per_rank >= per_node) ++fit;
        worker.ranks_per_node = per_node;
        worker.ranks = per_node * prng.between(1, fit);
    }
    std::vector<Role> roles{worker};
    if (prng.chance(200)) {
        Role helper;
        helper.name = RoleName{"reader"};
        helper.devices_per_rank = 0;
        helper.ranks = prng.between(1, std::min<std::int64_t>(2, room(nodes, 1)));
        helper.command = {"python3", "read.py"};
        roles.push_back(std::move(helper));
    }
    return roles;
}

JobPlan draw_job(Prng& prng, const WorldSetup& setup, std::size_t number) {
    JobPlan plan;
    plan.spec.name = WorkloadName{fmt::format("job-{}", number)};
    plan.spec.priority = prng.between(0, 100);
    plan.spec.roles = draw_roles(prng, setup.devices);
    plan.spec.stop_grace = draw(prng, Duration{}, Duration::seconds(8));
    if (prng.chance(300)) {
        plan.spec.restarts.per_ten_minutes = prng.between(0, 10);
        plan.spec.restarts.per_day = prng.between(0, 20);
    }
    plan.step_time = draw(prng, Duration::millis(50), Duration::millis(800));
    plan.steps = prng.between(5, 120);
    plan.save_every = prng.between(1, 20);
    plan.import_max = draw(prng, Duration::millis(100), Duration::seconds(3));
    if (prng.chance(100)) plan.epilogue_max = Duration::seconds(20);
    plan.user_error = prng.chance(setup.faults.user_error_per_mille);
    plan.cannot_execute = !plan.user_error && prng.chance(setup.faults.cannot_execute_per_mille);
    plan.peers_hang = prng.chance(100);
    // Roles end on their own: nobody promises to find one that waits for another that has ended.
    if (plan.peers_hang) plan.spec.roles.resize(1);
    plan.submit_at = draw(prng, Duration{}, setup.chaos * 3 / 4);
    if (prng.chance(setup.faults.cancel_per_mille))
        plan.cancel_at = plan.submit_at + draw(prng, Duration{}, Duration::seconds(60));
    return plan;
}

} // namespace

WorldSetup draw_setup(std::uint64_t seed) {
    Prng prng(mix64(seed));
    WorldSetup setup;
    setup.faults = draw_faults(prng);
    setup.chaos = draw(prng, Duration::seconds(30), Duration::seconds(120));
    const std::int64_t nodes = prng.between(1, 5);
    for (std::int64_t i = 0; i < nodes; ++i) setup.devices.push_back(prng.between(1, 4));
    const auto jobs = static_cast<std::size_t>(prng.between(1, 6));
    for (std::size_t i = 0; i < jobs; ++i) setup.jobs.push_back(draw_job(prng, setup, i + 1));
    draw_server_pauses(prng, setup.faults);
    return setup;
}

} // namespace muster::sim
