#pragma once
// The node agent's core: obeys orders from the control plane by starting and ending launchers, keeps
// account of what it holds, and beats. No threads, clocks, sockets or files: step(now, event).
//
// Life: one per agent process, built by replaying the node's file journal (AgentFact), so that a
// restart of the agent leaves jobs untouched. A hold is given up only after the group of its
// processes was verified empty.
//
// Long because: a core is read with its facts, events and commands side by side.

#include "base/decision.hpp"
#include "model/lane.hpp"
#include "model/orders.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::agent {

// ---- facts: the node's own journal, which survives the agent but not the machine
struct HoldTaken {
    AttemptOrder order;
    Incarnation incarnation = 0;
};
struct LauncherRuns {
    AttemptKey key;
    std::int64_t pid = 0;
    std::int64_t start_ticks = 0; // /proc/PID/stat field 22: tells a reused pid apart
};
struct HoldStopping {
    AttemptKey key;
};
struct HoldReleased {
    AttemptKey key;
    std::optional<LauncherResult> result;
    std::string launcher_error;
};
struct HoldForgotten {
    AttemptKey key;
};
MUSTER_DESCRIBE(HoldTaken, order, incarnation)
MUSTER_DESCRIBE(LauncherRuns, key, pid, start_ticks)
MUSTER_DESCRIBE(HoldStopping, key)
MUSTER_DESCRIBE(HoldReleased, key, result, launcher_error)
MUSTER_DESCRIBE(HoldForgotten, key)
/// The installation that this node belongs to and how it calls this boot.
struct NodeAdmitted {
    InstallationId installation;
    Incarnation incarnation = 0;
};
MUSTER_DESCRIBE(NodeAdmitted, installation, incarnation)
using AgentFact =
    std::variant<NodeAdmitted, HoldTaken, LauncherRuns, HoldStopping, HoldReleased, HoldForgotten>;
struct AgentRecord {
    Sequence sequence = 0;
    Instant at;
    AgentFact fact;
};
MUSTER_DESCRIBE(AgentRecord, sequence, at, fact)

// ---- state
struct Hold {
    AttemptOrder order;
    Incarnation incarnation = 0;
    HoldState state = HoldState::starting;
    std::int64_t pid = 0; // 0: not known to run
    std::int64_t start_ticks = 0;
    std::optional<LauncherResult> result;
    std::string launcher_error;
};

/// Everything that the agent's journal says. Replay: apply() over all records.
struct AgentLedger {
    InstallationId installation;
    Incarnation incarnation = 0;
    Sequence last_sequence = 0;
    std::map<AttemptKey, Hold> holds;

    void apply(const AgentRecord& record);
};

struct AgentConfig {
    NodeName node;
    std::string boot_id;
    AgentSessionId session;
    Inventory inventory;
    InstallationId installation; // expected; empty: take the first that answers
};

// ---- events
/// Once, after construction: adopt what the ledger holds and begin to beat.
struct Begin {};
struct OrderArrived {
    Lane lane = Lane::poll;
    AgentOrder order;
};
/// The request got no order: lost, timed out, refused. Refusals say why in `error`.
struct BeatFailed {
    Lane lane = Lane::poll;
    Error error;
};
struct LauncherStarted {
    AttemptKey key;
    std::int64_t pid = 0; // 0: it could not be started, `error` says why
    std::int64_t start_ticks = 0;
    std::string error;
};
/// The launcher's process is gone (or an adopted one was not there any more).
struct LauncherGone {
    AttemptKey key;
    std::optional<LauncherResult> result; // its result file, if it wrote one
    std::string error;                    // "killed by signal 9"; empty after a clean exit
};
/// The whole process group of the attempt was ended and looked at.
struct GroupCleared {
    AttemptKey key;
    std::int64_t leftover = 0; // processes that survived SIGKILL (D state); 0: verified empty
};
struct SampleTaken {
    NodeSample sample;
};
struct LogsRead {
    LogAnswer answer;
};
struct Wake {};
using AgentEvent = std::variant<Begin, OrderArrived, BeatFailed, LauncherStarted, LauncherGone,
                                GroupCleared, SampleTaken, LogsRead, Wake>;

// ---- commands
struct SendBeat {
    Lane lane = Lane::poll;
    AgentBeat beat;
};
struct StartLauncher {
    AttemptOrder order;
    Incarnation incarnation = 0;
};
/// Look for a launcher that an earlier agent process started: answer LauncherStarted or LauncherGone.
struct AdoptLauncher {
    AttemptKey key;
    std::int64_t pid = 0; // 0: look for its pid file
    std::int64_t start_ticks = 0;
};
/// SIGTERM to the launcher: it ends its ranks within their grace and leaves.
struct AskLauncherToLeave {
    AttemptKey key;
};
/// SIGKILL to every process of the attempt on this node, then verify: answer GroupCleared.
struct ClearGroup {
    AttemptKey key;
};
struct ReadLogs {
    LogRequest request;
};
/// The installation is not ours, or the token is wrong: beating is pointless. Tell and end.
struct GiveUp {
    Error error;
};
using AgentCommand = std::variant<SendBeat, StartLauncher, AdoptLauncher, AskLauncherToLeave,
                                  ClearGroup, ReadLogs, GiveUp>;

inline constexpr Duration beat_interval = Duration::seconds(1);
inline constexpr Duration beat_retry_first = Duration::millis(100); // doubles up to
inline constexpr Duration beat_retry_max = Duration::seconds(2);
inline constexpr Duration clear_retry = Duration::seconds(5); // while processes survive SIGKILL
inline constexpr Duration leave_extra = Duration::seconds(10); // past stop_grace, then ClearGroup

class AgentCore {
  public:
    using Record = AgentRecord;
    using Event = AgentEvent;
    using Command = AgentCommand;

    AgentCore(AgentConfig config, AgentLedger ledger);

    Decision<AgentRecord, AgentCommand> step(Instant now, const AgentEvent& event);
    const AgentLedger& ledger() const { return ledger_; }

  private:
    struct LaneState {
        bool in_flight = false;
        Instant retry_at;      // not before, after a failure
        Duration retry_delay;  // zero: the last one was answered
    };
    struct LeaveAsked {
        Instant deadline; // then ClearGroup
        bool clearing = false;
    };

    AgentConfig config_;
    AgentLedger ledger_;
    LaneState poll_;
    LaneState push_;
    bool news_ = false;         // something changed since the last beat that was sent
    bool inventory_told_ = false;
    std::int64_t asked_ = 0;
    std::int64_t obeyed_asked_ = 0;
    std::int64_t order_revision_ = 0;
    std::optional<NodeSample> sample_;
    std::vector<LogAnswer> answers_;
    std::map<AttemptKey, LeaveAsked> leaving_;

    // The implementing file may add private members and helpers as it needs.
};

} // namespace muster::agent
