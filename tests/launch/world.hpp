#pragma once
// World: a few LaunchCores against each other under one virtual time, with scripted ranks, a
// network that delays and loses, clocks that differ, and a control plane that only answers beats.
// It checks the mechanism after every command: no generation starts beside processes of another, or
// without the proof that the former is gone everywhere; each request is answered once; Leave comes
// once.

#include "base/prng.hpp"
#include "launch/core.hpp"

#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace muster::launch::test {

inline constexpr Duration never = Duration{-1};

/// What one rank does in one generation.
struct RankPlan {
    Duration ends_after = never; // by itself, from its start; never: only when told
    std::int64_t exit_code = 0;
    std::int64_t signal = 0;
    bool cannot_execute = false;
    std::vector<std::string> lines;
    std::string traceback;
    Duration linger;                             // peers notice so long before it ends
    Duration dies_after_term;                    // of SIGTERM; never: ignores it
    bool leaves_child = false;                   // a child in its own session, till SIGKILL
    std::int64_t survives_kills = 0;             // SIGKILL rounds that find something left
    Duration notices_peer = Duration::millis(5); // a peer is gone: ends with 1; never: hangs
    std::string peer_words = "RuntimeError: Connection closed by peer [127.0.0.1]:4711";
    Duration step_time; // zero: does not report
    std::int64_t first_step = 0;
    std::int64_t steps = 0; // stops to move after so many; 0: never
};
using Script = std::function<RankPlan(Generation, std::int64_t rank)>;

struct WorldOptions {
    std::int64_t launchers = 1;
    std::int64_t ranks_each = 2;
    bool standalone = false;
    std::uint64_t seed = 1;
    Duration latency_min = Duration::micros(200);
    Duration latency_max = Duration::micros(800);
    std::uint32_t loss_per_mille = 0;
    std::vector<Duration> skew = {}; // of each machine's clock
    RestartPolicy restarts = {};
    std::int64_t restarts_before = 0; // of earlier attempts
    Duration stop_grace = Duration::seconds(15);
    Duration early_exit_limit = Duration::minutes(10);
    std::int64_t port_failures = 0; // of the first BindPort commands
    bool plant_blind_kill = false;  // a bug: KillRanks is answered without killing or looking
    bool plant_lost_kill = false;   // a bug: RanksCleared comes where nobody asked for it
    bool one_role_each = false;     // a role per launcher
};

class World {
  public:
    World(WorldOptions options, Script script);

    /// Runs until all launchers have left, or `limit` of virtual time has passed.
    void run(Duration limit = Duration::hours(3));
    void run_until(const std::function<bool()>& done, Duration limit = Duration::hours(3));
    void run_for(Duration time);
    void at(Duration after, std::function<void()> action);

    // faults and orders
    void cancel();
    void fence();
    void signal(std::int64_t launcher, std::int64_t number);
    void power_off(std::int64_t launcher);
    void stall(std::int64_t launcher, Duration time); // its launcher process is stopped
    void change_order(const std::function<void(LauncherOrder&)>& change);
    void fail_rank(std::int64_t rank, std::int64_t signal);

    // what was seen
    struct Launcher {
        std::unique_ptr<LaunchCore> core;
        Duration skew;
        Instant wake_at = Instant::never();
        std::int64_t wake_token = 0;
        bool dead = false;
        Instant stalled_until;
        std::vector<LaunchEvent> stalled;
        std::optional<Leave> left;
        Instant left_at;
        std::set<std::pair<int, Lane>> in_flight; // 0: server, 1: lead
        std::vector<std::string> tells;
        std::vector<RankTable> tables; // started
        std::vector<Instant> started_at;
        std::map<Generation, std::int64_t> kills; // KillRanks given
        std::map<Generation, std::int64_t> terms; // TerminateRanks given
        Generation proved = 0;                    // newest generation proved gone
        std::optional<LauncherBeat> beat;         // newest that the server got
        std::int64_t server_beats = 0;
        std::int64_t member_beats = 0;
    };
    Launcher& launcher(std::int64_t i) { return launchers_[static_cast<std::size_t>(i)]; }
    const LauncherResult& result() { return launcher(0).left->result; }
    std::int64_t exit_code() { return launcher(0).left->exit_code; }
    bool all_left() const;
    Instant now() const { return now_; }
    std::int64_t alive() const;
    /// Closed generations, as server and result know them together.
    std::vector<GenerationSummary> summaries();
    std::vector<std::string> problems;              // of the checkers
    std::map<Generation, std::int64_t> first_fault; // rank that really failed first, by generation

    bool server_down = false;
    std::set<std::int64_t> cut; // members that do not reach the lead
    RestartAllowance allowance;

  private:
    struct Process {
        std::int64_t launcher = 0;
        std::int64_t rank = 0;
        std::int64_t local_rank = 0;
        Generation generation = 0;
        RankPlan plan;
        Instant started_at;
        bool running = true;
        bool child = false;
        bool told = false;
    };
    struct Held {
        std::int64_t launcher = 0;
        Lane lane = Lane::poll;
        std::int64_t asked = 0;
    };
    struct Asked {
        std::int64_t member = 0;
        Lane lane = Lane::poll;
    };

    void post(Duration after, std::function<void()> action);
    void deliver(std::int64_t to, LaunchEvent event);
    void arm(std::int64_t i);
    void obey(std::int64_t i, LaunchCommand& command);
    void obey(std::int64_t i, const SendServerBeat& command);
    void obey(std::int64_t i, const SendMemberBeat& command);
    void obey(std::int64_t i, const AnswerMember& command);
    void obey(std::int64_t i, const BindPort& command);
    void obey(std::int64_t i, const StartRanks& command);
    void obey(std::int64_t i, const TerminateRanks& command);
    void obey(std::int64_t i, const KillRanks& command);
    void obey(std::int64_t i, const Tell& command);
    void obey(std::int64_t i, const Leave& command);
    void answer_server(const Held& held);
    void order_changed();
    void end_rank(std::size_t process, RankExit exit, bool fault);
    void peers_notice(Generation generation, std::int64_t rank, Duration ahead);
    void tick_progress(std::int64_t i, Generation generation);
    Duration latency();
    bool lost();
    void problem(std::string text);

    WorldOptions options_;
    Script script_;
    Prng prng_;
    Instant now_ = Instant{} + Duration::hours(1000);
    std::int64_t sequence_ = 0;
    struct Item {
        Instant at;
        std::int64_t sequence;
        std::function<void()> action;
        bool operator<(const Item& o) const {
            return std::pair{at, sequence} > std::pair{o.at, o.sequence};
        }
    };
    std::priority_queue<Item> queue_;
    std::vector<Launcher> launchers_;
    std::vector<Process> processes_;
    std::vector<Held> held_;
    std::map<std::int64_t, Asked> asked_; // member requests not answered yet
    std::int64_t next_reply_ = 0;
    std::int64_t next_port_ = 29'500;
    LauncherOrder order_;
    std::map<Generation, GenerationSummary> acknowledged_;
};

} // namespace muster::launch::test
