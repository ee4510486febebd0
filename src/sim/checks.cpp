#include "sim/checks.hpp"

#include "control/core_state.hpp"
#include "control/scheduling.hpp"
#include "goodput/goodput.hpp"
#include "sim/describe.hpp"

#include "sim/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace muster::sim {
namespace {

std::string text(const AttemptKey& key) {
    return fmt::format("{}.{}", to_short_text(key.workload), key.attempt);
}

bool overlap(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    return std::ranges::any_of(a,
                               [&](std::int64_t d) { return std::ranges::find(b, d) != b.end(); });
}

std::vector<std::int64_t> devices_of(const PlacedNode& placed) {
    std::vector<std::int64_t> devices;
    for (const auto& seat : placed.seats)
        devices.insert(devices.end(), seat.devices.begin(), seat.devices.end());
    return devices;
}

} // namespace

// ---- what the control plane decided

void Checks::facts_made(const std::vector<FactRecord>& facts, const control::Ledger& ledger) {
    Sequence expected = ledger.last_sequence - static_cast<Sequence>(facts.size()) + 1;
    for (const auto& record : facts) {
        if (record.sequence != expected++)
            world_.violate("journal order",
                           fmt::format("fact {} is out of order", record.sequence));
        if (world_.tracing())
            world_.trace("fact", fmt::format("{} {}", record.sequence, describe(record.fact)));
        check_fact(record, ledger);
    }
    check_ledger(ledger);
}

void Checks::scheduling_kept(const scheduler::State& kept, const control::Ledger& ledger) {
    if (kept != control::scheduling_of(ledger))
        world_.violate("scheduling", "what the scheduler keeps is not what the ledger says");
}

void Checks::check_fact(const FactRecord& record, const control::Ledger& ledger) {
    std::visit(
        [&](const auto& fact) {
            using T = std::decay_t<decltype(fact)>;
            if constexpr (requires { fact.reason; })
                if (fact.reason.code == ReasonCode::none)
                    world_.violate("reason", describe(record.fact) + " has no reason");
            if constexpr (std::is_same_v<T, WorkloadAdmitted>) check_admission(fact, ledger);
            if constexpr (std::is_same_v<T, WorkloadFinished>) check_finish(fact, ledger);
            if constexpr (std::is_same_v<T, DevicesReleased>) check_release(fact);
            if constexpr (std::is_same_v<T, GenerationProgressed>)
                check_steps(fact.id, fact.so_far, ledger);
            if constexpr (std::is_same_v<T, GenerationClosed>)
                check_steps(fact.id, fact.summary, ledger);
            if constexpr (std::is_same_v<T, NodeLost>)
                check_patience("node " + fact.node.text, control::ControlConfig{}.lost_after);
            if constexpr (std::is_same_v<T, AttemptEnded>)
                if (fact.reason.detail.starts_with(control::silent_lead))
                    check_patience("the lead of " + text({fact.id, fact.attempt}),
                                   control::member_gone_limit);
        },
        record.fact);
}

void Checks::check_admission(const WorkloadAdmitted& fact, const control::Ledger& ledger) {
    const auto* workload = ledger.workload(fact.id);
    if (workload == nullptr) return world_.violate("admission", "of an unknown workload");
    if (terminal_.contains(fact.id))
        world_.violate("terminal is final",
                       text({fact.id, fact.attempt}) + " was admitted after its end");
    std::map<RoleName, std::int64_t> seats;
    for (const auto& placed : fact.placement.nodes) {
        const auto* node = ledger.node(placed.node);
        if (node == nullptr || node->incarnation != placed.incarnation || node->lost)
            world_.violate("admission", "placed on a node that is not there: " + placed.node.text);
        else if (!node->cordons.empty())
            world_.violate("admission", "placed on the cordoned node " + placed.node.text);
        std::map<RoleName, std::int64_t> here;
        for (const auto& seat : placed.seats) {
            ++here[seat.role];
            for (const auto& role : workload->spec.roles)
                if (role.name == seat.role &&
                    role.devices_per_rank != static_cast<std::int64_t>(seat.devices.size()))
                    world_.violate("admission", "a seat has the wrong number of devices");
        }
        for (const auto& role : workload->spec.roles) {
            seats[role.name] += here[role.name];
            if (role.ranks_per_node && here[role.name] != 0 &&
                here[role.name] != *role.ranks_per_node)
                world_.violate("admission", "ranks_per_node does not hold on " + placed.node.text);
        }
        auto devices = devices_of(placed);
        std::ranges::sort(devices);
        if (std::ranges::adjacent_find(devices) != devices.end())
            world_.violate("admission", "a device was given twice on " + placed.node.text);
    }
    for (const auto& role : workload->spec.roles)
        if (seats[role.name] != role.ranks)
            world_.violate("admission", text({fact.id, fact.attempt}) + " was not placed whole");
}

