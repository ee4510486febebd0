#pragma once
// Ledger: the durable truth of one installation. Changed only by apply(fact); equal ledgers compare
// equal; described, so that a snapshot is one document. What is seen live (beats, progress) is not
// here (control/live.hpp).

#include "model/facts.hpp"
#include "model/orders.hpp" // describes AttemptKey
#include "model/spec.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::control {

struct NodeRecord {
    NodeName name;
    Incarnation incarnation = 0;
    std::string boot_id;
    Inventory inventory;
    std::vector<Cordon> cordons;
    bool lost = false;
    Instant joined_at;
    Instant changed_at;
    /// Who holds each device, by device index; absent: free.
    std::map<std::int64_t, AttemptKey> holders;
    /// Attempts not reported released here, also those without devices, in the order of placement.
    std::vector<AttemptKey> attempts;
    friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
MUSTER_DESCRIBE(NodeRecord, name, incarnation, boot_id, inventory, cordons, lost, joined_at,
                changed_at, holders, attempts)

struct AttemptRecord {
    AttemptNumber number = 0;
    AttemptState state = AttemptState::placed;
    AttemptOutcome outcome = AttemptOutcome::none;
    Placement placement;
    Term term = 1;
    std::int64_t lead = 0; // launcher index
    Generation generation = 0;
    Instant placed_at;
    Instant running_since; // of the first generation; zero before
    Instant generation_at; // the newest generation was recorded as started; zero before
    Instant ended_at;      // zero while it runs
    Reason reason;
    std::optional<ExitCause> cause;
    std::vector<NodeName> holding;              // nodes not reported free yet
    std::vector<GenerationSummary> generations; // closed ones, oldest first, bounded
    std::optional<GenerationSummary> open;      // the running one, as it was last recorded
    friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};
MUSTER_DESCRIBE(AttemptRecord, number, state, outcome, placement, term, lead, generation, placed_at,
                running_since, generation_at, ended_at, reason, cause, holding, generations, open)

struct WorkloadRecord {
    WorkloadId id;
    WorkloadName name;
    WorkloadSpec spec;
    WorkloadPhase phase = WorkloadPhase::queued;
    std::string submitted_by;
    Instant submitted_at;
    Instant finished_at; // zero before
    Instant not_before;  // back-off after a requeue
    bool stop_asked = false;
    Instant stop_asked_at;
    Reason stop_reason; // who asked; none in snapshots from before it was kept
    Reason reason;      // of the newest transition
    std::int64_t exit_code = 0;
    std::string client_token;
    std::vector<AttemptRecord> attempts; // oldest first, bounded
    std::int64_t attempts_made = 0;
    std::int64_t restarts = 0; // generations after the first and attempts after the first
    std::vector<Instant> recent_restarts;       // within a day, oldest first, bounded
    std::int64_t last_step = -1;                // highest step of any closed generation
    std::int64_t failures_without_step = 0;     // in a row, of any cause
    std::int64_t own_failures_without_step = 0; // of those, the program's
    friend bool operator==(const WorkloadRecord&, const WorkloadRecord&) = default;

    const AttemptRecord* live_attempt() const;    // the one not ended, or null
    AttemptRecord* attempt(AttemptNumber number); // null: not kept
    const AttemptRecord* attempt(AttemptNumber number) const;
};
MUSTER_DESCRIBE(WorkloadRecord, id, name, spec, phase, submitted_by, submitted_at, finished_at,
                not_before, stop_asked, stop_asked_at, stop_reason, reason, exit_code, client_token,
                attempts, attempts_made, restarts, recent_restarts, last_step,
                failures_without_step, own_failures_without_step)

inline constexpr std::size_t attempts_kept_max = 32;
inline constexpr Generation generation_max = 1'000'000; // a beat that names a later one is wrong
inline constexpr std::size_t generations_kept_max = 64; // per attempt
inline constexpr std::size_t restarts_kept_max = restarts_max + 1;
inline constexpr std::size_t finished_kept_max = 2'000; // workloads, then the oldest are forgotten

struct Ledger {
    InstallationId installation;
    ClusterName cluster{"main"};
    Sequence last_sequence = 0;
    Instant last_at;
    std::map<NodeName, NodeRecord> nodes;
    std::map<WorkloadId, WorkloadRecord> workloads;
    std::map<WorkloadName, WorkloadId> alive;  // names in use by workloads that are not terminal
    std::map<WorkloadName, WorkloadId> newest; // latest bearer of each name still known
    std::map<std::string, WorkloadId> tokens;  // client tokens of known workloads
    std::vector<WorkloadId> finished;          // in the order of finishing
    friend bool operator==(const Ledger&, const Ledger&) = default;

    /// The record's sequence follows last_sequence; breaks a REQUIRE otherwise.
    void apply(const FactRecord& record);

    NodeRecord* node(const NodeName& name);
    const NodeRecord* node(const NodeName& name) const;
    WorkloadRecord* workload(const WorkloadId& id);
    const WorkloadRecord* workload(const WorkloadId& id) const;
};
MUSTER_DESCRIBE(Ledger, installation, cluster, last_sequence, last_at, nodes, workloads, alive,
                newest, tokens, finished)

inline constexpr std::int64_t snapshot_format = 1;

/// The phase that people are told: stopping from the moment at which the stop was asked for.
WorkloadPhase phase_told(const WorkloadRecord& workload);
/// In service, connected as far as the ledger knows, without a cordon.
bool accepts_work(const NodeRecord& node);

} // namespace muster::control
