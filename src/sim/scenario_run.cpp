#include "sim/scenario.hpp"

#include "model/enum_text.hpp"
#include "sim/describe.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration wait_limit = Duration::minutes(30); // for what a "when" waits for

class Run {
  public:
    Run(const Scenario& scenario, std::function<void(const std::string&)> trace)
        : scenario_(scenario), world_(options(scenario.seed, std::move(trace)), scenario.setup) {}

    Status all() {
        world_.begin();
        // Nodes join within seconds: a scenario begins with all of them.
        wait_for([&] { return joined() == world_.machines.size(); }, wait_limit);
        for (const auto& step : scenario_.steps) {
            if (world_.tracing())
                world_.trace("line", fmt::format("{}: {}", step.line, step.form->pattern));
            if (auto status = one(step); !status) return status;
            if (const auto outcome = world_.outcome(); outcome.violation)
                return wrong(step,
                             fmt::format("\"{}\" was violated: {}", outcome.violation->checker,
                                         outcome.violation->text));
        }
        const Outcome outcome = world_.finish();
        if (outcome.violation)
            return fail(Code::failed_precondition,
                        fmt::format("at the end \"{}\" was violated: {}",
                                    outcome.violation->checker, outcome.violation->text));
        return ok();
    }

  private:
    static Options options(std::uint64_t seed, std::function<void(const std::string&)> trace) {
        Options out;
        out.seed = seed;
        out.trace = std::move(trace);
        return out;
    }
    static tl::unexpected<Error> wrong(const Statement& s, const std::string& text) {
        return fail(Code::failed_precondition, fmt::format("line {}: {}", s.line, text));
    }

    bool wait_for(const std::function<bool()>& done, Duration limit) {
        return world_.run_until(done, world_.queue.now() + limit, Duration{});
    }
    const control::WorkloadRecord* job(const std::string& name) {
        const auto* ledger = world_.server.ledger();
        if (ledger == nullptr) ledger = &world_.server.durable();
        const auto at = ledger->newest.find(WorkloadName{name});
        return at == ledger->newest.end() ? nullptr : ledger->workload(at->second);
    }
    std::size_t joined() {
        const auto* ledger = world_.server.ledger();
        return ledger == nullptr ? 0 : ledger->nodes.size();
    }
    /// Facts made so far, durable or not.
    Sequence made() {
        const auto* ledger = world_.server.ledger();
        return ledger == nullptr ? world_.server.durable().last_sequence : ledger->last_sequence;
    }
    Machine& node(const std::string& name) {
        return *world_.machines[static_cast<std::size_t>(std::stoll(name.substr(1))) - 1];
    }

    /// A live rank of the job's newest attempt and generation.
    std::pair<Machine*, RankProcess*> rank(const std::string& name, std::int64_t number) {
        const auto* record = job(name);
        std::pair<Machine*, RankProcess*> found{nullptr, nullptr};
        if (record == nullptr || record->attempts.empty()) return found;
        for (const auto& machine : world_.machines)
            if (Group* group = machine->group({record->id, record->attempts.back().number}))
                for (auto& process : group->processes)
                    if (process.main && process.rank == number &&
                        (found.second == nullptr || found.second->generation < process.generation))
                        found = {machine.get(), &process};
        return found;
    }

    /// The launcher of the job's newest attempt on a node; null: none runs.
    LauncherHost* launcher_of(const std::string& name, const std::string& on) {
        const auto* record = job(name);
        if (record == nullptr || record->attempts.empty()) return nullptr;
        Group* group = node(on).group({record->id, record->attempts.back().number});
        return group == nullptr ? nullptr : group->launcher.get();
    }

    Status end_rank(const Statement& s, const std::string& name, std::int64_t number,
                    const Machine::End& end) {
        if (!wait_for([&] { return rank(name, number).second != nullptr; }, wait_limit))
            return wrong(s, fmt::format("rank {} of {} does not run", number, name));
        const auto [machine, process] = rank(name, number);
        machine->end_rank(process->pid, end);
        return ok();
    }

    std::int64_t step_of(const std::string& name) {
        const auto* record = job(name);
        if (record == nullptr || record->attempts.empty()) return -1;
        std::int64_t step = -1;
        for (const auto& [key, gang] : world_.training.gangs())
            if (key.attempt == AttemptKey{record->id, record->attempts.back().number})
                step = gang.step;
        return step;
    }

