#pragma once
// Views: what the API answers. Derived from the ledger and from what is seen live; never stored.

#include "model/attempt.hpp"
#include "model/node.hpp"
#include "model/orders.hpp"
#include "model/workload.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

struct NodeView {
    NodeName name;
    ClusterName cluster;
    Contact contact = Contact::lost;
    bool schedulable = false;
    std::vector<Cordon> cordons;
    Incarnation incarnation = 0;
    Inventory inventory;
    std::int64_t devices = 0;
    std::int64_t devices_used = 0;
    std::vector<WorkloadName> workloads;
    Instant joined_at;
    Duration since_beat; // negative: none since the server started
    std::optional<NodeSample> sample;
};
MUSTER_DESCRIBE(NodeView, name, cluster, contact, schedulable, cordons, incarnation, inventory,
                devices, devices_used, workloads, joined_at, since_beat, sample)

struct RankView {
    std::int64_t rank = 0;
    RoleName role;
    NodeName node;
    std::int64_t local_rank = 0;
    std::vector<std::int64_t> devices;
};
MUSTER_DESCRIBE(RankView, rank, role, node, local_rank, devices)

struct AttemptView {
    AttemptNumber number = 0;
    AttemptState state = AttemptState::placed;
    AttemptOutcome outcome = AttemptOutcome::none;
    Term term = 1;
    Generation generation = 0;
    Placement placement;
    Instant placed_at;
    Instant ended_at; // zero while it runs
    Reason reason;    // of its admission, then of its end
    std::optional<ExitCause> cause;
    std::vector<GenerationSummary> generations; // closed ones
    std::vector<NodeName> holding;              // nodes whose devices are not free yet
};
MUSTER_DESCRIBE(AttemptView, number, state, outcome, term, generation, placement, placed_at,
                ended_at, reason, cause, generations, holding)

struct WorkloadView {
    WorkloadId id;
    WorkloadName name;
    ClusterName cluster;
    WorkloadPhase phase = WorkloadPhase::queued;
    WorkloadCondition condition = WorkloadCondition::none;
    std::int64_t priority = 50;
    std::int64_t ranks = 0;
    std::int64_t devices = 0;
    std::string submitted_by;
    Instant submitted_at;
    Instant started_at;  // of the first attempt's first generation; zero before
    Instant finished_at; // zero before
    std::int64_t attempt = 0;
    std::int64_t restarts = 0; // over all attempts
    Progress progress;
    std::optional<std::int64_t> exit_code; // once finished
    Reason reason;                         // of the newest transition
    std::vector<NodeName> nodes;
};
MUSTER_DESCRIBE(WorkloadView, id, name, cluster, phase, condition, priority, ranks, devices,
                submitted_by, submitted_at, started_at, finished_at, attempt, restarts, progress,
                exit_code, reason, nodes)

/// One workload with everything.
struct WorkloadDetail {
    WorkloadView workload;
    WorkloadSpec spec;
    std::vector<AttemptView> attempts;
    std::vector<RankView> ranks; // of the generation that runs, where known
};
MUSTER_DESCRIBE(WorkloadDetail, workload, spec, attempts, ranks)

struct WhyItem {
    Reason reason;
    std::string text;
    std::string unblocks_when;
};
MUSTER_DESCRIBE(WhyItem, reason, text, unblocks_when)

struct WhyView {
    WorkloadName name;
    WorkloadPhase phase = WorkloadPhase::queued;
    std::vector<WhyItem> items; // all reasons that hold now; then how it came here
};
MUSTER_DESCRIBE(WhyView, name, phase, items)

/// One row of the goodput account: accelerator time spent for one purpose.
struct AccountRow {
    std::string category; // docs/goodput.md
    Duration time;        // summed over devices (over ranks where a job has no devices)
    std::int64_t share_per_million = 0; // the rows sum to exactly 1,000,000
};
MUSTER_DESCRIBE(AccountRow, category, time, share_per_million)

struct RestartView {
    AttemptNumber attempt = 0;
    Generation generation = 0; // that ended
    Reason reason;
    std::optional<ExitCause> cause;
    Instant fault_at;
    Duration detect;   // fault to known
    Duration teardown; // known to nothing left
    Duration restart;  // nothing left to the next generation's ranks started
    Duration to_step;  // started to the first step
    Duration redo;     // first step to past the last step before
    std::int64_t lost_steps = 0;
};
MUSTER_DESCRIBE(RestartView, attempt, generation, reason, cause, fault_at, detect, teardown,
                restart, to_step, redo, lost_steps)

struct ReportView {
    WorkloadName name;
    WorkloadPhase phase = WorkloadPhase::queued;
    std::int64_t exit_code = 0;
    bool progress_reported = false;
    std::int64_t steps = 0; // highest step reached, counted from 1
    std::int64_t total_steps = 0;
    std::optional<double> first_loss;
    std::optional<double> last_loss;
    std::int64_t samples = 0;
    Duration wall; // submitted to finished (or now)
    Duration queued;
    std::vector<AccountRow> account;
    std::vector<RestartView> restarts;
    std::vector<std::string> notes; // anomalies and what could not be measured
};
MUSTER_DESCRIBE(ReportView, name, phase, exit_code, progress_reported, steps, total_steps,
                first_loss, last_loss, samples, wall, queued, account, restarts, notes)

/// What people and programs read of a fact.
struct EventView {
    Sequence sequence = 0;
    Instant at;
    std::string level;   // info, warning, error
    std::string type;    // the fact's tag
    std::string subject; // "job/charlm", "node/n1"
    std::string actor;
    std::string text;
};
MUSTER_DESCRIBE(EventView, sequence, at, level, type, subject, actor, text)

struct JobLogs {
    std::vector<LogChunk> chunks;
    bool finished = false;           // the job is over and everything was served
    std::vector<std::string> errors; // nodes that could not be asked
};
MUSTER_DESCRIBE(JobLogs, chunks, finished, errors)

struct ServerView {
    InstallationId installation;
    ClusterName cluster;
    std::string version;
    Instant now;
    Sequence facts = 0;
    std::int64_t nodes = 0;
    std::int64_t workloads = 0;
};
MUSTER_DESCRIBE(ServerView, installation, cluster, version, now, facts, nodes, workloads)

} // namespace muster
