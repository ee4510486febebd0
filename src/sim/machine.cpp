#include "sim/machine.hpp"

#include "sim/world.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration reap_max = Duration::millis(3); // from a rank's end to its launcher's knowledge
constexpr Duration agent_start_max = Duration::seconds(3); // from power to the agent
constexpr Duration notice_max =
    Duration::millis(5); // from a launcher's end to its agent's knowledge

} // namespace

std::int64_t Group::alive(Generation generation) const {
    return std::ranges::count_if(processes, [&](const RankProcess& p) {
        return p.alive() && (generation == 0 || p.generation == generation);
    });
}

Machine::Machine(World& world, MachineId id, std::int64_t devices) : world_(world), id_(id) {
    name_ = NodeName{fmt::format("n{}", id)};
    inventory_.hostname = name_.text;
    inventory_.address = fmt::format("10.0.0.{}", id);
    inventory_.cpus = 8;
    inventory_.memory_bytes = 1 << 30;
    inventory_.version = "sim";
    for (std::int64_t i = 0; i < devices; ++i)
        inventory_.devices.push_back({.index = i, .uuid = {}, .product = {}});
    clock.offset = world.draw(Duration{} - world.faults.offset_max, world.faults.offset_max);
    clock.drift_ppm = world.prng.between(-world.faults.drift_ppm_max, world.faults.drift_ppm_max);
}

std::string Machine::boot_id() const { return fmt::format("boot-{}-{}", id_, boot_); }
Instant Machine::now() { return clock.read(world_.queue.now()); }

void Machine::power_on() {
    if (on_) return;
    on_ = true;
    ++boot_;
    agent_ledger = {};
    if (world_.tracing()) world_.trace(name_.text, fmt::format("power on, boot {}", boot_));
    const std::int64_t boot = boot_;
    world_.queue.after(world_.draw(Duration::millis(1), agent_start_max), {"agent_start", id_},
                       [this, boot] {
                           if (on_ && boot_ == boot) start_agent();
                       });
}

void Machine::power_off() {
    if (!on_) return;
    if (world_.tracing()) world_.trace(name_.text, "power lost");
    on_ = false;
    if (agent_) world_.bury(std::move(agent_));
    for (auto& [key, group] : groups_) {
        for (auto& process : group.processes) {
            const bool was = process.main;
            process.main = false;
            process.child = false;
            if (was) world_.training.ended(process, false);
        }
        if (group.launcher) world_.bury(std::move(group.launcher));
    }
    groups_.clear();
}

void Machine::start_agent() {
    if (!on_ || agent_) return;
    if (world_.planted(Plant::agent_forgets)) agent_ledger = {};
    agent_ = std::make_unique<AgentHost>(world_, *this, world_.next_pid());
    if (world_.tracing()) world_.trace(name_.text, "agent starts");
    agent_->begin();
}

void Machine::crash_agent() {
    if (!agent_) return;
    if (world_.tracing()) world_.trace(name_.text, "agent killed");
    world_.bury(std::move(agent_));
}

Group* Machine::group(const AttemptKey& key) {
    const auto at = groups_.find(key);
    return at == groups_.end() ? nullptr : &at->second;
}

LauncherHost* Machine::launcher(std::int64_t pid) {
    for (auto& [key, group] : groups_)
        if (group.launcher && group.launcher_pid == pid) return group.launcher.get();
    return nullptr;
}

RankProcess* Machine::process(std::int64_t pid) {
    for (auto& [key, group] : groups_)
        for (auto& process : group.processes)
            if (process.pid == pid) return &process;
    return nullptr;
}

std::int64_t Machine::start_launcher(const AttemptOrder& order, Incarnation incarnation) {
    const AttemptKey key{order.workload, order.attempt};
    Group& group = groups_[key];
    world_.checks.launcher_starts(*this, order, incarnation, group);
    const std::int64_t pid = world_.next_pid();
    launch::LaunchConfig config;
    config.installation = world_.installation;
    config.incarnation = incarnation;
    config.order = order;
    config.address = inventory_.address;
    config.endpoint = fmt::format("{}:{}", inventory_.address, pid);
    if (group.launcher) world_.bury(std::move(group.launcher));
    group.launcher = std::make_unique<LauncherHost>(world_, *this, pid, std::move(config));
    group.launcher_pid = pid;
    group.result.reset();
    group.launcher_error.clear();
    group.launcher->begin();
    return pid;
}

