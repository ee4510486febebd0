#include "sim/agent_host.hpp"

#include "sim/world.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration request_limit = Duration::seconds(5); // past the hold: then no answer comes
constexpr Duration write_max = Duration::millis(2);      // of a record into a file in memory
constexpr Duration fork_max = Duration::millis(20);
constexpr Duration clear_min = Duration::millis(5);
constexpr Duration clear_max = Duration::millis(200);

agent::AgentConfig config_for(World& world, const Machine& machine) {
    agent::AgentConfig config;
    config.node = machine.name();
    config.boot_id = machine.boot_id();
    config.session =
        AgentSessionId::make(epoch + world.queue.now(), world.prng.next(), world.prng.next());
    config.inventory = machine.inventory();
    config.installation = world.installation;
    return config;
}

} // namespace

AgentHost::AgentHost(World& world, Machine& machine, std::int64_t pid)
    : world_(world), machine_(machine), pid_(pid), config_(config_for(world, machine)),
      core_(config_, machine.agent_ledger), loop_(std::in_place_index<0>, core_, *this, *this) {
    if (world.planted(Plant::order_without_journal)) loop_.emplace<1>(core_, *this, *this);
    std::visit([&](auto& loop) { loop.resume_from(machine.agent_ledger.last_sequence); }, loop_);
}

template <class F>
void AgentHost::later(Duration delay, const char* what, F action) {
    world_.queue.after(delay, {what, machine_.id()},
                       [machine = &machine_, pid = pid_, action = std::move(action)]() mutable {
                           AgentHost* self = machine->agent();
                           if (self != nullptr && self->pid_ == pid) action(*self);
                       });
}

void AgentHost::begin() { deliver(agent::Begin{}); }

void AgentHost::deliver(agent::AgentEvent event) {
    const Duration now = world_.queue.now();
    if (now < paused_until_) {
        later(paused_until_ - now, "agent_resumes",
              [event = std::move(event)](AgentHost& self) mutable {
                  self.deliver(std::move(event));
              });
        return;
    }
    step(event);
}

void AgentHost::step(const agent::AgentEvent& event) {
    std::visit([&](auto& loop) { loop.step(machine_.now(), event); }, loop_);
    arm();
}

Instant AgentHost::wake_at() const {
    return std::visit([](const auto& loop) { return loop.wake_at(); }, loop_);
}

void AgentHost::arm() {
    const Instant wake_at = this->wake_at();
    if (wake_at.is_never()) return;
    const Duration truth = machine_.clock.truth_of(wake_at);
    if (truth >= armed_at_) return;
    armed_at_ = truth;
    later(truth - world_.queue.now(), "agent_wake", [truth](AgentHost& self) {
        if (self.armed_at_ != truth) return;
        self.armed_at_ = Duration::max();
        self.wake();
    });
}

void AgentHost::wake() {
    if (machine_.now() < wake_at())
        arm();
    else
        deliver(agent::Wake{});
}

void AgentHost::append(std::vector<agent::AgentRecord> records) {
    const Duration now = world_.queue.now();
    written_at_ = std::max(written_at_, now + world_.draw(Duration::micros(5), write_max));
    later(written_at_ - now, "agent_written",
          [records = std::move(records)](AgentHost& self) mutable {
              self.written(std::move(records));
          });
}

void AgentHost::written(std::vector<agent::AgentRecord> records) {
    for (const auto& record : records) machine_.agent_ledger.apply(record);
    if (!records.empty())
        std::visit([&](auto& loop) { loop.durable(records.back().sequence); }, loop_);
}

void AgentHost::send(agent::AgentCommand command) {
    std::visit([this](auto&& c) { carry_out(std::forward<decltype(c)>(c)); }, std::move(command));
}

void AgentHost::carry_out(agent::SendBeat command) {
    const Lane lane = command.lane;
    const Duration hold = lane == Lane::poll ? agent::beat_interval : Duration{};
    auto& call = calls_[lane == Lane::poll ? 0 : 1];
    if (call) call->done = true; // one request a lane: the shell lets the older one go
    asked_ = std::max(asked_, command.beat.asked);
    call = world_.network.ask<AgentOrder>(
        {machine_.id(), World::server_id}, {"agent_beat", machine_.id()}, hold + request_limit,
        [&world = world_, beat = std::move(command.beat), hold](const CallPtr<AgentOrder>& c) {
            world.server.agent_asked(c, beat, hold);
        },
        [machine = &machine_, pid = pid_, lane](const Result<AgentOrder>& result, bool late) {
            AgentHost* self = machine->agent();
            if (self == nullptr) return;
            if (late) return self->obey(lane, *result, true); // perhaps another process' answer
            if (self->pid_ != pid) return;
            if (result)
                self->obey(lane, *result, false);
            else
                self->deliver(agent::BeatFailed{lane, result.error()});
        });
}