void Checks::check_finish(const WorkloadFinished& fact, const control::Ledger& ledger) {
    const auto* workload = ledger.workload(fact.id);
    if (!is_terminal(fact.phase)) world_.violate("finish", "in a phase that is not terminal");
    if (!terminal_.emplace(fact.id, fact.phase).second)
        world_.violate("terminal is final", to_short_text(fact.id) + " finished twice");
    if (workload == nullptr) return;
    if (fact.phase == WorkloadPhase::succeeded) {
        if (workload->attempts.empty() ||
            !world_.training.complete({fact.id, workload->attempts.back().number}))
            world_.violate("truth", workload->name.text + " is said to have succeeded and has not");
        if (fact.exit_code != 0) world_.violate("truth", "a success with an exit code");
    }
    if (fact.phase == WorkloadPhase::cancelled &&
        !world_.people.asked_to_cancel(workload->name.text))
        world_.violate("truth", workload->name.text + " is cancelled and nobody asked for it");
}

void Checks::check_steps(const WorkloadId& id, const GenerationSummary& summary,
                         const control::Ledger& ledger) {
    const std::int64_t reached = world_.training.reached(id);
    if (summary.last_step > reached)
        world_.violate("truth",
                       fmt::format("{} is said to have made step {} and is at {}",
                                   ledger.workload(id)->name.text, summary.last_step, reached));
}

void Checks::check_release(const DevicesReleased& fact) {
    for (const auto& machine : world_.machines)
        if (machine->name() == fact.node)
            if (const Group* group = machine->group({fact.id, fact.attempt});
                group != nullptr && (group->launcher || group->alive() != 0))
                world_.violate("release", text({fact.id, fact.attempt}) + " is released on " +
                                              fact.node.text + " and has processes there");
}

/// Silence is evidence only while somebody listens: since the server's start, and since it went on
/// after a stop.
void Checks::check_patience(std::string_view what, Duration patience) {
    // The server waits by its own clock, which may run fast.
    const Duration hurry{patience.ns / 1'000'000 * std::abs(world_.server.clock.drift_ppm)};
    const Duration listened = world_.queue.now() - world_.server.listens_since();
    if (listened + hurry + Duration::millis(1) < patience)
        world_.violate(
            "patience",
            fmt::format("{} is called silent, and the server has listened for {} ms only", what,
                        listened.whole_millis()));
}

void Checks::check_ledger(const control::Ledger& ledger) {
    std::size_t held = 0;
    for (const auto& [id, workload] : ledger.workloads) {
        check_workload(workload, ledger);
        for (const auto& attempt : workload.attempts)
            for (const auto& placed : attempt.placement.nodes) {
                if (std::ranges::find(attempt.holding, placed.node) == attempt.holding.end())
                    continue;
                const auto* node = ledger.node(placed.node);
                if (node == nullptr) continue;
                for (const auto device : devices_of(placed)) {
                    const auto at = node->holders.find(device);
                    if (at == node->holders.end() || at->second != AttemptKey{id, attempt.number})
                        world_.violate("one holder",
                                       fmt::format("{} holds {}:{} but the node says otherwise",
                                                   text({id, attempt.number}), placed.node.text,
                                                   device));
                    ++held;
                }
            }
    }
    std::size_t holders = 0;
    for (const auto& [name, node] : ledger.nodes) holders += node.holders.size();
    if (held != holders)
        world_.violate("one holder",
                       fmt::format("{} devices have holders, attempts hold {}", holders, held));
}

void Checks::check_workload(const control::WorkloadRecord& workload, const control::Ledger&) {
    std::int64_t live = 0;
    for (const auto& attempt : workload.attempts) {
        if (attempt.state == AttemptState::ended) continue;
        ++live;
        if (attempt.number != workload.attempts.back().number)
            world_.violate("one attempt",
                           workload.name.text + " has an older attempt that is not ended");
    }
    if (live > 1) world_.violate("one attempt", workload.name.text + " has two attempts");
    const bool idle = workload.phase == WorkloadPhase::queued || is_terminal(workload.phase);
    if (idle && live != 0)
        world_.violate("one attempt", workload.name.text + " has a live attempt but does not run");
    if ((workload.phase == WorkloadPhase::admitted || workload.phase == WorkloadPhase::running) &&
        live != 1)
        world_.violate("admitted is placed", workload.name.text + " has no attempt");
    const auto at = terminal_.find(workload.id);
    if (at != terminal_.end() && at->second != workload.phase)
        world_.violate("terminal is final", workload.name.text + " left its terminal state");
}

