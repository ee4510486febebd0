#include "world.hpp"

#include <algorithm>

namespace muster::launch::test {
namespace {

constexpr Duration request_timeout = Duration::millis(300);
constexpr Duration server_hold = Duration::seconds(5);
constexpr Duration member_hold = Duration::seconds(1);

AttemptOrder attempt_order(const WorldOptions& options, std::int64_t index) {
    AttemptOrder order;
    order.workload.raw = {7, 7};
    order.attempt = 3;
    order.launcher_index = index;
    order.name = WorkloadName{"job"};
    order.spec.restarts = options.restarts;
    order.restarts = options.restarts_before;
    order.spec.stop_grace = options.stop_grace;
    order.spec.early_exit_limit = options.early_exit_limit;
    for (std::int64_t i = 0; i < options.launchers; ++i) {
        const RoleName role{options.one_role_each ? "role" + std::to_string(i) : "worker"};
        if (i == 0 || options.one_role_each) {
            Role r;
            r.name = role;
            order.spec.roles.push_back(r);
        }
        PlacedNode node;
        node.node = NodeName{"n" + std::to_string(i)};
        for (std::int64_t seat = 0; seat < options.ranks_each; ++seat)
            node.seats.push_back(Seat{role, {seat}});
        order.placement.nodes.push_back(node);
    }
    return order;
}

} // namespace

World::World(WorldOptions options, Script script)
    : options_(std::move(options)), script_(std::move(script)), prng_(options_.seed) {
    order_.attempt = 3;
    order_.revision = 1;
    allowance.policy = options_.restarts;
    for (std::int64_t i = 0; i < options_.launchers; ++i) {
        LaunchConfig config;
        config.order = attempt_order(options_, i);
        config.address = "10.0.0." + std::to_string(i);
        config.endpoint = "m" + std::to_string(i);
        config.standalone = options_.standalone;
        Launcher launcher;
        launcher.core = std::make_unique<LaunchCore>(config);
        if (static_cast<std::size_t>(i) < options_.skew.size())
            launcher.skew = options_.skew[static_cast<std::size_t>(i)];
        launchers_.push_back(std::move(launcher));
    }
    for (std::int64_t i = 0; i < options_.launchers; ++i)
        post(Duration::millis(i), [this, i] { deliver(i, Begin{}); });
}

void World::post(Duration after, std::function<void()> action) {
    queue_.push(Item{now_ + after, ++sequence_, std::move(action)});
}
void World::at(Duration after, std::function<void()> action) { post(after, std::move(action)); }
Duration World::latency() {
    return Duration{prng_.between(options_.latency_min.ns, options_.latency_max.ns)};
}
bool World::lost() { return options_.loss_per_mille > 0 && prng_.chance(options_.loss_per_mille); }
void World::problem(std::string text) {
    if (problems.size() < 20) problems.push_back(std::move(text));
}

void World::run(Duration limit) {
    run_until([this] { return all_left(); }, limit);
}
void World::run_for(Duration time) {
    const Instant end = now_ + time;
    run_until([] { return false; }, time);
    now_ = end;
}
void World::run_until(const std::function<bool()>& done, Duration limit) {
    const Instant end = now_ + limit;
    std::int64_t at_once = 0;
    while (!queue_.empty() && !done()) {
        if (queue_.top().at > end) return;
        at_once = queue_.top().at == now_ ? at_once + 1 : 0;
        if (at_once > 10'000) {
            problem("time stands still: somebody asks to be woken at once for ever");
            return;
        }
        now_ = queue_.top().at;
        const auto action = queue_.top().action;
        queue_.pop();
        action();
    }
}

bool World::all_left() const {
    return std::all_of(launchers_.begin(), launchers_.end(),
                       [](const Launcher& l) { return l.left || l.dead; });
}
std::int64_t World::alive() const {
    return std::count_if(processes_.begin(), processes_.end(),
                         [](const Process& p) { return p.running || p.child; });
}

std::vector<GenerationSummary> World::summaries() {
    std::map<Generation, GenerationSummary> all = acknowledged_;
    for (const auto& l : launchers_)
        if (l.left)
            for (const auto& s : l.left->result.generations) all[s.generation] = s;
    std::vector<GenerationSummary> result;
    for (auto& [generation, summary] : all) result.push_back(summary);
    return result;
}

void World::deliver(std::int64_t to, LaunchEvent event) {
    Launcher& l = launcher(to);
    if (l.dead) return;
    if (now_ < l.stalled_until) {
        l.stalled.push_back(std::move(event));
        return;
    }
    const bool had_left = l.left.has_value();
    auto decision = l.core->step(now_ + l.skew, event);
    l.wake_at = decision.wake_at;
    for (auto& command : decision.commands) {
        if (had_left && !std::holds_alternative<AnswerMember>(command))
            problem("a command after Leave");
        obey(to, command);
    }
    arm(to);
}

void World::arm(std::int64_t i) {
    Launcher& l = launcher(i);
    const std::int64_t token = ++l.wake_token;
    if (l.wake_at.is_never() || l.left) return;
    const Instant at = l.wake_at - l.skew;
    post(std::max(Duration{}, at - now_), [this, i, token] {
        if (launcher(i).wake_token == token) deliver(i, Wake{});
    });
}

void World::obey(std::int64_t i, LaunchCommand& command) {
    std::visit([&](const auto& c) { obey(i, c); }, command);
}

void World::obey(std::int64_t i, const SendServerBeat& command) {
    Launcher& l = launcher(i);
    if (!l.in_flight.insert({0, command.lane}).second) problem("two beats on a lane to the server");
    const Lane lane = command.lane;
    if (server_down || lost()) {
        post(request_timeout, [this, i, lane] {
            launcher(i).in_flight.erase({0, lane});
            deliver(i, ServerSilent{lane, Error{Code::unavailable, "no answer", "", ""}});
        });
        return;
    }
    post(latency(), [this, i, command] {
        Launcher& from = launcher(i);
        ++from.server_beats;
        from.beat = command.beat;
        bool changed = false;
        for (const auto& s : command.beat.closed) {
            acknowledged_[s.generation] = s;
            if (s.generation > order_.closed_through) {
                order_.closed_through = s.generation;
                changed = true;
            }
        }
        if (i == order_.lead && order_.lead_endpoint != command.beat.endpoint) {
            order_.lead_endpoint = command.beat.endpoint;
            changed = true;
        }
        const Held held{i, command.lane, command.beat.asked};
        if (changed) order_changed();
        if (command.lane == Lane::push || command.beat.order_revision != order_.revision) {
            answer_server(held);
            return;
        }
        held_.push_back(held);
        post(server_hold, [this, held] {
            const auto it = std::find_if(held_.begin(), held_.end(), [&](const Held& h) {
                return h.launcher == held.launcher && h.asked == held.asked;
            });
            if (it == held_.end()) return;
            held_.erase(it);
            answer_server(held);
        });
    });
}

void World::answer_server(const Held& held) {
    LauncherOrder order = order_;
    order.asked = held.asked;
    order.allowance = allowance;
    const bool dropped = server_down || lost();
    post(dropped ? request_timeout : latency(), [this, held, order, dropped] {
        launcher(held.launcher).in_flight.erase({0, held.lane});
        if (dropped)
            deliver(held.launcher, ServerSilent{held.lane, Error{}});
        else
            deliver(held.launcher, ServerSaid{held.lane, order});
    });
}

void World::order_changed() {
    ++order_.revision;
    auto held = std::move(held_);
    held_.clear();
    for (const auto& h : held) answer_server(h);
}
void World::change_order(const std::function<void(LauncherOrder&)>& change) {
    change(order_);
    order_changed();
}
void World::cancel() {
    change_order([](LauncherOrder& o) { o.stop = StopKind::cancel; });
}
void World::fence() {
    change_order([](LauncherOrder& o) { o.fenced = true; });
}

void World::obey(std::int64_t i, const SendMemberBeat& command) {
    Launcher& l = launcher(i);
    ++l.member_beats;
    if (!l.in_flight.insert({1, command.lane}).second) problem("two beats on a lane to the lead");
    const std::int64_t lead = std::stoll(command.endpoint.substr(1));
    const Lane lane = command.lane;
    const auto silent = [this, i, lane] {
        launcher(i).in_flight.erase({1, lane});
        deliver(i, LeadSilent{lane, Error{}});
    };
    if (cut.contains(i) || lost() || launcher(lead).dead) {
        post(request_timeout, silent);
        return;
    }
    post(latency(), [this, i, lead, command, silent] {
        if (launcher(lead).left || launcher(lead).dead) {
            post(latency(), silent);
            return;
        }
        const std::int64_t reply = ++next_reply_;
        asked_[reply] = Asked{i, command.lane};
        const Duration hold = command.lane == Lane::poll ? member_hold : Duration{};
        deliver(lead, MemberAsked{reply, command.beat, hold});
        // A lead that dies or leaves with the request open breaks the connection.
        post(hold + request_timeout + Duration::seconds(1), [this, i, reply, lead, command,
                                                             silent] {
            if (asked_.erase(reply) == 0) return;
            if (!launcher(lead).dead && !launcher(lead).left &&
                now_ >= launcher(lead).stalled_until && launcher(lead).stalled_until == Instant{})
                problem("a member was not answered");
            silent();
        });
    });
}

void World::obey(std::int64_t, const AnswerMember& command) {
    const auto it = asked_.find(command.reply);
    if (it == asked_.end()) return; // it gave up waiting
    const Asked asked = it->second;
    asked_.erase(it);
    const bool dropped = cut.contains(asked.member) || lost();
    post(dropped ? request_timeout : latency(), [this, asked, order = command.order, dropped] {
        launcher(asked.member).in_flight.erase({1, asked.lane});
        if (dropped)
            deliver(asked.member, LeadSilent{asked.lane, Error{}});
        else
            deliver(asked.member, LeadSaid{asked.lane, order});
    });
}

void World::obey(std::int64_t i, const BindPort& command) {
    const bool fails = options_.port_failures-- > 0;
    const std::int64_t port = fails ? 0 : next_port_++;
    post(Duration::micros(100), [this, i, command, port] {
        deliver(i, PortBound{command.generation, port, port == 0 ? "no port is free" : ""});
    });
}

void World::obey(std::int64_t i, const StartRanks& command) {
    const RankTable& table = command.table;
    Launcher& l = launcher(i);
    for (const auto& p : processes_)
        if ((p.running || p.child) && p.generation != table.generation)
            problem("generation " + std::to_string(table.generation) + " starts beside rank " +
                    std::to_string(p.rank) + " of generation " + std::to_string(p.generation));
    for (const auto& other : launchers_)
        if (!other.tables.empty() && other.proved < other.tables.back().generation &&
            other.tables.back().generation < table.generation)
            problem("generation " + std::to_string(table.generation) +
                    " starts without the proof that the former is gone");
    l.tables.push_back(table);
    l.started_at.push_back(now_);
    for (const auto& row : table.ranks) {
        if (row.launcher != i) continue;
        Process p;
        p.launcher = i;
        p.rank = row.rank;
        p.local_rank = row.local_rank;
        p.generation = table.generation;
        p.plan = script_(table.generation, row.rank);
        p.started_at = now_;
        p.child = p.plan.leaves_child;
        const std::size_t index = processes_.size();
        processes_.push_back(p);
        if (p.plan.ends_after == never && !p.plan.cannot_execute) continue;
        RankExit exit;
        exit.exit_code = p.plan.exit_code;
        exit.signal = p.plan.signal;
        exit.cannot_execute = p.plan.cannot_execute;
        if (exit.cannot_execute) exit.start_error = "No such file or directory";
        exit.last_lines = p.plan.lines;
        exit.traceback = p.plan.traceback;
        const Duration after = exit.cannot_execute ? Duration::millis(3) : p.plan.ends_after;
        const bool fault = exit.exit_code != 0 || exit.signal != 0 || exit.cannot_execute;
        const Duration ahead = std::min(p.plan.linger, after);
        if (fault)
            post(after - ahead, [this, index] {
                const Process& gone = processes_[index];
                if (gone.running && !gone.told)
                    peers_notice(gone.generation, gone.rank, Duration{});
            });
        post(after, [this, index, exit, fault] { end_rank(index, exit, fault); });
    }
    post(Duration::millis(2), [this, i, generation = table.generation] {
        deliver(i, RanksStarted{generation});
        tick_progress(i, generation);
    });
}

void World::end_rank(std::size_t index, RankExit exit, bool fault) {
    Process& p = processes_[index];
    if (!p.running || launcher(p.launcher).dead) return;
    p.running = false;
    exit.local_rank = p.local_rank;
    exit.killed_by_us = p.told;
    exit.lived = now_ - p.started_at;
    exit.at = now_ + launcher(p.launcher).skew;
    if (fault && !p.told) {
        first_fault.emplace(p.generation, p.rank);
    }
    const std::int64_t to = p.launcher;
    const Generation generation = p.generation;
    post(Duration::micros(50),
         [this, to, generation, exit] { deliver(to, RankExited{generation, exit}); });
}

void World::fail_rank(std::int64_t rank, std::int64_t signal) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        if (processes_[i].rank != rank || !processes_[i].running) continue;
        RankExit exit;
        exit.signal = signal;
        peers_notice(processes_[i].generation, rank, Duration{});
        end_rank(i, exit, true);
        return;
    }
}

