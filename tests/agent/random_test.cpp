// AgentCore in a small random world: beats are lost, late and out of order, launchers die,
// processes survive SIGKILL for a while, and the agent crashes before and after its facts are
// written. The checks stand at the mechanism: what is started, released and told.

#include "base/prng.hpp"
#include "runtime/loop.hpp"
#include "support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster::agent::testing {
namespace {

constexpr std::int64_t device_count = 3;
constexpr int chaos_steps = 400;
constexpr int healing_steps = 4'000;
constexpr std::uint64_t seeds = 150;

/// What lies on the node whatever happens to the agent.
struct Machine {
    struct Processes {
        bool launcher = false;
        int ranks = 0;
        int unkillable = 0; // in a D state: leave later
        std::int64_t pid = 0;
        std::optional<LauncherResult> result;
        std::int64_t device = 0;
        bool any() const { return launcher || ranks > 0 || unkillable > 0; }
    };
    std::map<AttemptKey, Processes> processes;
    std::map<AttemptKey, int> starts;
    std::int64_t next_pid = 100;
};

/// The server's side: one attempt per device and time, a next one after the last was released.
struct Server {
    struct Attempt {
        AttemptOrder order;
        bool wanted = true;
        bool released = false;
    };
    std::map<AttemptKey, Attempt> attempts;
    std::uint64_t next_workload = 1;
    std::int64_t revision = 1;
    std::int64_t next_log = 1;

    AgentOrder answer(const AgentBeat& beat) {
        for (const auto& held : beat.held) {
            const AttemptKey key{held.workload, held.attempt};
            const auto at = attempts.find(key);
            if (at == attempts.end() || held.state != HoldState::released) continue;
            at->second.released = true;
            at->second.wanted = false;
        }
        AgentOrder order;
        order.installation = installation_of(1);
        order.incarnation = 1;
        order.session = beat.session;
        order.asked = beat.asked;
        order.revision = ++revision;
        for (const auto& [key, attempt] : attempts) {
            if (attempt.released)
                order.forget.push_back(key);
            else if (attempt.wanted)
                order.run.push_back(attempt.order);
        }
        return order;
    }
    void place(Prng& prng) {
        const auto device = prng.between(0, device_count - 1);
        for (const auto& [key, attempt] : attempts)
            if (!attempt.released && attempt.order.placement.nodes[0].seats[0].devices[0] == device)
                return;
        const auto key = key_of(next_workload++);
        attempts[key].order = entry_of(key, device);
    }
};

class World : runtime::Journal<AgentRecord>, runtime::Outbox<AgentCommand> {
  public:
    explicit World(std::uint64_t seed) : prng_(seed) {
        loss_ = static_cast<std::uint32_t>(prng_.below(300));
        crash_ = static_cast<std::uint32_t>(prng_.below(60));
        boot();
    }

    void run() {
        for (int i = 0; i < chaos_steps && !::testing::Test::HasFatalFailure(); ++i) chaos_step();
        loss_ = 0;
        crash_ = 0;
        unkillable_ = 0;
        for (auto& [key, attempt] : server_.attempts) attempt.wanted = false;
        for (auto& [key, processes] : machine_.processes) processes.unkillable = 0;
        int steps = 0;
        while (!settled() && steps++ < healing_steps && !::testing::Test::HasFatalFailure())
            quiet_step();
        EXPECT_TRUE(settled()) << "something is held for ever: " << what_is_held();
        for (const auto& [key, processes] : machine_.processes)
            EXPECT_FALSE(processes.any()) << "processes are left and nobody knows";
    }

  private:
    bool settled() const {
        return core_->ledger().holds.empty() &&
               std::ranges::all_of(server_.attempts, [](const auto& item) {
                   return item.second.released || !item.second.wanted;
               });
    }

    std::string what_is_held() const {
        std::string text = std::to_string(mail_.size()) + " events, " +
                           std::to_string(server_mail_.size()) + " beats on their way;";
        for (const auto& [key, hold] : core_->ledger().holds)
            text += " " + std::to_string(key.workload.raw.low) + " in state " +
                    std::to_string(static_cast<int>(hold.state));
        return text;
    }

