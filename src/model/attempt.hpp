#pragma once
// Attempt: one gang placement of a workload. The control plane owns attempts; the lead launcher
// owns the generations (rank tables) within one.

#include "base/time.hpp"
#include "model/describe.hpp"
#include "model/ids.hpp"
#include "model/reason.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Room for one rank on a node: the role it belongs to and the devices it gets.
struct Seat {
    RoleName role;
    std::vector<std::int64_t> devices; // indices on the node; empty for roles without devices
    friend bool operator==(const Seat&, const Seat&) = default;
};
MUSTER_DESCRIBE(Seat, role, devices)

/// The part of a placement on one node: one launcher runs its seats.
struct PlacedNode {
    NodeName node;
    Incarnation incarnation = 0;
    std::vector<Seat> seats;
    friend bool operator==(const PlacedNode&, const PlacedNode&) = default;
};
MUSTER_DESCRIBE(PlacedNode, node, incarnation, seats)

/// Where an attempt runs. A launcher's index is its position in `nodes`.
struct Placement {
    std::int64_t revision = 1; // grow, shrink and swap raise it
    std::vector<PlacedNode> nodes;
    friend bool operator==(const Placement&, const Placement&) = default;
};
MUSTER_DESCRIBE(Placement, revision, nodes)

enum class AttemptState { placed, starting, running, stopping, ended };
MUSTER_DESCRIBE_ENUM(AttemptState, placed, starting, running, stopping, ended)

enum class AttemptOutcome { none, succeeded, failed, cancelled, lost };
MUSTER_DESCRIBE_ENUM(AttemptOutcome, none, succeeded, failed, cancelled, lost)

/// Exit codes of jobs that no rank gave one: the attempt is lost, the job may not be (EX_TEMPFAIL);
/// cancelled, as after SIGTERM.
inline constexpr std::int64_t exit_lost = 75;
inline constexpr std::int64_t exit_cancelled = 143;

/// The first cause of an end. `consequences` names ranks that only followed.
struct ExitCause {
    Reason reason;
    std::optional<std::int64_t> rank; // the rank at fault, where it was a rank
    NodeName node;
    std::int64_t exit_code = 0;          // the job's: the rank's code, or 128 + signal
    std::vector<std::string> last_lines; // of the rank at fault, bounded
    std::string traceback;               // Python's, where there was one, bounded
    std::vector<std::int64_t> consequences;
    friend bool operator==(const ExitCause&, const ExitCause&) = default;
};
MUSTER_DESCRIBE(ExitCause, reason, rank, node, exit_code, last_lines, traceback, consequences)

/// One rank of a generation as the lead numbered it.
struct RankRow {
    std::int64_t rank = 0;       // over all roles
    std::int64_t role_rank = 0;  // within its role
    std::int64_t local_rank = 0; // within its launcher
    std::int64_t launcher = 0;   // index of its launcher
    RoleName role;
    std::vector<std::int64_t> devices;
    friend bool operator==(const RankRow&, const RankRow&) = default;
};
MUSTER_DESCRIBE(RankRow, rank, role_rank, local_rank, launcher, role, devices)

/// The rank table of one generation with its fence.
struct RankTable {
    Term term = 0;
    Generation generation = 0;
    std::string master_address; // where rank 0 of the job meets the others
    std::int64_t master_port = 0;
    std::int64_t restarts = 0; // earlier generations and attempts of this job
    std::vector<RankRow> ranks;
    friend bool operator==(const RankTable&, const RankTable&) = default;
};
MUSTER_DESCRIBE(RankTable, term, generation, master_address, master_port, restarts, ranks)

/// What a closed generation leaves: enough for the goodput account, from facts alone.
/// All times are on the lead's clock; zero (Instant{0}) means "did not happen".
struct GenerationSummary {
    Generation generation = 0;
    Instant began_at;      // the lead fixed the table (or the attempt was placed, for the first)
    Instant started_at;    // all ranks were started
    Instant first_step_at; // first step reported by the slowest rank
    Instant caught_up_at;  // passed the last step of earlier generations: redo ended
    Instant last_step_at;  // last step reported by all ranks
    Instant fault_at;      // best knowledge of when the fault happened
    Instant detected_at;   // the lead knew
    Instant torn_down_at;  // verified that no process was left
    std::int64_t first_step = -1;
    std::int64_t last_step = -1;
    std::int64_t total_steps = 0; // as the job announced; 0 if not
    double first_loss = 0;
    double last_loss = 0;
    bool has_loss = false;
    std::int64_t samples = 0;               // in all, over all ranks
    std::map<std::string, Duration> phases; // declared phases, e.g. "checkpoint"; of rank 0
    std::optional<ExitCause> cause;         // why it ended; absent for success
    friend bool operator==(const GenerationSummary&, const GenerationSummary&) = default;
};
MUSTER_DESCRIBE(GenerationSummary, generation, began_at, started_at, first_step_at, caught_up_at,
                last_step_at, fault_at, detected_at, torn_down_at, first_step, last_step,
                total_steps, first_loss, last_loss, has_loss, samples, phases, cause)

/// Progress of a running job, newest first known; not a fact.
struct Progress {
    bool reported = false; // false: the job never called progress()
    std::int64_t step = -1;
    std::int64_t total = 0;
    double loss = 0;
    bool has_loss = false;
    double samples_per_second = 0;
    Duration eta = Duration{-1}; // negative: not known
    std::string phase;
    std::map<std::string, double> metrics;
    friend bool operator==(const Progress&, const Progress&) = default;
};
MUSTER_DESCRIBE(Progress, reported, step, total, loss, has_loss, samples_per_second, eta, phase,
                metrics)

} // namespace muster
