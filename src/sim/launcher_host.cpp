#include "sim/launcher_host.hpp"

#include "sim/world.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace muster::sim {
namespace {

constexpr Duration request_limit = Duration::seconds(5); // past the hold
constexpr Duration poll_hold = Duration::seconds(5);
constexpr Duration start_min = Duration::millis(5); // from the fork to the core's first step
constexpr Duration start_max = Duration::millis(200);
constexpr Duration fork_max = Duration::millis(20);
constexpr Duration clear_min = Duration::millis(5);
constexpr Duration clear_max = Duration::millis(100);
constexpr Duration progress_every = Duration::millis(500);
constexpr std::int64_t first_port = 20'000;

std::size_t slot_of(Lane lane) { return lane == Lane::poll ? 0 : 1; }

} // namespace

LauncherHost::LauncherHost(World& world, Machine& machine, std::int64_t pid,
                           launch::LaunchConfig config)
    : world_(world), machine_(machine), pid_(pid),
      key_{config.order.workload, config.order.attempt}, config_(std::move(config)),
      plan_(world.plan_of(config_.order.name)), core_(config_), loop_(core_, *this, *this) {}

template <class F>
void LauncherHost::later(Duration delay, const char* what, F action) {
    world_.queue.after(delay, {what, machine_.id()},
                       [machine = &machine_, pid = pid_, action = std::move(action)]() mutable {
                           LauncherHost* self = machine->launcher(pid);
                           if (self != nullptr && !self->left_) action(*self);
                       });
}

void LauncherHost::begin() {
    later(world_.draw(start_min, start_max), "launcher_begin", [](LauncherHost& self) {
        self.ready_ = true;
        self.deliver(launch::Begin{});
        self.read_progress();
    });
}

void LauncherHost::deliver(const launch::LaunchEvent& event) {
    if (left_ || !ready_) return;
    if (paused_) {
        backlog_.push_back(event);
        return;
    }
    if (world_.options.heard) world_.options.heard(event);
    loop_.step(machine_.now(), event);
    if (!left_) arm();
}

void LauncherHost::pause(Duration time) {
    if (left_ || !ready_) return;
    paused_ = true;
    later(time, "launcher_continues", [pause = ++pauses_](LauncherHost& self) {
        if (self.pauses_ == pause) self.resume();
    });
}

void LauncherHost::resume() {
    if (!std::exchange(paused_, false)) return;
    for (const auto& event : std::exchange(backlog_, {})) deliver(event);
}

void LauncherHost::arm() {
    const Instant wake_at = loop_.wake_at();
    if (wake_at.is_never()) return;
    const Duration truth = machine_.clock.truth_of(wake_at);
    if (truth >= armed_at_) return;
    armed_at_ = truth;
    later(truth - world_.queue.now(), "launcher_wake", [truth](LauncherHost& self) {
        if (self.armed_at_ != truth) return;
        self.armed_at_ = Duration::max();
        self.wake();
    });
}

void LauncherHost::wake() {
    if (machine_.now() < loop_.wake_at())
        arm();
    else
        deliver(launch::Wake{});
}

void LauncherHost::send(launch::LaunchCommand command) {
    if (left_) return;
    std::visit([this](auto&& c) { carry_out(std::forward<decltype(c)>(c)); }, std::move(command));
}

void LauncherHost::closing() {
    for (auto& [reply, call] : asked_)
        world_.network.answer<MemberOrder>(call, {"member_reset", machine_.id()},
                                           fail(Code::unavailable, "the lead is gone"));
    asked_.clear();
}

// ---- the server

