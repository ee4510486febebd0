#pragma once
// The launcher's core: one launcher per machine and attempt. Launchers of an attempt meet at the
// lead (launcher 0 of the placement unless the order says otherwise); the lead fixes generations
// (rank tables), watches all ranks, finds the first cause of a failure, and restarts the gang
// within its allowance. Standalone `muster launch` is the same core with one launcher and no
// server.
//
// It keeps nothing over a crash: ranks do not survive their launcher (the agent ends them).

#include "base/decision.hpp"
#include "model/lane.hpp"
#include "model/orders.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::launch {

struct LaunchConfig {
    InstallationId installation;
    Incarnation incarnation = 0;
    AttemptOrder order;      // spec, placement and our index
    std::string address;     // where peers reach this machine: MASTER_ADDR if we lead
    std::string endpoint;    // host:port of our own listener, for members
    bool standalone = false; // no server: never beat, allowance from the spec
};

// ---- events
struct Begin {};
struct ServerSaid {
    Lane lane = Lane::poll;
    LauncherOrder order;
};
struct ServerSilent {
    Lane lane = Lane::poll;
    Error error;
};
/// A member asks the lead. `reply` names the request to answer with AnswerMember.
struct MemberAsked {
    std::int64_t reply = 0;
    MemberBeat beat;
    Duration hold; // the answer may be held this long while nothing changes
};
struct LeadSaid {
    Lane lane = Lane::poll;
    MemberOrder order;
};
struct LeadSilent {
    Lane lane = Lane::poll;
    Error error;
};
/// Answer to BindPort; port 0: failed.
struct PortBound {
    Generation generation = 0;
    std::int64_t port = 0;
    std::string error;
};
/// The processes were created (or exec failed: then RankExited with cannot_execute follows).
struct RanksStarted {
    Generation generation = 0;
};
struct RankExited {
    Generation generation = 0;
    RankExit exit;
};
/// Answer to KillRanks: verified, nothing of the generation is left (or `leftover` survive).
struct RanksCleared {
    Generation generation = 0;
    std::int64_t leftover = 0;
    std::string holders = {}; // who survives, for people: "python3 (pid 7, state D), ..."
};
struct ProgressRead {
    Generation generation = 0;
    std::vector<RankProgress> ranks; // of this launcher
};
/// The launcher itself got SIGTERM or SIGINT (from its agent, or a person).
struct LeaveAsked {
    std::int64_t signal = 0;
};
struct Wake {};
using LaunchEvent =
    std::variant<Begin, ServerSaid, ServerSilent, MemberAsked, LeadSaid, LeadSilent, PortBound,
                 RanksStarted, RankExited, RanksCleared, ProgressRead, LeaveAsked, Wake>;

// ---- commands
struct SendServerBeat {
    Lane lane = Lane::poll;
    LauncherBeat beat;
};
struct SendMemberBeat {
    Lane lane = Lane::poll;
    std::string endpoint; // of the lead
    MemberBeat beat;
};
struct AnswerMember {
    std::int64_t reply = 0;
    MemberOrder order;
};
/// Keep a rendezvous port for the generation (bound, never listening; docs/launch.md).
struct BindPort {
    Generation generation = 0;
};
/// Start our rows of the table. Each rank gets its environment, log, progress page and a group.
struct StartRanks {
    RankTable table;
};
/// SIGTERM to every process of the generation here.
struct TerminateRanks {
    Generation generation = 0;
};
/// SIGKILL to every process of the generation here, verify: answer RanksCleared. Idempotent.
struct KillRanks {
    Generation generation = 0;
};
/// A line for the person in front of a standalone launcher and for the launcher's own log.
struct Tell {
    std::string text;
};
/// Write the result file and end the launcher's process with `exit_code`.
struct Leave {
    LauncherResult result;
    std::int64_t exit_code = 0;
};
using LaunchCommand = std::variant<SendServerBeat, SendMemberBeat, AnswerMember, BindPort,
                                   StartRanks, TerminateRanks, KillRanks, Tell, Leave>;

inline constexpr Duration server_beat_interval = Duration::seconds(5);
inline constexpr Duration member_beat_interval = Duration::seconds(1);
inline constexpr Duration progress_beat_interval = Duration::millis(500); // push, when it changed
inline constexpr Duration beat_retry_first = Duration::millis(50);        // doubles up to
inline constexpr Duration beat_retry_max = Duration::seconds(2);
inline constexpr Duration gather_limit = Duration::minutes(5); // launchers must meet within
inline constexpr Duration kill_retry = Duration::seconds(5);   // while processes survive SIGKILL
inline constexpr Duration kill_limit = Duration::seconds(60);  // then end with teardown_stuck
inline constexpr Duration cause_window =
    Duration::millis(200); // exits this close compete to be first
inline constexpr Duration farewell_limit =
    Duration::seconds(20); // members told to leave, lead waits
inline constexpr Duration goodbye_limit =
    Duration::seconds(2); // a member's last beat, then it goes
inline constexpr Duration member_silent_limit = Duration::seconds(15); // then the attempt is lost
inline constexpr Duration lead_silent_limit = Duration::seconds(15); // then a member ends its ranks
inline constexpr Duration failure_grace_max = Duration::seconds(2);  // a broken gang saves nothing
inline constexpr Duration alike_wait = Duration::seconds(3);  // early failures: do all fail alike?
inline constexpr Duration start_limit = Duration::minutes(2); // table sent to all ranks created
inline constexpr Duration bind_limit = Duration::seconds(10); // BindPort to PortBound
inline constexpr Duration bind_retry = Duration::seconds(1);
inline constexpr std::int64_t bind_tries_max = 5;
inline constexpr Duration answer_min = Duration::millis(100); // polls answered sooner without news
inline constexpr Duration stall_limit =
    Duration::seconds(1); // woken later: we were stopped, not they

inline constexpr std::int64_t exit_signalled = 128; // + signal

class LaunchCore {
  public:
    using Record = NoRecord;
    using Event = LaunchEvent;
    using Command = LaunchCommand;

    explicit LaunchCore(LaunchConfig config);
    ~LaunchCore();
    LaunchCore(LaunchCore&&) noexcept;
    LaunchCore& operator=(LaunchCore&&) noexcept;

    Decision<NoRecord, LaunchCommand> step(Instant now, const LaunchEvent& event);

  private:
    struct State; // state.hpp
    std::unique_ptr<State> state_;
};

} // namespace muster::launch
