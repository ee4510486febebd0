#pragma once
// Live: what the control plane sees and never journals: beats, progress, held polls, log requests.
// Rebuilt from beats after a restart; an empty sighting is no evidence (judge_liveness).

#include "control/requests.hpp"
#include "model/facts.hpp"
#include "model/orders.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::control {

/// A request that is held until the order changes or `until` comes.
struct HeldPoll {
    std::int64_t reply = 0;
    std::int64_t asked = 0;
    Instant until;
};

struct AgentLive {
    AgentSessionId session;
    std::string boot_id;
    Instant beat_at;                // of the newest beat
    std::int64_t asked = 0;         // newest
    std::int64_t told_revision = 0; // that the agent says it obeyed
    std::int64_t revision = 0;      // of its order now
    std::set<AttemptKey> forget;    // reported released and settled
    std::optional<NodeSample> sample;
    /// Launchers that it says run, and since when it says so without a gap in its own beats.
    std::map<AttemptKey, Instant> running;
    std::optional<HeldPoll> poll;
    std::map<std::int64_t, LogRequest> log_requests;
    std::optional<AgentOrder> last_order; // content of `revision`, to see a change
};

struct LauncherLive {
    Instant beat_at;
    std::int64_t asked = 0;
    std::int64_t told_revision = 0;
    std::string endpoint;
    LauncherState state = LauncherState::joining;
    std::optional<HeldPoll> poll;
};

/// An attempt while it runs.
struct AttemptLive {
    std::int64_t revision = 0; // of its launchers' orders now
    std::map<std::int64_t, LauncherLive> launchers;
    std::optional<Progress> progress;
    std::optional<RankTable> table;
    GenerationSummary open;                  // the running generation, as seen from here
    Instant recorded_at;                     // its progress was recorded, or it came into sight
    std::optional<LauncherOrder> last_order; // content of `revision`, to see a change
};

/// Answers that are due at the end of the step, when all that it changes is known.
struct AgentReply {
    std::int64_t reply = 0;
    std::int64_t asked = 0;
    NodeName node;
};
struct LauncherReply {
    std::int64_t reply = 0;
    std::int64_t asked = 0;
    AttemptKey key;
};
struct WorkloadReply {
    std::int64_t reply = 0;
    WorkloadId workload;
    bool submit = false; // answer Submitted, else WorkloadDetail
    bool existed = false;
};

struct HeldAwait {
    WorkloadId workload;
    Instant until;
};

struct PendingLogs {
    std::int64_t reply = 0;
    WorkloadId workload;
    std::set<NodeName> waiting;
    JobLogs answer;
    bool all_ended = true;
    Instant until;
};

struct Live {
    Instant began_at;
    Instant listens_since;               // liveness is judged from here on
    Instant wake_due = Instant::never(); // asked for by the last step
    bool plan_needed = true;
    Instant plan_at = Instant::never();            // the next end of a back-off
    Instant judge_at;                              // the next time at which a node may be lost
    Instant judge_launchers_at = Instant::never(); // and at which a launcher may be silent for long
    std::map<NodeName, AgentLive> agents;
    std::map<AttemptKey, AttemptLive> attempts;
    std::set<std::pair<Instant, std::int64_t>> deadlines; // of everything held, by reply
    std::map<std::int64_t, NodeName> agent_polls;         // reply -> who
    std::map<std::int64_t, std::pair<AttemptKey, std::int64_t>> launcher_polls;
    std::map<std::int64_t, HeldAwait> awaits; // by reply
    std::map<std::int64_t, PendingLogs> logs; // by log request number
    std::int64_t last_log_request = 0;
    std::set<NodeName> changed_agents; // orders to look at in this step
    std::set<AttemptKey> changed_attempts;
    std::vector<AgentReply> agent_replies;
    std::vector<LauncherReply> launcher_replies;
    std::vector<WorkloadReply> workload_replies;
    std::set<NodeName> polled_agents; // whose new polls may be answerable already
    std::set<std::pair<AttemptKey, std::int64_t>> polled_launchers;
    /// Launchers (attempt, index) that left without a result, and since when.
    std::map<std::pair<AttemptKey, std::int64_t>, Instant> members_gone;
    std::set<WorkloadId> stopping;          // ended attempts, to be settled
    std::set<WorkloadId> changed_workloads; // whose awaits are to be looked at
    std::optional<WorkloadId> blocker;      // of the last plan: others wait behind it
};

} // namespace muster::control