void LauncherHost::carry_out(launch::SendServerBeat command) {
    const Lane lane = command.lane;
    asked_server_ = std::max(asked_server_, command.beat.asked);
    const Duration hold = lane == Lane::poll ? poll_hold : Duration{};
    auto& call = server_calls_[slot_of(lane)];
    if (call) call->done = true;
    call = world_.network.ask<LauncherOrder>(
        {machine_.id(), World::server_id}, {"launcher_beat", machine_.id()}, hold + request_limit,
        [&world = world_, beat = std::move(command.beat), hold](const CallPtr<LauncherOrder>& c) {
            world.server.launcher_asked(c, beat, hold);
        },
        [machine = &machine_, pid = pid_, lane](const Result<LauncherOrder>& result, bool) {
            LauncherHost* self = machine->launcher(pid);
            if (self == nullptr) return;
            if (result)
                self->server_said(lane, *result);
            else
                self->deliver(launch::ServerSilent{lane, result.error()});
        });
}

void LauncherHost::server_said(Lane lane, const LauncherOrder& order) {
    // An answer to a beat that was sent after another answer is newer for certain.
    const bool over = order.fenced && order.attempt == key_.attempt &&
                      order.asked > asked_when_said_ && ready_ && !left_;
    asked_when_said_ = asked_server_;
    deliver(launch::ServerSaid{lane, order});
    if (over) world_.checks.launcher_fenced(key_, pid_);
}

// ---- members and the lead

void LauncherHost::carry_out(launch::SendMemberBeat command) {
    const Lane lane = command.lane;
    const Duration hold = lane == Lane::poll ? launch::member_beat_interval : Duration{};
    auto& call = member_calls_[slot_of(lane)];
    if (call) call->done = true;
    Machine* lead = world_.machine_at(command.endpoint);
    const MachineId to = lead == nullptr ? World::server_id : lead->id();
    call = world_.network.ask<MemberOrder>(
        {machine_.id(), to}, {"member_beat", machine_.id()}, hold + request_limit,
        [&world = world_, lead, endpoint = command.endpoint, beat = std::move(command.beat),
         hold](const CallPtr<MemberOrder>& c) {
            if (lead == nullptr || !lead->on()) return; // nobody answers
            for (auto& [key, group] : lead->groups())
                if (group.launcher && group.launcher->endpoint() == endpoint)
                    return group.launcher->member_asked(c, beat, hold);
            world.network.answer<MemberOrder>(c, {"member_refused", lead->id()},
                                              fail(Code::unavailable, "connection refused"));
        },
        [machine = &machine_, pid = pid_, lane](const Result<MemberOrder>& result, bool) {
            LauncherHost* self = machine->launcher(pid);
            if (self == nullptr) return;
            if (result)
                self->deliver(launch::LeadSaid{lane, *result});
            else
                self->deliver(launch::LeadSilent{lane, result.error()});
        });
}

void LauncherHost::member_asked(const CallPtr<MemberOrder>& call, const MemberBeat& beat,
                                Duration hold) {
    if (!ready_ || left_)
        return world_.network.answer<MemberOrder>(call, {"member_refused", machine_.id()},
                                                  fail(Code::unavailable, "connection refused"));
    const std::int64_t reply = next_reply_++;
    asked_.emplace(reply, call);
    deliver(launch::MemberAsked{reply, beat, hold});
}

void LauncherHost::carry_out(launch::AnswerMember command) {
    const auto at = asked_.find(command.reply);
    if (at == asked_.end()) return;
    world_.network.answer<MemberOrder>(at->second, {"member_order", machine_.id()},
                                       std::move(command.order));
    asked_.erase(at);
}

// ---- ranks