    Status one(const Statement& s) { return s.form->section == Section::when ? when(s) : then(s); }

    void later(Duration delay, const char* what, std::function<void()> action) {
        world_.queue.after(delay, {what, 0}, std::move(action));
    }

    Status when(const Statement& s) {
        const auto& v = s.values;
        const Duration now = world_.queue.now();
        switch (s.form->verb) {
        case Verb::submit:
            for (const auto& plan : world_.setup.jobs)
                if (plan.spec.name->text == v[0].text) world_.people.submit(plan);
            break;
        case Verb::cancel: world_.people.cancel(v[0].text); break;
        case Verb::cordon: world_.people.cordon(NodeName{v[0].text}); break;
        case Verb::uncordon: world_.people.uncordon(NodeName{v[0].text}); break;
        case Verb::wait: wait_for([] { return false; }, v[0].duration); break;
        case Verb::reaches_step:
            if (!wait_for([&] { return step_of(v[0].text) >= v[1].number; }, wait_limit))
                return wrong(s, fmt::format("{} does not reach step {}, it is at {}", v[0].text,
                                            v[1].number, step_of(v[0].text)));
            break;
        case Verb::begins_attempt:
            if (!wait_for(
                    [&] {
                        const auto* record = job(v[0].text);
                        return record != nullptr && record->attempts_made >= v[1].number;
                    },
                    wait_limit))
                return wrong(s,
                             fmt::format("{} does not begin attempt {}", v[0].text, v[1].number));
            break;
        case Verb::is_phase: return until_phase(s, v[0].text, v[1].text, wait_limit);
        case Verb::kill_rank:
            return end_rank(s, v[1].text, v[0].number, {.signal = v[2].number, .last_line = {}});
        case Verb::exit_rank:
            return end_rank(
                s, v[1].text, v[0].number,
                {.exit_code = v[2].number, .last_line = v[2].number == 0 ? "" : "ValueError: bad"});
        case Verb::crash_server:
            world_.server.crash();
            later(v[0].duration, "server_start", [this] { world_.server.start(); });
            break;
        case Verb::stop_server:
            world_.server.pause(now + v[0].duration, ServerHost::Clock::goes);
            break;
        case Verb::suspend_server:
            world_.server.pause(now + v[0].duration, ServerHost::Clock::stands);
            break;
        case Verb::crash_agent:
            node(v[0].text).crash_agent();
            later(v[1].duration, "agent_start", [&m = node(v[0].text)] { m.start_agent(); });
            break;
        case Verb::crash_launcher:
        case Verb::pause_launcher: {
            LauncherHost* launcher = launcher_of(v[0].text, v[1].text);
            if (launcher == nullptr)
                return wrong(s, "no launcher of " + v[0].text + " runs on " + v[1].text);
            if (s.form->verb == Verb::pause_launcher)
                launcher->pause(v[2].duration);
            else
                launcher->machine().launcher_ended(launcher->key(), std::nullopt,
                                                   "killed by signal 9");
            break;
        }
        case Verb::power_off:
            node(v[0].text).power_off();
            later(v[1].duration, "power_on", [&m = node(v[0].text)] { m.power_on(); });
            break;
        case Verb::cut:
            for (MachineId other = 0; other < static_cast<MachineId>(world_.network.machines());
                 ++other) {
                world_.network.cut({node(v[0].text).id(), other}, now + v[1].duration);
                world_.network.cut({other, node(v[0].text).id()}, now + v[1].duration);
            }
            break;
        case Verb::cut_people:
            world_.network.cut({World::server_id, world_.people_id()}, now + v[0].duration);
            break;
        case Verb::pause_agent:
            if (auto* agent = node(v[0].text).agent()) agent->pause(now + v[1].duration);
            break;
        case Verb::slow_disk: world_.server.stall(now + v[0].duration); break;
        default: break;
        }
        return ok();
    }

    Status until_phase(const Statement& s, const std::string& name, const std::string& phase,
                       Duration limit) {
        const auto wanted = enum_from_name<WorkloadPhase>(phase);
        if (!wanted) return wrong(s, "there is no phase " + phase);
        const auto there = [&] {
            const auto* record = job(name);
            return record != nullptr && record->phase == wanted;
        };
        if (wait_for(there, limit)) return ok();
        const auto* record = job(name);
        return wrong(s, fmt::format("{} is {}, not {}", name,
                                    record == nullptr ? "not there" : enum_name(record->phase),
                                    phase));
    }