// ---- durability

void Checks::became_durable(const FactRecord& record) {
    if (const auto* admitted = std::get_if<WorkloadAdmitted>(&record.fact))
        durable_admissions_.insert({admitted->id, admitted->attempt});
    if (const auto* released = std::get_if<DevicesReleased>(&record.fact))
        durable_releases_.insert({{released->id, released->attempt}, released->node});
}

void Checks::leaves(Sequence need, std::int64_t reply) {
    if (need > world_.server.durable().last_sequence)
        world_.violate("output commit",
                       fmt::format("answer {} leaves with fact {}, durable is {}", reply, need,
                                   world_.server.durable().last_sequence));
}

void Checks::order_leaves(const AgentOrder& order) {
    for (const auto& entry : order.run)
        if (!durable_admissions_.contains({entry.workload, entry.attempt}))
            world_.violate("durable orders",
                           text({entry.workload, entry.attempt}) +
                               " is ordered to run and its admission is not durable");
}

void Checks::server_started(const control::Ledger& ledger) {
    // What was decided and not durable is undone by the crash.
    std::erase_if(terminal_, [&](const auto& item) {
        const auto* workload = ledger.workload(item.first);
        return workload == nullptr || !is_terminal(workload->phase);
    });
    for (const auto& [name, acknowledged] : world_.people.acknowledged()) {
        if (acknowledged.id.empty()) continue;
        const auto* workload = ledger.workload(acknowledged.id);
        if (workload == nullptr)
            world_.violate("acknowledged", "the submit of " + name + " was lost");
        else if (acknowledged.cancelled && !workload->stop_asked && !is_terminal(workload->phase))
            world_.violate("acknowledged", "the cancel of " + name + " was lost");
    }
}

void Checks::acknowledged(const std::string& what, const control::Request& request,
                          const control::Response& response) {
    const control::Ledger& durable = world_.server.durable();
    if (const auto* submit = std::get_if<control::Submit>(&request)) {
        const auto& id = std::get<control::Submitted>(response).workload.id;
        if (durable.workload(id) == nullptr)
            world_.violate("acknowledged", "the submit of " + what + " is not durable");
        const auto [at, added] = tokens_.emplace(submit->client_token, id);
        if (!added && at->second != id)
            world_.violate("client token", "the token of " + what + " made two workloads");
    } else if (const auto* cordon = std::get_if<control::CordonNode>(&request)) {
        const bool known =
            std::ranges::any_of(world_.server.journal(), [&](const FactRecord& record) {
                const auto* fact = std::get_if<NodeCordoned>(&record.fact);
                return fact != nullptr && fact->node == cordon->node;
            });
        if (!known) world_.violate("acknowledged", "the cordon of " + what + " is not durable");
    } else if (std::holds_alternative<control::Cancel>(request)) {
        const auto at = durable.newest.find(WorkloadName{what});
        const auto* workload = at == durable.newest.end() ? nullptr : durable.workload(at->second);
        if (workload == nullptr || (!workload->stop_asked && !is_terminal(workload->phase)))
            world_.violate("acknowledged", "the cancel of " + what + " is not durable");
    }
}

void Checks::told(const control::Response& response) {
    const auto* page = std::get_if<control::WorkloadPage>(&response);
    if (page == nullptr) return;
    const control::Ledger& durable = world_.server.durable();
    for (const auto& view : page->items) {
        const auto* workload = durable.workload(view.id);
        if (workload == nullptr || (is_terminal(view.phase) && !is_terminal(workload->phase)))
            world_.violate("reads", "a list tells of " + view.name.text + " what is not durable");
    }
}

// ---- machines

void Checks::launcher_starts(const Machine& machine, const AttemptOrder& order,
                             Incarnation incarnation, const Group& group) {
    const AttemptKey key{order.workload, order.attempt};
    const auto* node = world_.server.durable().node(machine.name());
    if (node == nullptr || node->boot_id != machine.boot_id() || node->incarnation != incarnation)
        world_.violate("fence", text(key) + " starts on another boot of " + machine.name().text +
                                    " than it was placed on");
    for (const auto& elsewhere : world_.machines) {
        const Group* other = elsewhere->group(key);
        if (elsewhere.get() != &machine && other != nullptr && other->launcher &&
            other->launcher->index() == order.launcher_index)
            world_.violate("one launcher", text(key) + " has the same launcher on " +
                                               machine.name().text + " and " +
                                               elsewhere->name().text);
    }
    if (!durable_admissions_.contains(key))
        world_.violate("durable orders", text(key) + " starts and its admission is not durable");
    if (group.launcher)
        world_.violate("one launcher", text(key) + " has two launchers on " + machine.name().text);
    if (group.launcher_pid != 0 || group.alive() != 0)
        world_.violate("one launcher", text(key) + " starts again on " + machine.name().text);
    if (durable_releases_.contains({key, machine.name()}))
        world_.violate("release", text(key) + " starts on " + machine.name().text +
                                      " after its devices were released");
}