void LauncherHost::carry_out(const launch::BindPort& command) {
    const bool taken = world_.prng.chance(world_.faults.port_taken_per_mille);
    const launch::PortBound bound{command.generation,
                                  taken ? 0 : first_port + world_.prng.between(0, 9'999),
                                  taken ? "address in use" : ""};
    later(Duration::millis(1), "port_bound", [bound](LauncherHost& self) { self.deliver(bound); });
}

void LauncherHost::carry_out(const launch::StartRanks& command) {
    const RankTable& table = command.table;
    term_ = table.term;
    generation_ = table.generation;
    progress_told_ = -1;
    Duration started = world_.draw(Duration::millis(1), fork_max);
    for (const auto& row : table.ranks) {
        if (row.launcher != config_.order.launcher_index) continue;
        RankProcess process;
        process.pid = world_.next_pid();
        process.launcher_pid = pid_;
        process.key = key_;
        process.term = table.term;
        process.generation = table.generation;
        process.rank = row.rank;
        process.local_rank = row.local_rank;
        process.devices = row.devices;
        const RankProcess& placed = machine_.spawn(key_, std::move(process));
        const std::int64_t pid = placed.pid;
        if (plan_->cannot_execute)
            world_.queue.after(started + Duration::millis(1), {"exec_fails", machine_.id()},
                               [machine = &machine_, pid] {
                                   machine->end_rank(pid, {.exit_code = 127,
                                                           .last_line = "No such file or directory",
                                                           .cannot_execute = true});
                               });
        else
            world_.training.started(machine_.id(), placed, *plan_,
                                    static_cast<std::int64_t>(table.ranks.size()));
    }
    if (world_.tracing())
        world_.trace(machine_.name().text,
                     fmt::format("ranks of {}.{} generation {} start", to_short_text(key_.workload),
                                 key_.attempt, table.generation));
    later(started, "ranks_started", [generation = table.generation](LauncherHost& self) {
        self.deliver(launch::RanksStarted{generation});
    });
}

void LauncherHost::rank_ended(Generation generation, RankExit exit) {
    exit.killed_by_us = generation <= killing_;
    deliver(launch::RankExited{generation, std::move(exit)});
}

void LauncherHost::carry_out(const launch::TerminateRanks& command) {
    killing_ = std::max(killing_, command.generation);
    machine_.terminate(key_, command.generation);
}

void LauncherHost::carry_out(const launch::KillRanks& command) {
    killing_ = std::max(killing_, command.generation);
    const bool lie = world_.planted(Plant::cleared_without_killing);
    if (!lie) machine_.kill(key_, command.generation);
    later(world_.draw(clear_min, clear_max), "ranks_cleared",
          [generation = command.generation, lie](LauncherHost& self) {
              const Group* group = self.machine_.group(self.key_);
              const std::int64_t left = group == nullptr || lie ? 0 : group->alive(generation);
              self.deliver(launch::RanksCleared{generation, left});
          });
}

void LauncherHost::read_progress() {
    const Gang* gang = world_.training.gang({key_, term_, generation_});
    Group* group = machine_.group(key_);
    if (!paused_ && gang != nullptr && group != nullptr && gang->step > progress_told_ &&
        gang->step >= 0 && gang->step_at != Duration{}) {
        progress_told_ = gang->step;
        launch::ProgressRead read;
        read.generation = generation_;
        for (const auto& process : group->processes) {
            if (process.generation != generation_) continue;
            RankProgress rank;
            rank.local_rank = process.local_rank;
            rank.step = gang->step;
            rank.total = plan_->steps;
            rank.loss = 10.0 / static_cast<double>(gang->step + 1);
            rank.has_loss = true;
            rank.samples = gang->step - gang->first_step + 1;
            rank.first_step_at = machine_.clock.at(gang->first_step_at);
            rank.step_at = machine_.clock.at(gang->step_at);
            read.ranks.push_back(std::move(rank));
        }
        deliver(read);
    }
    later(progress_every, "read_progress", [](LauncherHost& self) { self.read_progress(); });
}

void LauncherHost::carry_out(const launch::Tell& command) {
    if (world_.tracing()) world_.trace(machine_.name().text, "launcher says: " + command.text);
}

void LauncherHost::carry_out(launch::Leave command) {
    left_ = true;
    if (world_.planted(Plant::success_always) && command.result.outcome != AttemptOutcome::none) {
        command.result.outcome = AttemptOutcome::succeeded;
        command.result.cause.reset();
    }
    closing();
    machine_.launcher_ended(key_, std::move(command.result), {});
}

} // namespace muster::sim