    // ---- one step of the world
    void chaos_step() {
        switch (prng_.below(8)) {
        case 0: server_.place(prng_); break;
        case 1:
            if (auto* attempt = any_of(server_.attempts); attempt && prng_.chance(300))
                attempt->wanted = false;
            break;
        case 2: launcher_ends(); break;
        case 3:
            for (auto& [key, processes] : machine_.processes)
                if (prng_.chance(300)) processes.unkillable = 0;
            break;
        default: quiet_step();
        }
        if (prng_.chance(crash_)) crash();
    }
    void quiet_step() {
        if (!held_back_.empty() && prng_.chance(700)) write_facts();
        if (!mail_.empty()) {
            const auto at = static_cast<std::ptrdiff_t>(prng_.below(mail_.size()));
            const AgentEvent event = mail_[static_cast<std::size_t>(at)];
            mail_.erase(mail_.begin() + at);
            step(event);
        }
        if (!server_mail_.empty() && prng_.chance(600)) serve();
        now_ = now_ + Duration::millis(prng_.between(1, 400));
        if (now_ >= loop_->wake_at()) step(Wake{});
    }
    void serve() {
        const auto at = static_cast<std::ptrdiff_t>(prng_.below(server_mail_.size()));
        const SendBeat ask = server_mail_[static_cast<std::size_t>(at)];
        server_mail_.erase(server_mail_.begin() + at);
        if (ask.beat.session != session_of(session_)) { // of an agent that is no more
            if (prng_.chance(500)) server_.answer(ask.beat);
            return;
        }
        if (prng_.chance(loss_)) {
            if (prng_.chance(500)) server_.answer(ask.beat); // only the answer was lost
            mail_.push_back(BeatFailed{ask.lane, {Code::unavailable, "lost", "", ""}});
            return;
        }
        mail_.push_back(OrderArrived{ask.lane, server_.answer(ask.beat)});
        if (prng_.chance(loss_ / 4)) mail_.push_back(mail_.back());
    }
    void launcher_ends() {
        auto* processes = any_of(machine_.processes);
        if (processes == nullptr || !processes->launcher) return;
        processes->launcher = false;
        if (prng_.chance(500)) {
            processes->result.emplace();
            processes->ranks = 0;
        }
        for (const auto& [key, one] : machine_.processes)
            if (&one == processes) notice(key, LauncherGone{key, one.result, "killed by signal 9"});
    }
    template <class Key, class Value>
    Value* any_of(std::map<Key, Value>& map) {
        if (map.empty()) return nullptr;
        return &std::next(map.begin(), static_cast<std::ptrdiff_t>(prng_.below(map.size())))
                    ->second;
    }

    // ---- the agent's process
    void boot() {
        ++session_;
        AgentLedger ledger;
        for (const auto& record : file_) ledger.apply(record);
        const Sequence sequence = ledger.last_sequence;
        core_.emplace(config_of(session_), std::move(ledger));
        runtime::Journal<AgentRecord>& journal = *this;
        runtime::Outbox<AgentCommand>& outbox = *this;
        loop_.emplace(*core_, journal, outbox);
        loop_->resume_from(sequence);
        in_flight_.clear();
        mail_.clear();
        held_back_.clear();
        watched_.clear();
        step(Begin{});
    }
    void crash() {
        // Facts of the last steps may have been written, all or in part, with no command sent.
        const auto kept = prng_.below(held_back_.size() + 1);
        for (std::size_t i = 0; i < kept; ++i) {
            file_.push_back(held_back_[i]);
            note_fact(held_back_[i].fact);
        }
        boot();
    }
    void step(const AgentEvent& event) {
        if (const auto* order = std::get_if<OrderArrived>(&event)) in_flight_.erase(order->lane);
        if (const auto* failed = std::get_if<BeatFailed>(&event)) in_flight_.erase(failed->lane);
        loop_->step(now_, event);
    }
    void append(std::vector<AgentRecord> records) override {
        for (auto& record : records) held_back_.push_back(std::move(record));
    }
    void write_facts() {
        for (const auto& record : std::exchange(held_back_, {})) {
            file_.push_back(record);
            note_fact(record.fact);
            loop_->durable(record.sequence);
        }
    }
    void note_fact(const AgentFact& fact) {
        if (const auto* taken = std::get_if<HoldTaken>(&fact))
            told_.insert({taken->order.workload, taken->order.attempt});
        if (const auto* released = std::get_if<HoldReleased>(&fact)) {
            ASSERT_FALSE(machine_.processes[released->key].any())
                << "released while processes live";
        }
        if (const auto* forgotten = std::get_if<HoldForgotten>(&fact)) {
            ASSERT_TRUE(server_.attempts.at(forgotten->key).released)
                << "forgotten before the server knew";
            told_.erase(forgotten->key);
        }
    }
    void notice(const AttemptKey& key, AgentEvent event) {
        if (watched_.contains(key)) mail_.push_back(std::move(event));
    }