/// All other ranks of the generation lose this peer.
void World::peers_notice(Generation generation, std::int64_t rank, Duration ahead) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        const Process& p = processes_[i];
        if (p.generation != generation || p.rank == rank || !p.running) continue;
        if (p.plan.notices_peer == never) continue;
        RankExit exit;
        exit.exit_code = 1;
        exit.last_lines = {p.plan.peer_words};
        post(p.plan.notices_peer + ahead, [this, i, exit] { end_rank(i, exit, false); });
    }
}

void World::obey(std::int64_t i, const TerminateRanks& command) {
    ++launcher(i).terms[command.generation];
    for (std::size_t n = 0; n < processes_.size(); ++n) {
        Process& p = processes_[n];
        if (p.launcher != i || p.generation != command.generation || !p.running || p.told) continue;
        p.told = true;
        if (p.plan.dies_after_term == never) continue;
        RankExit exit;
        exit.signal = 15;
        post(p.plan.dies_after_term + Duration::micros(300),
             [this, n, exit] { end_rank(n, exit, false); });
    }
}

void World::obey(std::int64_t i, const KillRanks& command) {
    Launcher& l = launcher(i);
    ++l.kills[command.generation];
    std::int64_t leftover = 0;
    for (std::size_t n = 0; n < processes_.size(); ++n) {
        Process& p = processes_[n];
        if (p.launcher != i || p.generation != command.generation) continue;
        if (options_.plant_blind_kill) continue;
        if (p.plan.survives_kills > 0) {
            --p.plan.survives_kills;
            p.child = true; // stuck in the kernel
            ++leftover;
        } else {
            p.child = false;
        }
        RankExit exit;
        exit.signal = 9;
        p.told = true;
        if (p.running) end_rank(n, exit, false);
    }
    if (leftover == 0) l.proved = std::max(l.proved, command.generation);
    post(Duration::micros(500), [this, i, command, leftover] {
        deliver(i, RanksCleared{command.generation, leftover, leftover > 0 ? "stuck (pid 7)" : ""});
    });
}

