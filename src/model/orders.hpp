#pragma once
// What agents and launchers say to the control plane (beats) and what they are told (orders), and
// what launchers of one attempt say to each other. Orders are desired state: idempotent, whole,
// sent in answer to every beat. Fences: (incarnation, attempt, revision, asked); an older one is
// ignored.
//
// Long because: one page shows everything that the three parts say to each other.

#include "model/attempt.hpp"
#include "model/node.hpp"
#include "model/workload.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// How a launcher's work ended; written to its result file and carried to the server by the agent.
struct LauncherResult {
    AttemptOutcome outcome = AttemptOutcome::none; // none: this launcher was not the lead
    std::optional<ExitCause> cause;
    std::vector<GenerationSummary> generations; // closed ones not acknowledged by the server yet
    std::int64_t leftover_processes = 0;        // that survived SIGKILL
    friend bool operator==(const LauncherResult&, const LauncherResult&) = default;
};
MUSTER_DESCRIBE(LauncherResult, outcome, cause, generations, leftover_processes)

enum class HoldState {
    starting, // the launcher was ordered and not seen running yet
    running,
    stopping, // the launcher is asked to end, or died and its processes are being removed
    released, // verified: no process of this attempt is left on this node
};
MUSTER_DESCRIBE_ENUM(HoldState, starting, running, stopping, released)

/// One attempt's part on a node, as its agent knows it.
struct HeldAttempt {
    WorkloadId workload;
    AttemptNumber attempt = 0;
    std::int64_t launcher_index = 0;
    HoldState state = HoldState::starting;
    std::optional<LauncherResult> result; // once released, where the launcher left one
    std::string launcher_error;           // why there is no result: "killed by signal 9"
    friend bool operator==(const HeldAttempt&, const HeldAttempt&) = default;
};
MUSTER_DESCRIBE(HeldAttempt, workload, attempt, launcher_index, state, result, launcher_error)

/// A piece of a rank's log, read where it lies. Offsets count the bytes ever written.
struct LogChunk {
    std::int64_t rank = 0;
    NodeName node;           // whose file it is; set by the control plane
    std::int64_t from = 0;   // first byte served; above the asked one where older bytes are gone
    std::int64_t next = 0;   // ask from here next
    bool end_of_log = false; // the rank has ended and everything was served
    /// Stored log lines (docs/logs.md), whole ones. Behind a gap that rotation left they begin with
    /// the kept first errors from within it, which count for no offset.
    std::string text;
    friend bool operator==(const LogChunk&, const LogChunk&) = default;
};
MUSTER_DESCRIBE(LogChunk, rank, node, from, next, end_of_log, text)

struct LogAnswer {
    std::int64_t request = 0; // echoes LogRequest::request
    std::string error;        // empty: served
    std::vector<LogChunk> chunks;
    friend bool operator==(const LogAnswer&, const LogAnswer&) = default;
};
MUSTER_DESCRIBE(LogAnswer, request, error, chunks)

struct LogPosition {
    std::int64_t rank = 0;
    NodeName node;         // empty: on every node that has a log of the rank
    std::int64_t from = 0; // negative: that many bytes before the end
    friend bool operator==(const LogPosition&, const LogPosition&) = default;
};
MUSTER_DESCRIBE(LogPosition, rank, node, from)

/// Asks a node for log bytes of one workload. Losable: the asker asks again.
struct LogRequest {
    std::int64_t request = 0;
    WorkloadId workload;
    std::vector<LogPosition> positions; // empty: every rank known on this node, from the start
    std::int64_t bytes_max = 0;         // over all ranks
    friend bool operator==(const LogRequest&, const LogRequest&) = default;
};
MUSTER_DESCRIBE(LogRequest, request, workload, positions, bytes_max)

/// Agent to server, once a second or when something changes.
struct AgentBeat {
    InstallationId installation; // empty on the first join
    NodeName node;
    std::string boot_id; // of the machine (or of the node's run directory): a new one is a reboot
    AgentSessionId session;             // of this agent process
    std::int64_t asked = 0;             // counts this session's beats; echoed by the order
    std::int64_t order_revision = 0;    // of the order last obeyed; 0: none
    std::optional<Inventory> inventory; // on the first beat of a session and when changed
    std::vector<HeldAttempt> held;      // everything, always
    std::optional<NodeSample> sample;
    std::vector<LogAnswer> log_answers;
    friend bool operator==(const AgentBeat&, const AgentBeat&) = default;
};
MUSTER_DESCRIBE(AgentBeat, installation, node, boot_id, session, asked, order_revision, inventory,
                held, sample, log_answers)