    // ---- commands
    void send(AgentCommand command) override {
        std::visit([this](const auto& one) { carry_out(one); }, command);
    }
    void carry_out(const SendBeat& command) {
        ASSERT_FALSE(in_flight_.contains(command.lane)) << "two requests in flight on a lane";
        in_flight_.insert(command.lane);
        std::set<AttemptKey> held;
        for (const auto& one : command.beat.held) held.insert({one.workload, one.attempt});
        for (const auto& key : told_)
            ASSERT_TRUE(held.contains(key)) << "a hold is missing from a beat";
        server_mail_.push_back(command);
    }
    void carry_out(const StartLauncher& command) {
        const AttemptKey key{command.order.workload, command.order.attempt};
        ASSERT_TRUE(told_.contains(key)) << "started before the fact was written";
        ASSERT_EQ(++machine_.starts[key], 1) << "started twice";
        const auto device = command.order.placement.nodes[0].seats[0].devices[0];
        for (const auto& [other, processes] : machine_.processes)
            ASSERT_FALSE(processes.any() && processes.device == device) << "device held twice";
        if (prng_.chance(100)) {
            mail_.push_back(LauncherStarted{key, 0, 0, "cannot start"});
            return;
        }
        auto& processes = machine_.processes[key];
        processes.launcher = true;
        processes.ranks = 2;
        processes.unkillable = prng_.chance(unkillable_) ? 1 : 0;
        processes.pid = machine_.next_pid++;
        processes.device = device;
        watched_.insert(key);
        mail_.push_back(LauncherStarted{key, processes.pid, 1, ""});
    }
    void carry_out(const AdoptLauncher& command) {
        auto& processes = machine_.processes[command.key];
        if (processes.launcher) {
            watched_.insert(command.key);
            mail_.push_back(LauncherStarted{command.key, processes.pid, 1, ""});
        } else {
            mail_.push_back(LauncherGone{command.key, processes.result, "gone meanwhile"});
        }
    }
    void carry_out(const AskLauncherToLeave& command) {
        auto& processes = machine_.processes[command.key];
        if (!processes.launcher || prng_.chance(300)) return; // some do not listen
        processes.launcher = false;
        processes.ranks = 0;
        processes.result.emplace();
        notice(command.key, LauncherGone{command.key, processes.result, ""});
    }
    void carry_out(const ClearGroup& command) {
        auto& processes = machine_.processes[command.key];
        if (processes.launcher) {
            processes.launcher = false;
            notice(command.key, LauncherGone{command.key, std::nullopt, "killed by signal 9"});
        }
        processes.ranks = 0;
        mail_.push_back(GroupCleared{command.key, processes.unkillable});
    }
    void carry_out(const ReadLogs&) {}
    void carry_out(const GiveUp& command) { FAIL() << to_text(command.error); }

    Prng prng_;
    std::uint32_t loss_ = 0;
    std::uint32_t crash_ = 0;
    std::uint32_t unkillable_ = 200;
    Instant now_{1'000'000'000};
    Machine machine_;
    Server server_;
    std::vector<SendBeat> server_mail_;
    std::vector<AgentRecord> file_;
    std::set<AttemptKey> told_; // written as taken, not written as forgotten

    // gone with the agent's process
    std::uint64_t session_ = 0;
    std::optional<AgentCore> core_;
    std::optional<runtime::Loop<AgentCore>> loop_;
    std::vector<AgentEvent> mail_; // delivered in any order
    std::vector<AgentRecord> held_back_;
    std::set<Lane> in_flight_;
    std::set<AttemptKey> watched_;
};

TEST(AgentCoreRandom, holds_its_promises_in_any_order_of_events) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        World(seed).run();
        if (HasFailure()) return;
    }
}

} // namespace
} // namespace muster::agent::testing