    Status equal(const Statement& s, const char* what, std::int64_t have, std::int64_t want) {
        if (have == want) return ok();
        return wrong(s, fmt::format("{} is {}, not {}", what, have, want));
    }

    Status then(const Statement& s) {
        const auto& v = s.values;
        if (s.form->verb == Verb::ends) return until_phase(s, v[0].text, v[1].text, v[2].duration);
        if (s.form->verb == Verb::facts) return count_facts(s);
        if (s.form->verb == Verb::nothing_changes) {
            const Sequence before = made();
            wait_for([] { return false; }, v[0].duration);
            return equal(s, "the number of facts", made(), before);
        }
        if (s.form->verb == Verb::waits_for) return waits_for(s);
        const auto* record = job(v[0].text);
        if (record == nullptr) return wrong(s, v[0].text + " was not submitted");
        switch (s.form->verb) {
        case Verb::has_reason:
            if (enum_name(record->reason.code) != v[1].text)
                return wrong(s, fmt::format("the reason is {} ({}), not {}",
                                            enum_name(record->reason.code), explain(record->reason),
                                            v[1].text));
            break;
        case Verb::has_exit_code: return equal(s, "the exit code", record->exit_code, v[1].number);
        case Verb::has_restarts:
            return equal(s, "the number of restarts", record->restarts, v[1].number);
        case Verb::has_attempts:
            return equal(s, "the number of attempts", record->attempts_made, v[1].number);
        case Verb::has_steps:
            return equal(s, "the number of steps", world_.training.reached(record->id) + 1,
                         v[1].number);
        case Verb::has_cause_rank: return cause_rank(s, *record);
        case Verb::runs_on: {
            if (record->attempts.empty()) return wrong(s, v[0].text + " was never placed");
            const auto& nodes = record->attempts.back().placement.nodes;
            if (std::ranges::none_of(nodes,
                                     [&](const PlacedNode& p) { return p.node.text == v[1].text; }))
                return wrong(s, fmt::format("{} does not run on {}", v[0].text, v[1].text));
            break;
        }
        default: break;
        }
        return ok();
    }

    /// The first cause of the newest failed generation, or of the attempt's end.
    Status cause_rank(const Statement& s, const control::WorkloadRecord& record) {
        for (auto attempt = record.attempts.rbegin(); attempt != record.attempts.rend();
             ++attempt) {
            if (attempt->cause && attempt->cause->rank)
                return equal(s, "the rank at fault", *attempt->cause->rank, s.values[1].number);
            for (auto g = attempt->generations.rbegin(); g != attempt->generations.rend(); ++g)
                if (g->cause && g->cause->rank)
                    return equal(s, "the rank at fault", *g->cause->rank, s.values[1].number);
        }
        return wrong(s, "no rank is named as the cause");
    }

    Status waits_for(const Statement& s) {
        const auto& name = s.values[0].text;
        std::string seen = "nothing";
        std::optional<bool> found;
        world_.people.ask_why(name, [&](const WhyView& why) {
            found = false;
            seen.clear();
            for (const auto& item : why.items) {
                seen += " " + enum_name(item.reason.code);
                if (enum_name(item.reason.code) == s.values[1].text) found = true;
            }
        });
        wait_for([&] { return found.has_value(); }, Duration::seconds(10));
        if (found == true) return ok();
        return wrong(s, fmt::format("{} waits for{}, not for {}", name, seen, s.values[1].text));
    }

    Status count_facts(const Statement& s) {
        std::int64_t count = 0;
        for (const auto& record : world_.server.journal()) {
            const std::string text = describe(record.fact);
            if (text.substr(0, text.find(' ')) == s.values[0].text) ++count;
        }
        return equal(s, "the number of facts", count, s.values[1].number);
    }

    const Scenario& scenario_;
    World world_;
};

} // namespace

Status run_scenario(const Scenario& scenario, std::function<void(const std::string&)> trace) {
    return Run(scenario, std::move(trace)).all();
}

} // namespace muster::sim
