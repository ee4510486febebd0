#include "sim/chaos.hpp"

#include "sim/world.hpp"

#include <fmt/format.h>

namespace muster::sim {

void Chaos::begin() {
    const Faults& f = world_.faults;
    repeat(f.cut_every, "chaos_cut", &Chaos::cut);
    repeat(f.server_crash_every, "chaos_server", &Chaos::crash_server);
    repeat(f.stall_every, "chaos_stall", &Chaos::stall_disk);
    repeat(f.disk_full_every, "chaos_disk_full", &Chaos::fill_disk);
    repeat(f.server_pause_every, "chaos_server_pause", &Chaos::pause_server);
    repeat(f.power_loss_every, "chaos_power", &Chaos::lose_power);
    repeat(f.agent_crash_every, "chaos_agent", &Chaos::crash_agent);
    repeat(f.launcher_crash_every, "chaos_launcher", &Chaos::crash_launcher);
    repeat(f.agent_pause_every, "chaos_pause", &Chaos::pause_agent);
    repeat(f.launcher_pause_every, "chaos_launcher_pause", &Chaos::pause_launcher);
    repeat(f.rank_fault_every, "chaos_rank", &Chaos::hurt_rank);
    repeat(f.slow_rank_every, "chaos_slow", &Chaos::slow_rank);
    repeat(f.cordon_every, "chaos_cordon", &Chaos::cordon);
}

void Chaos::repeat(Duration every, const char* what, void (Chaos::*strike)()) {
    if (every == Duration{}) return;
    world_.queue.after(world_.draw(Duration::millis(1), every * 2), {what, 0},
                       [this, every, what, strike] {
                           if (world_.healing) return;
                           (this->*strike)();
                           repeat(every, what, strike);
                       });
}

Duration Chaos::up_to(Duration most) { return world_.draw(Duration::millis(1), most); }

void Chaos::cut() {
    const auto machines = static_cast<std::int64_t>(world_.network.machines());
    const MachineId a = world_.prng.between(0, machines - 1);
    const MachineId b = world_.prng.between(0, machines - 1);
    if (a == b) return;
    const Duration until = world_.queue.now() + up_to(world_.faults.cut_max);
    world_.network.cut({a, b}, until);
    if (world_.prng.chance(600)) world_.network.cut({b, a}, until); // else one way only
    if (world_.prng.chance(200))                                    // one machine alone
        for (MachineId other = 0; other < machines; ++other) {
            if (other == a) continue;
            world_.network.cut({a, other}, until);
            world_.network.cut({other, a}, until);
        }
    if (world_.tracing())
        world_.trace("network", fmt::format("cut {} - {} until {} ms", a, b, until.whole_millis()));
}

void Chaos::crash_server() {
    if (!world_.server.up()) return;
    world_.server.crash();
    world_.queue.after(up_to(world_.faults.server_down_max), {"server_start", 0},
                       [this] { world_.server.start(); });
}

void Chaos::stall_disk() {
    world_.server.stall(world_.queue.now() + up_to(world_.faults.stall_max));
}
void Chaos::fill_disk() {
    world_.server.fill_disk(world_.queue.now() + up_to(world_.faults.disk_full_max));
}

void Chaos::pause_server() {
    const auto clock =
        world_.prng.chance(300) ? ServerHost::Clock::stands : ServerHost::Clock::goes;
    world_.server.pause(world_.queue.now() + up_to(world_.faults.server_pause_max), clock);
}

void Chaos::lose_power() {
    Machine& machine = *world_.machines[world_.prng.below(world_.machines.size())];
    if (!machine.on()) return;
    machine.power_off();
    world_.queue.after(up_to(world_.faults.power_down_max), {"power_on", machine.id()},
                       [&machine] { machine.power_on(); });
}

void Chaos::crash_agent() {
    Machine& machine = *world_.machines[world_.prng.below(world_.machines.size())];
    if (machine.agent() == nullptr) return;
    machine.crash_agent();
    world_.queue.after(up_to(world_.faults.agent_down_max), {"agent_start", machine.id()},
                       [&machine] { machine.start_agent(); });
}

LauncherHost* Chaos::any_launcher() {
    std::vector<LauncherHost*> running;
    for (const auto& machine : world_.machines)
        for (const auto& [key, group] : machine->groups())
            if (group.launcher) running.push_back(group.launcher.get());
    return running.empty() ? nullptr : running[world_.prng.below(running.size())];
}

void Chaos::crash_launcher() {
    if (auto* launcher = any_launcher())
        launcher->machine().launcher_ended(launcher->key(), std::nullopt, "killed by signal 9");
}

void Chaos::pause_launcher() {
    if (auto* launcher = any_launcher()) launcher->pause(up_to(world_.faults.launcher_pause_max));
}

void Chaos::pause_agent() {
    Machine& machine = *world_.machines[world_.prng.below(world_.machines.size())];
    if (machine.agent() != nullptr)
        machine.agent()->pause(world_.queue.now() + up_to(world_.faults.pause_max));
}

void Chaos::hurt_rank() {
    std::vector<std::pair<Machine*, std::int64_t>> ranks;
    for (const auto& machine : world_.machines)
        for (const auto& [key, group] : machine->groups())
            for (const auto& process : group.processes)
                if (process.main && !process.stuck) ranks.emplace_back(machine.get(), process.pid);
    if (ranks.empty()) return;
    const auto& [machine, pid] = ranks[world_.prng.below(ranks.size())];
    static constexpr std::int64_t signals[] = {9, 11, 6, 7, 15};
    Machine::End end{.last_line = {}};
    switch (world_.prng.below(4)) {
    case 0: end.exit_code = world_.prng.between(1, 120); break;
    case 1: break; // leaves early with 0
    default: end.signal = signals[world_.prng.below(5)];
    }
    machine->end_rank(pid, end);
}

void Chaos::slow_rank() {
    const auto& gangs = world_.training.gangs();
    if (gangs.empty()) return;
    auto at = gangs.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(world_.prng.below(gangs.size())));
    world_.training.slow_down(at->first, world_.prng.between(2, 20),
                              world_.queue.now() + up_to(Duration::seconds(20)));
}

void Chaos::cordon() {
    const NodeName& node = world_.machines[world_.prng.below(world_.machines.size())]->name();
    if (world_.prng.chance(600))
        world_.people.cordon(node);
    else
        world_.people.uncordon(node);
}

void Chaos::heal() {
    const Duration offset = world_.faults.offset_max;
    world_.faults = Faults{};
    world_.faults.offset_max = offset;
    world_.network.mend();
    if (!world_.server.up()) world_.server.start();
    world_.server.resume();
    for (const auto& machine : world_.machines) {
        if (!machine->on())
            machine->power_on();
        else if (machine->agent() == nullptr)
            machine->start_agent();
        if (machine->agent() != nullptr) machine->agent()->pause(Duration{});
        std::vector<std::int64_t> launchers; // one may leave when it goes on
        for (const auto& [key, group] : machine->groups())
            if (group.launcher) launchers.push_back(group.launcher->pid());
        for (const auto pid : launchers)
            if (auto* launcher = machine->launcher(pid)) launcher->resume();
    }
}

} // namespace muster::sim
