#pragma once
// A control core with hands: sends beats and requests, keeps what it answered and all facts.

#include "control/core.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace muster::control {

inline WorkloadSpec job_spec(std::int64_t ranks, const std::string& name = "train") {
    WorkloadSpec spec;
    spec.name = WorkloadName{name};
    Role role;
    role.ranks = ranks;
    role.command = {"python3", "train.py"};
    spec.roles.push_back(role);
    return spec;
}

inline bool same(const AttemptOrder& run, const HeldAttempt& held) {
    return run.workload == held.workload && run.attempt == held.attempt;
}

struct Harness {
    Instant now{1'800'000'000'000'000'000};
    ControlConfig config;
    ControlCore core;
    std::vector<FactRecord> facts;
    std::map<std::int64_t, Result<AgentOrder>> agent_orders;
    std::map<std::int64_t, Result<LauncherOrder>> launcher_orders;
    std::map<std::int64_t, Result<Response>> responses;
    std::int64_t last_reply = 0;
    Instant wake_at;
    std::map<std::string, AgentBeat> agents;

    static ControlConfig make_config() {
        ControlConfig config;
        config.installation = InstallationId{RawId{7, 7}};
        return config;
    }

    Harness() : config(make_config()), core(config, Ledger{}) { step(Begin{}); }

    void step(const ControlEvent& event) {
        auto decision = core.step(now, event);
        for (auto& fact : decision.facts) facts.push_back(std::move(fact));
        for (auto& command : decision.commands) take(std::move(command));
        wake_at = decision.wake_at;
    }
    void take(ControlCommand command) {
        if (auto* agent = std::get_if<AnswerAgent>(&command)) {
            ASSERT_TRUE(agent_orders.emplace(agent->reply, std::move(agent->order)).second);
        }
        if (auto* launcher = std::get_if<AnswerLauncher>(&command)) {
            ASSERT_TRUE(
                launcher_orders.emplace(launcher->reply, std::move(launcher->order)).second);
        }
        if (auto* request = std::get_if<AnswerRequest>(&command)) {
            ASSERT_TRUE(responses.emplace(request->reply, std::move(request->response)).second);
        }
    }

    /// Moves time, waking the core whenever it asked to be.
    void pass(Duration length) {
        const Instant until = now + length;
        while (wake_at <= until) {
            now = std::max(now, wake_at);
            step(Wake{});
            if (wake_at <= now) wake_at = now + Duration::nanos(1);
        }
        now = until;
        step(Wake{});
    }

    void restart() {
        Ledger ledger;
        for (const auto& fact : facts) ledger.apply(fact);
        ASSERT_EQ(ledger, core.ledger());
        core = ControlCore(config, std::move(ledger));
        step(Begin{});
    }

    AgentBeat& agent(const std::string& name, std::int64_t slots = 2) {
        auto [it, is_new] = agents.try_emplace(name);
        if (is_new) {
            it->second.node = NodeName{name};
            it->second.boot_id = "boot-" + name;
            it->second.session = AgentSessionId{RawId{1, agents.size()}};
            Inventory inventory;
            inventory.hostname = name;
            for (std::int64_t i = 0; i < slots; ++i)
                inventory.devices.push_back({i, DeviceKind::slot, "", "", 0});
            it->second.inventory = inventory;
        }
        return it->second;
    }

    Result<AgentOrder> beat(const std::string& name, std::int64_t slots = 2) {
        agent(name, slots);
        return agent_orders.at(poll(name, Duration{}));
    }
    std::int64_t poll(const std::string& name, Duration hold = Duration::seconds(1)) {
        auto& beat = agent(name);
        ++beat.asked;
        step(AgentAsked{++last_reply, beat, hold});
        return last_reply;
    }

    Result<Response> ask(Request request) {
        const auto reply = ++last_reply;
        step(RequestAsked{reply, "user:root", static_cast<std::uint64_t>(reply),
                          static_cast<std::uint64_t>(reply) * 77, std::move(request)});
        return responses.at(reply);
    }
    WorkloadView submit(WorkloadSpec spec, const std::string& token = "") {
        auto answer = ask(Submit{std::move(spec), token, false});
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
        return std::get<Submitted>(*answer).workload;
    }
    WorkloadDetail get(const std::string& job) {
        return std::get<WorkloadDetail>(*ask(GetWorkload{job}));
    }

    /// Obeys an order the way an agent does: what is listed runs, what is not is released.
    void obey(const std::string& name, const AgentOrder& order,
              std::optional<LauncherResult> result = {}, const std::string& error = "") {
        auto& beat = agent(name);
        beat.order_revision = order.revision;
        for (auto& held : beat.held) {
            if (held.state == HoldState::released ||
                std::ranges::any_of(order.run, [&](const auto& run) { return same(run, held); }))
                continue;
            held.state = HoldState::released;
            held.result = result;
            held.launcher_error = error;
        }
        std::erase_if(beat.held, [&](const HeldAttempt& held) {
            const AttemptKey key{held.workload, held.attempt};
            return std::ranges::find(order.forget, key) != order.forget.end();
        });
        for (const auto& run : order.run) {
            if (std::ranges::any_of(beat.held, [&](const auto& held) { return same(run, held); }))
                continue;
            auto& held = beat.held.emplace_back();
            held.workload = run.workload;
            held.attempt = run.attempt;
            held.launcher_index = run.launcher_index;
            held.state = HoldState::running;
        }
    }

    LauncherBeat launcher(const WorkloadId& id, AttemptNumber attempt, std::int64_t index) {
        LauncherBeat beat;
        beat.installation = core.ledger().installation;
        beat.workload = id;
        beat.attempt = attempt;
        beat.launcher_index = index;
        beat.incarnation = 1;
        beat.endpoint = "127.0.0.1:" + std::to_string(9000 + index);
        return beat;
    }
    LauncherOrder say(LauncherBeat beat) {
        const auto reply = ++last_reply;
        beat.asked = reply;
        step(LauncherAsked{reply, beat, Duration{}});
        return *launcher_orders.at(reply);
    }

    /// The lead tells that a generation runs.
    LauncherOrder run_generation(const WorkloadId& id, AttemptNumber attempt, Generation generation,
                                 std::int64_t ranks, std::int64_t step_reached = -1) {
        auto beat = launcher(id, attempt, 0);
        beat.state = LauncherState::running;
        beat.term = 1;
        beat.generation = generation;
        RankTable table;
        table.generation = generation;
        for (std::int64_t r = 0; r < ranks; ++r)
            table.ranks.push_back({r, r, r, 0, RoleName{"worker"}, {}});
        beat.table = table;
        if (step_reached >= 0) {
            Progress progress;
            progress.reported = true;
            progress.step = step_reached;
            beat.progress = progress;
        }
        return say(beat);
    }

    template <class F>
    std::size_t count() const {
        return static_cast<std::size_t>(std::ranges::count_if(facts, [](const FactRecord& record) {
            return std::holds_alternative<F>(record.fact);
        }));
    }
};

} // namespace muster::control