MUSTER_REQUIRED(AgentBeat, "node", "boot_id", "session", "asked")

/// Restarts that a lead may make without asking, as known to the server.
struct RestartAllowance {
    RestartPolicy policy;
    /// Restarts of this job within the last day, oldest first, up to the placement of this attempt:
    /// the lead adds its own.
    std::vector<Instant> recent;
    /// Failures of this job in a row without a new step: of any cause, and of the program alone.
    /// The lead goes on counting from what it hears before its first failure.
    std::int64_t failures_without_step = 0;
    std::int64_t own_failures_without_step = 0;
    friend bool operator==(const RestartAllowance&, const RestartAllowance&) = default;
};
MUSTER_DESCRIBE(RestartAllowance, policy, recent, failures_without_step, own_failures_without_step)

/// One attempt that should run on a node.
struct AttemptOrder {
    WorkloadId workload;
    AttemptNumber attempt = 0;
    std::int64_t launcher_index = 0;
    WorkloadName name;
    WorkloadSpec spec;
    Placement placement;
    std::int64_t restarts = 0;   // of the job before this attempt
    RestartAllowance allowance;  // as it was at the placement: a lead may never hear the server
    std::int64_t last_step = -1; // of all earlier attempts
    friend bool operator==(const AttemptOrder&, const AttemptOrder&) = default;
};
MUSTER_DESCRIBE(AttemptOrder, workload, attempt, launcher_index, name, spec, placement, restarts,
                allowance, last_step)

/// Server to agent: all that should run on the node. What is held and not listed is to be stopped;
/// what is listed in `forget` was taken note of as released and may be dropped from beats.
struct AgentOrder {
    InstallationId installation;
    Incarnation incarnation = 0; // what this boot is called
    AgentSessionId session;      // echo: an answer for another session is ignored
    std::int64_t asked = 0;      // echo: an answer older than one obeyed is ignored
    std::int64_t revision = 0;   // rises when the order changes; comparable within one server start
    std::vector<AttemptOrder> run;
    std::vector<AttemptKey> forget;
    std::vector<LogRequest> log_requests;
    friend bool operator==(const AgentOrder&, const AgentOrder&) = default;
};
MUSTER_DESCRIBE(AttemptKey, workload, attempt)
MUSTER_DESCRIBE(AgentOrder, installation, incarnation, session, asked, revision, run, forget,
                log_requests)

enum class LauncherState {
    joining,    // not all launchers of the attempt have met
    starting,   // ranks are being started
    running,    // all ranks of the generation run
    recovering, // a generation failed: tearing down, or waiting to start the next
    stopping,
    done,
};
MUSTER_DESCRIBE_ENUM(LauncherState, joining, starting, running, recovering, stopping, done)

/// Launcher to server, on change or every 5 s. `closed` repeats until the server acknowledges it.
struct LauncherBeat {
    InstallationId installation;
    WorkloadId workload;
    AttemptNumber attempt = 0;
    std::int64_t launcher_index = 0;
    Incarnation incarnation = 0;
    std::int64_t asked = 0;
    std::int64_t order_revision = 0; // of the order last obeyed; 0: none
    std::string endpoint;            // "host:port" where peers reach this launcher
    LauncherState state = LauncherState::joining;
    Term term = 0;
    Generation generation = 0;
    std::optional<RankTable> table;        // the lead: of the generation that runs
    std::vector<GenerationSummary> closed; // the lead: ended generations, oldest first
    std::optional<Progress> progress;      // the lead: aggregate over all ranks
    friend bool operator==(const LauncherBeat&, const LauncherBeat&) = default;
};
MUSTER_DESCRIBE(LauncherBeat, installation, workload, attempt, launcher_index, incarnation, asked,
                order_revision, endpoint, state, term, generation, table, closed, progress)
MUSTER_REQUIRED(LauncherBeat, "workload", "attempt", "launcher_index", "asked")

enum class StopKind { none, cancel };
MUSTER_DESCRIBE_ENUM(StopKind, none, cancel)