void World::obey(std::int64_t i, const Tell& command) { launcher(i).tells.push_back(command.text); }

void World::obey(std::int64_t i, const Leave& command) {
    Launcher& l = launcher(i);
    if (l.left) problem("left twice");
    l.left = command;
    l.left_at = now_;
    for (const auto& p : processes_)
        if (p.launcher == i && (p.running || p.child) && command.result.leftover_processes == 0)
            problem("launcher " + std::to_string(i) + " left rank " + std::to_string(p.rank) +
                    " behind without a word");
}

void World::tick_progress(std::int64_t i, Generation generation) {
    Duration interval = Duration::minutes(1);
    ProgressRead read{generation, {}};
    bool any = false;
    for (const auto& p : processes_) {
        if (p.launcher != i || p.generation != generation) continue;
        any = any || p.running;
        RankProgress progress;
        progress.local_rank = p.local_rank;
        const Duration step_time = p.plan.step_time;
        if (step_time.ns > 0) {
            interval = std::min(interval, std::max(Duration::millis(100), step_time / 2));
            std::int64_t made = (now_ - p.started_at).ns / step_time.ns;
            if (p.plan.steps > 0) made = std::min(made, p.plan.steps);
            if (made > 0) {
                const Duration skew = launcher(i).skew;
                progress.step = p.plan.first_step + made - 1;
                progress.first_step_at = p.started_at + step_time + skew;
                progress.step_at = p.started_at + step_time * made + skew;
                progress.samples = made * 8;
                progress.total = 1000;
                progress.loss = 1.0 / static_cast<double>(progress.step + 1);
                progress.has_loss = true;
            }
        }
        read.ranks.push_back(progress);
    }
    if (launcher(i).dead || launcher(i).left) return;
    deliver(i, read);
    if (any) post(interval, [this, i, generation] { tick_progress(i, generation); });
}

void World::signal(std::int64_t i, std::int64_t number) { deliver(i, LeaveAsked{number}); }

void World::power_off(std::int64_t i) {
    Launcher& l = launcher(i);
    l.dead = true;
    for (auto& p : processes_)
        if (p.launcher == i) p.running = p.child = false;
    l.proved = 1'000'000; // nothing lives on a machine without power
    std::set<Generation> generations;
    for (const auto& p : processes_)
        if (p.launcher == i) generations.insert(p.generation);
    if (!generations.empty()) {
        const std::int64_t none = -1;
        peers_notice(*generations.rbegin(), none, Duration{});
    }
}

void World::stall(std::int64_t i, Duration time) {
    launcher(i).stalled_until = now_ + time;
    post(time, [this, i] {
        auto events = std::move(launcher(i).stalled);
        launcher(i).stalled.clear();
        // The timer is seen first: the worst order.
        deliver(i, Wake{});
        for (auto& event : events) deliver(i, std::move(event));
    });
}

} // namespace muster::launch::test
