#pragma once
// What a node's own journal says: facts, and the ledger that they build. The journal survives the
// agent's process, not the machine: another boot id voids it. Replay: apply() over all records.

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
    friend bool operator==(const Hold&, const Hold&) = default;
};

/// Everything that the agent's journal says. Replay: apply() over all records.
struct AgentLedger {
    InstallationId installation;
    Incarnation incarnation = 0;
    Sequence last_sequence = 0;
    std::map<AttemptKey, Hold> holds;
    friend bool operator==(const AgentLedger&, const AgentLedger&) = default;

    /// The record's sequence follows last_sequence; breaks a REQUIRE otherwise.
    void apply(const AgentRecord& record);
};

/// The fewest records that build this ledger again, numbered from 1: what a journal is shortened to
/// when an agent starts. Forgotten holds leave no trace.
std::vector<AgentRecord> shortest_records(const AgentLedger& ledger, Instant at);

} // namespace muster::agent