/// Server to launcher: the envelope within which the lead decides.
struct LauncherOrder {
    AttemptNumber attempt = 0;
    std::int64_t asked = 0;    // echo
    std::int64_t revision = 0; // rises when the order changes; comparable within one server start
    std::int64_t lead = 0;     // launcher index
    Term term = 1;
    std::string lead_endpoint; // empty until the lead has reported it
    RestartAllowance allowance;
    Generation closed_through = 0; // summaries up to here are durable at the server
    std::int64_t last_step = -1;   // highest step of earlier attempts: below it is redo
    StopKind stop = StopKind::none;
    bool fenced = false; // this attempt is over: end all ranks and leave
    friend bool operator==(const LauncherOrder&, const LauncherOrder&) = default;
};
MUSTER_DESCRIBE(LauncherOrder, attempt, asked, revision, lead, term, lead_endpoint, allowance,
                closed_through, last_step, stop, fenced)

/// How a rank ended. At most one of code and signal is not zero.
struct RankExit {
    std::int64_t local_rank = 0;
    std::int64_t exit_code = 0;
    std::int64_t signal = 0;
    bool killed_by_us = false;   // we had already begun to end it
    bool cannot_execute = false; // exec failed: `start_error` says why
    std::string start_error;
    Instant at;                          // on its launcher's clock
    Duration lived;                      // from start to end
    std::vector<std::string> last_lines; // of its output, bounded
    std::string traceback;               // Python's last, bounded
    friend bool operator==(const RankExit&, const RankExit&) = default;
};
MUSTER_DESCRIBE(RankExit, local_rank, exit_code, signal, killed_by_us, cannot_execute, start_error,
                at, lived, last_lines, traceback)

/// What a rank's progress page says. Steps count from 0; -1: none reported in this generation.
struct RankProgress {
    std::int64_t local_rank = 0;
    std::int64_t step = -1;
    std::int64_t total = 0;
    double loss = 0;
    bool has_loss = false;
    std::int64_t samples = 0; // of this rank in this generation
    Instant first_step_at;
    Instant step_at; // of the newest step
    std::string phase;
    std::map<std::string, Duration> phases; // totals of declared phases in this generation
    std::map<std::string, double> metrics;
    friend bool operator==(const RankProgress&, const RankProgress&) = default;
};
MUSTER_DESCRIBE(RankProgress, local_rank, step, total, loss, has_loss, samples, first_step_at,
                step_at, phase, phases, metrics)

/// Member to lead, on change or every second. All fields speak of `generation`.
struct MemberBeat {
    WorkloadId workload;
    AttemptNumber attempt = 0;
    std::int64_t launcher_index = 0;
    std::int64_t asked = 0;
    std::int64_t order_revision = 0; // of the order last obeyed; 0: none
    Instant sent_at; // on its launcher's clock, as are all times below: ages are exact
    Term term = 0;
    Generation generation = 0;           // the newest that this member has taken up; 0: none
    bool started = false;                // all its ranks were started
    bool empty = true;                   // verified: none of its processes is left
    bool leaving = false;                // told to go by its node: ends its ranks and exits
    StopKind stop = StopKind::none;      // the control plane's word, where this member heard it
    std::int64_t leftover_processes = 0; // that survived SIGKILL
    std::string holders;                 // the first of them by name and pid
    std::vector<RankExit> exits;         // all of its ranks' ends in this generation
    std::vector<RankProgress> progress;
    friend bool operator==(const MemberBeat&, const MemberBeat&) = default;
};
MUSTER_DESCRIBE(MemberBeat, workload, attempt, launcher_index, asked, order_revision, sent_at, term,
                generation, started, empty, leaving, stop, leftover_processes, holders, exits,
                progress)
MUSTER_REQUIRED(MemberBeat, "workload", "attempt", "launcher_index", "asked")

enum class MemberAction {
    wait,  // not everybody is here
    run,   // run the table's generation
    clear, // end the ranks of the generation and verify that none is left
    leave, // the attempt is over: clear and exit
};
MUSTER_DESCRIBE_ENUM(MemberAction, wait, run, clear, leave)

/// Lead to member: desired state.
struct MemberOrder {
    WorkloadId workload; // with the attempt: another job's lead may have got this lead's port
    AttemptNumber attempt = 0;
    std::int64_t asked = 0; // echo
    std::int64_t revision = 0;
    Term term = 0;
    Generation generation = 0;
    MemberAction action = MemberAction::wait;
    std::optional<RankTable> table; // with run
    friend bool operator==(const MemberOrder&, const MemberOrder&) = default;
};
MUSTER_DESCRIBE(MemberOrder, workload, attempt, asked, revision, term, generation, action, table)

} // namespace muster