void Checks::launcher_fenced(const AttemptKey& key, std::int64_t pid) {
    fenced_.insert({key, pid});
}

void Checks::rank_spawns(Machine& machine, const RankProcess& process) {
    if (fenced_.contains({process.key, process.launcher_pid}))
        world_.violate("fence", text(process.key) + " starts a rank on " + machine.name().text +
                                    " and knows that it is over");
    auto& newest = newest_generation_[process.key];
    if (process.generation < newest)
        world_.violate("fence", fmt::format("{} starts generation {} on {} after generation {}",
                                            text(process.key), process.generation,
                                            machine.name().text, newest));
    newest = std::max(newest, process.generation);
    for (const auto& [key, group] : machine.groups())
        for (const auto& other : group.processes)
            if (other.alive() && (key != process.key || other.generation != process.generation) &&
                overlap(other.devices, process.devices))
                world_.violate("one holder",
                               fmt::format("rank {} of {} generation {} starts on a device of {} "
                                           "where {} generation {} still runs",
                                           process.rank, text(process.key), process.generation,
                                           machine.name().text, text(key), other.generation));
    for (const auto& elsewhere : world_.machines) {
        const Group* group = elsewhere->group(process.key);
        if (group == nullptr) continue;
        for (const auto& other : group->processes)
            if (other.alive() && other.generation != process.generation)
                world_.violate(
                    "one generation",
                    fmt::format("{} generation {} starts on {} while generation {} runs on {}",
                                text(process.key), process.generation, machine.name().text,
                                other.generation, elsewhere->name().text));
            else if (other.main && other.rank == process.rank)
                world_.violate("one rank",
                               fmt::format("rank {} of {} generation {} runs twice", process.rank,
                                           text(process.key), process.generation));
    }
}

void Checks::reported_empty(Machine& machine, const AttemptKey& key) {
    const Group* group = machine.group(key);
    if (group != nullptr && (group->launcher || group->alive() != 0))
        world_.violate("verified empty", text(key) + " is called empty on " + machine.name().text +
                                             " and has processes");
}

// ---- the end

void Checks::at_end() {
    const control::Ledger& ledger = *world_.server.ledger();
    control::Ledger replayed;
    for (const auto& record : world_.server.journal()) replayed.apply(record);
    if (replayed != ledger) world_.violate("replay", "the journal does not replay to the ledger");
    server_started(ledger);
    for (const auto& [id, workload] : ledger.workloads) {
        if (!is_terminal(workload.phase))
            world_.violate("liveness", workload.name.text + " did not end");
        for (const auto& attempt : workload.attempts)
            if (!attempt.holding.empty())
                world_.violate("liveness", workload.name.text + " still holds devices");
    }
    for (const auto& machine : world_.machines)
        for (const auto& [key, group] : machine->groups())
            if (group.launcher || group.alive() != 0)
                world_.violate("liveness",
                               text(key) + " still has processes on " + machine->name().text);
    check_goodput();
}

/// The account of each job sums to its attempts' wall time on their devices, whatever the stamps
/// are.
void Checks::check_goodput() {
    for (const auto& [id, workload] : world_.server.ledger()->workloads) {
        goodput::JobTimes job;
        job.submitted_at = workload.submitted_at;
        job.finished_at = workload.finished_at;
        Duration wall;
        const std::int64_t devices = total_devices(workload.spec);
        for (const auto& attempt : workload.attempts) {
            goodput::AttemptTimes times;
            times.number = attempt.number;
            times.devices = devices > 0 ? devices : total_ranks(workload.spec);
            times.placed_at = attempt.placed_at;
            times.ended_at = attempt.ended_at;
            times.generations = attempt.generations;
            wall += (attempt.ended_at - attempt.placed_at) * times.devices;
            job.attempts.push_back(std::move(times));
        }
        Duration sum;
        std::int64_t shares = 0;
        for (const auto& row : goodput::account(job)) {
            if (row.time < Duration{})
                world_.violate("goodput", workload.name.text + " has a negative " + row.category);
            sum += row.time;
            shares += row.share_per_million;
        }
        if (sum != wall || (wall != Duration{} && shares != 1'000'000))
            world_.violate("goodput", fmt::format("{}: {} ns of {} are accounted for, shares {}",
                                                  workload.name.text, sum.ns, wall.ns, shares));
    }
}

} // namespace muster::sim
