#pragma once
// The node agent's core: obeys orders from the control plane by starting and ending launchers,
// keeps account of what it holds, and beats. No threads, clocks, sockets or files: step(now,
// event).
//
// Life: one per agent process, built by replaying the node's file journal (AgentFact), so that a
// restart of the agent leaves jobs untouched. A hold is given up only after the group of its
// processes was verified empty.
//
// Long because: a core is read with its facts, events and commands side by side.

#include "agent/ledger.hpp"
#include "base/decision.hpp"
#include "model/lane.hpp"
#include "model/orders.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::agent {

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
/// Look for a launcher that an earlier agent process started: answer LauncherStarted or
/// LauncherGone.
struct AdoptLauncher {
    AttemptKey key;
    std::int64_t pid = 0; // 0: look for its pid file
    std::int64_t start_ticks = 0;
};
/// SIGTERM to the launcher: it ends its ranks within their grace and leaves.
struct AskLauncherToLeave {
    AttemptKey key;
};
/// SIGKILL to every process of the attempt on this node, its launcher included, then verify: answer
/// GroupCleared, after LauncherGone where the launcher was still there.
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
inline constexpr Duration clear_retry = Duration::seconds(5);  // while processes survive SIGKILL
inline constexpr Duration leave_extra = Duration::seconds(10); // past stop_grace, then ClearGroup
inline constexpr Duration log_reply_life = Duration::seconds(10); // then nobody waits for it
inline constexpr std::size_t log_requests_max =
    64;                                         // remembered; further ones wait for the next order
inline constexpr std::size_t holds_max = 1'000; // not released; further ones wait

class AgentCore {
  public:
    using Record = AgentRecord;
    using Event = AgentEvent;
    using Command = AgentCommand;

    AgentCore(AgentConfig config, AgentLedger ledger);

    Decision<AgentRecord, AgentCommand> step(Instant now, const AgentEvent& event);
    const AgentLedger& ledger() const { return ledger_; }

  private:
    using Out = Decision<AgentRecord, AgentCommand>;

    struct LaneState {
        bool in_flight = false;
        std::int64_t asked = 0; // of the beat in flight
        Instant retry_at;       // not before, after a failure
        Duration retry_delay;   // zero: the last one was answered
    };
    /// What is known of a hold's processes beside the ledger; made anew after a restart.
    struct Watch {
        bool answer_pending = false; // StartLauncher or AdoptLauncher was sent and not answered
        bool clearing = false;       // ClearGroup was sent and not answered
        Instant clear_at = Instant::never();  // then ClearGroup
        std::optional<LauncherResult> result; // of a launcher that is gone
        std::string error;
    };
    /// An answer to a log request, kept until the beat that carried it was answered.
    struct LogReply {
        LogAnswer answer;
        std::optional<Lane> sent_on;
        Instant until;
    };
    struct LogAsked {
        LogRequest request;
        Instant until;
    };

    // core.cpp: events
    void on(Instant now, const Begin&, Out& out);
    void on(Instant now, const OrderArrived& event, Out& out);
    void on(Instant now, const BeatFailed& event, Out& out);
    void on(Instant now, const LauncherStarted& event, Out& out);
    void on(Instant now, const LauncherGone& event, Out& out);
    void on(Instant now, const GroupCleared& event, Out& out);
    void on(Instant now, const SampleTaken& event, Out& out);
    void on(Instant now, const LogsRead& event, Out& out);
    void on(Instant now, const Wake&, Out& out);
    void record(Instant now, AgentFact fact, Out& out);
    void begin_stopping(Instant now, const AttemptKey& key, Out& out);
    void ask_to_leave(Instant now, const AttemptKey& key, Out& out);
    void clear_group(const AttemptKey& key, Out& out);
    void clear_those_due(Instant now, Out& out);
    Hold* live_hold(const AttemptKey& key); // null: unknown or released

    // obey.cpp: orders
    bool is_for_us(const AgentOrder& order) const;
    void obey(Instant now, const AgentOrder& order, Out& out);
    void start_listed(Instant now, const AgentOrder& order, Out& out);
    void stop_unlisted(Instant now, const AgentOrder& order, Out& out);
    bool may_start(const AttemptOrder& entry) const;
    void read_logs(Instant now, const AgentOrder& order, Out& out);

    // beats.cpp: the two lanes
    LaneState& lane_state(Lane lane) { return lane == Lane::poll ? poll_ : push_; }
    void lane_answered(Lane lane, std::int64_t asked);
    void lane_failed(Instant now, Lane lane);
    void give_up(Error error, Out& out);
    void send_beats(Instant now, Out& out);
    void send_beat(Lane lane, Out& out);
    AgentBeat make_beat(Lane lane);
    Instant next_wake() const;

    AgentConfig config_;
    AgentLedger ledger_;
    LaneState poll_;
    LaneState push_;
    bool begun_ = false;
    bool gave_up_ = false;
    bool news_ = false;           // something changed since the last beat that was sent
    bool inventory_told_ = false; // an answer of this session was obeyed
    std::int64_t asked_ = 0;
    std::int64_t obeyed_asked_ = 0;
    std::int64_t asked_when_obeyed_ = 0; // newest beat sent before the order last obeyed came
    std::int64_t order_revision_ = 0;
    std::optional<NodeSample> sample_;
    std::map<AttemptKey, Watch> watches_; // one for each hold that is not released
    std::vector<LogReply> replies_;
    std::vector<LogAsked> logs_asked_;
};

} // namespace muster::agent
