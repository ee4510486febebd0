#include "sim/training.hpp"

#include "sim/world.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration peers_notice_min = Duration::millis(5); // a collective fails after a peer's end
constexpr Duration peers_notice_max = Duration::seconds(2);
constexpr Duration cut_retry = Duration::seconds(1); // a step waits while its members cannot talk
/// A rank that waits to meet its gang gives up then; later than the lead's limit of early exits.
constexpr Duration meeting_limit = Duration::minutes(15);
constexpr Duration user_error_max = Duration::millis(800);

} // namespace

void Training::started(MachineId machine, const RankProcess& process, const JobPlan& plan,
                       std::int64_t ranks) {
    const GangKey key{process.key, process.term, process.generation};
    Gang& gang = gangs_[key];
    gang.plan = &plan;
    gang.ranks = ranks;
    gang.members.emplace_back(machine, process.pid);
    if (plan.user_error) {
        world_.queue.after(world_.draw(Duration::millis(50), user_error_max),
                           {"user_error", machine}, [this, machine, pid = process.pid] {
                               world_.machine(machine).end_rank(
                                   pid,
                                   {.exit_code = 2, .last_line = "unrecognized arguments: --lr"});
                           });
        return;
    }
    world_.queue.after(world_.draw(Duration::millis(30), plan.import_max), {"join", machine},
                       [this, machine, pid = process.pid, key] { join(machine, pid, key); });
}

void Training::join(MachineId machine, std::int64_t pid, const GangKey& key) {
    RankProcess* process = world_.machine(machine).process(pid);
    if (process == nullptr || !process->main || process->joined) return;
    process->joined = true;
    Gang& gang = gangs_.at(key);
    ++gang.joined;
    if (gang.joined < gang.ranks || gang.broken) return;
    gang.first_step = saved(key.attempt.workload) + 1;
    gang.step = gang.first_step - 1;
    next_step(key);
}

void Training::next_step(const GangKey& key) {
    Gang& gang = gangs_.at(key);
    if (gang.broken || gang.stepping) return;
    if (gang.step + 1 >= gang.plan->steps) return leave_all(gang);
    Duration time = gang.plan->step_time;
    if (world_.queue.now() < gang.slow_until) time = time * gang.slow_factor;
    gang.stepping = true;
    world_.queue.after(time, {"step", gang.step + 1}, [this, key] { step(key); });
}

bool Training::connected(const Gang& gang) const {
    const MachineId first = gang.members.front().first;
    return std::ranges::all_of(gang.members, [&](const auto& member) {
        return member.first == first || (!world_.network.is_cut({first, member.first}) &&
                                         !world_.network.is_cut({member.first, first}));
    });
}

void Training::step(const GangKey& key) {
    Gang& gang = gangs_.at(key);
    gang.stepping = false;
    if (gang.broken) return;
    if (!connected(gang)) {
        gang.stepping = true;
        world_.queue.after(cut_retry, {"step_waits", gang.step}, [this, key] { step(key); });
        return;
    }
    ++gang.step;
    gang.step_at = world_.queue.now();
    if (gang.step == gang.first_step) gang.first_step_at = gang.step_at;
    auto& reached = reached_.try_emplace(key.attempt.workload, -1).first->second;
    reached = std::max(reached, gang.step);
    if ((gang.step + 1) % gang.plan->save_every == 0) {
        auto& saved = saved_.try_emplace(key.attempt.workload, -1).first->second;
        saved = std::max(saved, gang.step);
    }
    next_step(key);
}

void Training::leave_all(const Gang& gang) {
    for (const auto& [machine, pid] : gang.members)
        world_.queue.after(world_.draw(Duration::millis(1), gang.plan->epilogue_max),
                           {"epilogue", machine}, [this, machine = machine, pid = pid] {
                               RankProcess* p = world_.machine(machine).process(pid);
                               if (p == nullptr || !p->main || p->stuck) return;
                               world_.machine(machine).end_rank(pid, {.last_line = {}});
                           });
}

void Training::ended(const RankProcess& process, bool clean) {
    const GangKey key{process.key, process.term, process.generation};
    const auto at = gangs_.find(key);
    if (at == gangs_.end()) return;
    if (clean && ++at->second.clean_exits == at->second.ranks)
        complete_.emplace(key.attempt, key.generation);
    if (at->second.broken) return;
    if (at->second.step + 1 >= at->second.plan->steps) return; // on its way out
    break_up(key);
}

void Training::break_up(const GangKey& key) {
    Gang& gang = gangs_.at(key);
    gang.broken = true;
    if (gang.plan->peers_hang) return;
    if (gang.joined >= gang.ranks)
        return lose_peers(gang, world_.draw(peers_notice_min, peers_notice_max),
                          "Connection closed by peer");
    // The others, also those that are still to come, wait to meet the one that is gone.
    world_.queue.after(meeting_limit, {"not_met", 0}, [this, key] {
        lose_peers(gangs_.at(key), Duration{}, "timed out waiting for clients to join");
    });
}

void Training::lose_peers(const Gang& gang, Duration after, const std::string& words) {
    for (const auto& [machine, pid] : gang.members)
        world_.queue.after(after + world_.draw(Duration{}, Duration::millis(30)),
                           {"peer_lost", machine}, [this, machine = machine, pid = pid, words] {
                               RankProcess* p = world_.machine(machine).process(pid);
                               if (p == nullptr || !p->main || p->stuck) return;
                               world_.machine(machine).end_rank(
                                   pid, {.exit_code = 1, .last_line = words});
                           });
}

void Training::slow_down(const GangKey& key, std::int64_t factor, Duration until) {
    const auto at = gangs_.find(key);
    if (at == gangs_.end()) return;
    at->second.slow_factor = factor;
    at->second.slow_until = until;
}

const Gang* Training::gang(const GangKey& key) const {
    const auto at = gangs_.find(key);
    return at == gangs_.end() ? nullptr : &at->second;
}

std::int64_t Training::saved(const WorkloadId& id) const {
    const auto at = saved_.find(id);
    return at == saved_.end() ? -1 : at->second;
}
std::int64_t Training::reached(const WorkloadId& id) const {
    const auto at = reached_.find(id);
    return at == reached_.end() ? -1 : at->second;
}

} // namespace muster::sim
