#pragma once
// What the files of the control core share: the ledger, what is seen live, and the step being made.
// Internal to control/.

#include "control/core.hpp"
#include "control/live.hpp"
#include "scheduler/state.hpp"

#include <string>

namespace muster::control {

using ControlDecision = Decision<FactRecord, ControlCommand>;

/// Everything of the core. Life: the core's. Free functions of control/ work on it; `emit` is the
/// only way to change the ledger.
struct CoreState {
    ControlConfig config;
    Ledger ledger;
    scheduler::State scheduling; // kept by the same facts: scheduling_of(ledger), always
    Live live;
    Instant now;
    ControlDecision* out = nullptr; // of the step being made

    /// Makes, applies and hands out a fact, and marks whose orders it changes.
    void emit(const std::string& actor, Fact fact);
};

/// A member launcher left without a result: its lead must say why within this time.
inline constexpr Duration member_gone_limit = Duration::seconds(30);
inline constexpr const char* silent_lead = "it leads, is silent"; // begins the reason's detail then
/// A launcher that gives no sign for so long, while its agent gives signs and says that it runs, is
/// stopped or stuck: its attempt is lost. Longer than one exchange whose answer never comes: 5 s of
/// hold, 10 s for the answer, 2 s of back-off.
inline constexpr Duration launcher_silent_limit = Duration::seconds(20);
/// A cancelled attempt that does not end by itself is taken from its nodes after stop_grace and
/// this.
inline constexpr Duration cancel_extra = Duration::seconds(30);

/// The newest step of a running generation becomes a fact at most so often (GenerationProgressed),
/// and only when it moved. With many attempts each waits longer, so that all of them together make
/// at most one such fact in progress_record_share: 43,200 a day of about 0.7 kB, 30 MB.
inline constexpr Duration progress_record_interval = Duration::seconds(30);
inline constexpr Duration progress_record_share = Duration::seconds(2); // for each live attempt

/// Revisions of orders start here, so that they rise over restarts of the server too.
inline std::int64_t revision_base(const CoreState& state) {
    return state.live.began_at.ns / 1'000'000;
}

inline constexpr const char* actor_controller = "controller";
inline constexpr const char* actor_scheduler = "scheduler";
/// Its agent beat a short while ago.
inline bool in_contact(const CoreState& state, const NodeName& node) {
    const auto agent = state.live.agents.find(node);
    return agent != state.live.agents.end() &&
           state.now - agent->second.beat_at < state.config.suspect_after;
}

inline std::string actor_node(const NodeName& node) { return "node:" + node.text; }

// ---- beats.cpp: what agents and launchers say
void on_agent(CoreState& state, const AgentAsked& asked);
void on_launcher(CoreState& state, const LauncherAsked& asked);

// ---- attempts.cpp: liveness, ends, settlement
void judge_liveness(CoreState& state);
void judge_launchers(CoreState& state);
void end_attempt(CoreState& state, const WorkloadId& id, AttemptOutcome outcome,
                 const std::optional<ExitCause>& cause, const Reason& reason);
/// Takes note of summaries that are newer than what the ledger has.
void note_closed(CoreState& state, const AttemptKey& key,
                 const std::vector<GenerationSummary>& closed, const std::string& actor);
void enforce_cancels(CoreState& state);
void settle(CoreState& state);

// ---- scheduling.cpp: planning
void plan_if_needed(CoreState& state);
/// Tells the scheduler whose agents are in contact now.
void note_contact(CoreState& state);

// ---- orders.cpp: desired state and held polls
AgentOrder agent_order(const CoreState& state, const NodeName& node, const AgentLive& agent);
LauncherOrder launcher_order(const CoreState& state, const AttemptKey& key, std::int64_t asked);
/// Highest step of the attempts before `attempt`: below it a step is redone.
std::int64_t last_step_before(const WorkloadRecord& workload, AttemptNumber attempt);
/// Answers every poll whose order changed or whose hold has ended.
void answer_polls(CoreState& state);
Instant next_deadline(const CoreState& state);

// ---- serve.cpp, logs.cpp: people and programs
void on_request(CoreState& state, const RequestAsked& asked);
void on_cancelled(CoreState& state, std::int64_t reply);
void answer_awaits(CoreState& state);
void ask_logs(CoreState& state, const RequestAsked& asked, const ReadJobLogs& request);
void take_log_answer(CoreState& state, const NodeName& node, const LogAnswer& answer);
void expire_logs(CoreState& state);

// ---- views.cpp
const WorkloadRecord* find_workload(const CoreState& state, const std::string& job);
WorkloadView view_of(const CoreState& state, const WorkloadRecord& workload);
WorkloadDetail detail_of(const CoreState& state, const WorkloadRecord& workload);
WhyView why_of(const CoreState& state, const WorkloadRecord& workload);
ReportView report_of(const CoreState& state, const WorkloadRecord& workload);
NodeView view_of(const CoreState& state, const NodeRecord& node);

} // namespace muster::control