void Machine::launcher_ended(const AttemptKey& key, std::optional<LauncherResult> result,
                             std::string error) {
    Group* group = this->group(key);
    if (group == nullptr || !group->launcher) return;
    if (world_.tracing())
        world_.trace(name_.text,
                     fmt::format("launcher of {}.{} ended: {}", to_short_text(key.workload),
                                 key.attempt, error.empty() ? "leaves" : error));
    group->result = std::move(result);
    group->launcher_error = std::move(error);
    const std::int64_t pid = group->launcher_pid;
    group->launcher->closing();
    world_.bury(std::move(group->launcher));
    if (!agent_) return;
    world_.queue.after(
        world_.draw(Duration::micros(100), notice_max), {"launcher_gone", id_},
        [this, key, pid, agent = agent_->pid()] {
            Group* now = this->group(key);
            if (!agent_ || agent_->pid() != agent || now == nullptr || now->launcher_pid != pid)
                return;
            agent_->deliver(agent::LauncherGone{key, now->result, now->launcher_error});
        });
}

RankProcess& Machine::spawn(const AttemptKey& key, RankProcess process) {
    process.started = world_.queue.now();
    process.ignores_term = world_.prng.chance(world_.faults.term_ignored_per_mille);
    process.leaves_child = world_.prng.chance(world_.faults.child_survives_per_mille);
    world_.checks.rank_spawns(*this, process);
    Group& group = groups_[key];
    std::erase_if(group.processes, [](const RankProcess& p) { return !p.alive(); });
    group.processes.push_back(std::move(process));
    return group.processes.back();
}

void Machine::end_rank(std::int64_t pid, const End& end) {
    RankProcess* process = this->process(pid);
    if (process == nullptr || !process->main) return;
    process->child = process->leaves_child && end.signal != 15;
    die(groups_.at(process->key), *process, end);
}

void Machine::die(Group& group, RankProcess& process, const End& end) {
    process.main = false;
    process.stuck = false;
    RankExit exit;
    exit.local_rank = process.local_rank;
    exit.exit_code = end.exit_code;
    exit.signal = end.signal;
    exit.cannot_execute = end.cannot_execute;
    if (end.cannot_execute) exit.start_error = end.last_line;
    exit.at = clock.at(world_.queue.now());
    exit.lived = world_.queue.now() - process.started;
    if (!end.last_line.empty()) exit.last_lines.push_back(end.last_line);
    if (world_.tracing())
        world_.trace(name_.text,
                     fmt::format("rank {} of {}.{} generation {} ended: code {} signal {}",
                                 process.rank, to_short_text(process.key.workload),
                                 process.key.attempt, process.generation, end.exit_code,
                                 end.signal));
    const RankProcess copy = process;
    if (group.launcher && group.launcher_pid == process.launcher_pid)
        world_.queue.after(world_.draw(Duration::micros(50), reap_max), {"rank_exit", id_},
                           [this, exit, copy] {
                               if (auto* launcher = this->launcher(copy.launcher_pid))
                                   launcher->rank_ended(copy.generation, exit);
                           });
    world_.training.ended(copy, end.exit_code == 0 && end.signal == 0);
}

void Machine::terminate(const AttemptKey& key, Generation generation) {
    Group* group = this->group(key);
    if (group == nullptr) return;
    std::vector<std::int64_t> pids;
    for (const auto& p : group->processes)
        if (p.main && p.generation == generation && !p.ignores_term) pids.push_back(p.pid);
    for (const auto pid : pids)
        world_.queue.after(world_.draw(Duration::millis(1), Duration::millis(300)), {"term", id_},
                           [this, pid] { end_rank(pid, {.signal = 15, .last_line = {}}); });
}

void Machine::kill(const AttemptKey& key, Generation generation) {
    Group* group = this->group(key);
    if (group == nullptr) return;
    if (generation == 0 && group->launcher) launcher_ended(key, std::nullopt, "killed by signal 9");
    for (auto& process : group->processes) {
        if (!process.alive() || process.killed ||
            (generation != 0 && process.generation != generation))
            continue;
        process.killed = true;
        process.child = false;
        if (!process.main) continue;
        if (!world_.prng.chance(world_.faults.stuck_per_mille)) {
            die(*group, process, {.signal = 9, .last_line = {}});
            continue;
        }
        process.stuck = true;
        world_.queue.after(world_.draw(Duration::millis(500), world_.faults.stuck_max),
                           {"unstuck", id_}, [this, pid = process.pid] {
                               RankProcess* p = this->process(pid);
                               if (p != nullptr && p->main)
                                   die(groups_.at(p->key), *p, {.signal = 9, .last_line = {}});
                           });
    }
}

} // namespace muster::sim