void AgentHost::obey(Lane lane, AgentOrder order, bool late) {
    if (const Duration now = world_.queue.now(); now < paused_until_)
        return later(paused_until_ - now, "agent_resumes",
                     [lane, order = std::move(order), late](AgentHost& self) mutable {
                         self.obey(lane, std::move(order), late);
                     });
    const bool stale = order.session != config_.session || order.asked < newest_obeyed_;
    if (!stale) newest_obeyed_ = order.asked;
    const Sequence before = core_.ledger().last_sequence;
    if (late && world_.planted(Plant::no_fence)) {
        order.session = config_.session;
        order.asked = asked_;
    }
    deliver(agent::OrderArrived{lane, std::move(order)});
    if (stale && core_.ledger().last_sequence != before)
        world_.violate("fence",
                       machine_.name().text + " obeyed an order older than one obeyed before");
}

void AgentHost::carry_out(agent::StartLauncher command) {
    const AttemptKey key{command.order.workload, command.order.attempt};
    if (!machine_.agent_ledger.holds.contains(key))
        world_.violate("agent journal",
                       "a launcher is started that the agent's file does not know");
    const std::int64_t pid = machine_.start_launcher(command.order, command.incarnation);
    later(world_.draw(Duration::millis(1), fork_max), "launcher_started",
          [key, pid](AgentHost& self) { self.deliver(agent::LauncherStarted{key, pid, pid, {}}); });
}

void AgentHost::carry_out(const agent::AdoptLauncher& command) {
    later(world_.draw(Duration::micros(100), fork_max), "adopted", [command](AgentHost& self) {
        const Group* group = self.machine_.group(command.key);
        const bool runs =
            group != nullptr && group->launcher &&
            (command.pid == 0 ? group->launcher->ready() : group->launcher_pid == command.pid);
        if (runs)
            self.deliver(
                agent::LauncherStarted{command.key, group->launcher_pid, group->launcher_pid, {}});
        else if (group != nullptr)
            self.deliver(agent::LauncherGone{command.key, group->result,
                                             group->launcher_error.empty() && !group->result
                                                 ? "not found"
                                                 : group->launcher_error});
        else
            self.deliver(agent::LauncherGone{command.key, std::nullopt, "not found"});
    });
}

void AgentHost::carry_out(const agent::AskLauncherToLeave& command) {
    Group* group = machine_.group(command.key);
    if (group == nullptr || !group->launcher) return;
    const std::int64_t pid = group->launcher_pid;
    world_.queue.after(Duration::micros(50), {"launcher_term", machine_.id()},
                       [machine = &machine_, pid] {
                           // SIGTERM and SIGCONT; its end is the end of the object
                           if (auto* launcher = machine->launcher(pid)) launcher->resume();
                           if (auto* launcher = machine->launcher(pid))
                               launcher->deliver(launch::LeaveAsked{15});
                       });
}

void AgentHost::carry_out(const agent::ClearGroup& command) {
    if (!world_.planted(Plant::release_without_clearing)) machine_.kill(command.key, 0);
    later(world_.draw(clear_min, clear_max), "group_cleared", [command](AgentHost& self) {
        const Group* group = self.machine_.group(command.key);
        std::int64_t left = group == nullptr ? 0 : group->alive() + (group->launcher ? 1 : 0);
        if (self.world_.planted(Plant::release_without_clearing)) left = 0;
        if (left == 0) self.world_.checks.reported_empty(self.machine_, command.key);
        self.deliver(agent::GroupCleared{command.key, left});
    });
}

void AgentHost::carry_out(const agent::ReadLogs& command) {
    later(Duration::millis(1), "logs_read", [request = command.request.request](AgentHost& self) {
        self.deliver(agent::LogsRead{LogAnswer{.request = request, .error = {}, .chunks = {}}});
    });
}

void AgentHost::carry_out(const agent::GiveUp& command) {
    world_.violate("agent gave up",
                   fmt::format("{}: {}", machine_.name().text, to_text(command.error)));
}

} // namespace muster::sim
