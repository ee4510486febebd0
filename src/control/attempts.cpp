// Liveness, the ends of attempts and what follows from them.

#include "base/text.hpp"
#include "control/core_state.hpp"
#include "recovery/recovery.hpp"

#include <algorithm>

namespace muster::control {
namespace {

std::int64_t whole_seconds(Duration d) { return d.ns / 1'000'000'000; }

Instant last_contact(const CoreState& state, const NodeRecord& node) {
    Instant newest = state.live.listens_since; // nothing seen since the start is no evidence yet
    const auto agent = state.live.agents.find(node.name);
    if (agent != state.live.agents.end() && agent->second.boot_id == node.boot_id)
        newest = std::max(newest, agent->second.beat_at);
    for (const auto& key : node.attempts) {
        const auto live = state.live.attempts.find(key);
        const auto* workload = state.ledger.workload(key.workload);
        const auto* attempt = workload == nullptr ? nullptr : workload->attempt(key.attempt);
        if (live == state.live.attempts.end() || attempt == nullptr) continue;
        for (const auto& [index, launcher] : live->second.launchers)
            if (attempt->placement.nodes[static_cast<std::size_t>(index)].node == node.name)
                newest = std::max(newest, launcher.beat_at);
    }
    return newest;
}

void lose_node(CoreState& state, const NodeName& name, Duration silent) {
    const auto& node = *state.ledger.node(name);
    state.emit(actor_controller, NodeLost{name,
                                          node.incarnation,
                                          {ReasonCode::no_contact, name.text, whole_seconds(silent),
                                           whole_seconds(state.config.lost_after), ""}});
    const auto held = node.attempts;
    for (const auto& key : held) {
        const auto* workload = state.ledger.workload(key.workload);
        const auto* live = workload == nullptr ? nullptr : workload->live_attempt();
        if (live != nullptr && live->number == key.attempt)
            end_attempt(state, key.workload, AttemptOutcome::lost, std::nullopt,
                        {ReasonCode::node_lost, name.text, whole_seconds(silent), 0, ""});
    }
}

/// The generation that ran when the attempt was taken away: closed from what was last heard of it,
/// or else from what was last recorded.
void close_open_generation(CoreState& state, const AttemptKey& key, const Reason& reason) {
    const auto live = state.live.attempts.find(key);
    const auto* attempt = state.ledger.workload(key.workload)->attempt(key.attempt);
    if (attempt->generation == 0) return;
    const bool recorded = !attempt->generations.empty() &&
                          attempt->generations.back().generation >= attempt->generation;
    if (recorded) return;
    GenerationSummary summary;
    if (live != state.live.attempts.end() && live->second.open.generation == attempt->generation)
        summary = live->second.open;
    else if (attempt->open)
        summary = *attempt->open;
    summary.generation = attempt->generation;
    if (summary.began_at == Instant{}) summary.began_at = attempt->generation_at;
    if (summary.started_at == Instant{}) summary.started_at = attempt->generation_at;
    summary.fault_at = std::max(summary.last_step_at, summary.started_at);
    summary.detected_at = state.now;
    summary.torn_down_at = state.now;
    ExitCause cause;
    cause.reason = reason;
    summary.cause = cause;
    state.emit(actor_controller, GenerationClosed{key.workload, key.attempt, summary, reason});
}

/// Nodes whose release is still to come: a lost node cannot report, its devices stay held.
bool waits_for_release(const CoreState& state, const WorkloadRecord& workload) {
    for (const auto& attempt : workload.attempts)
        for (const auto& name : attempt.holding)
            if (!state.ledger.node(name)->lost) return true;
    return false;
}

std::int64_t exit_code_of(const AttemptRecord& attempt) {
    if (attempt.outcome == AttemptOutcome::succeeded) return 0;
    if (attempt.cause && attempt.cause->exit_code != 0) return attempt.cause->exit_code;
    return attempt.outcome == AttemptOutcome::cancelled ? exit_cancelled : exit_lost;
}

void finish(CoreState& state, const WorkloadRecord& workload, WorkloadPhase phase,
            std::int64_t exit_code, const Reason& reason) {
    state.emit(actor_controller, WorkloadFinished{workload.id, phase, exit_code, reason});
}

/// Somebody cancelled it, whatever its last attempt ended of.
Reason cancel_reason(const WorkloadRecord& workload, const Reason& otherwise) {
    return workload.stop_reason.code == ReasonCode::none ? otherwise : workload.stop_reason;
}

/// A lost attempt: another one within the budget, or a verdict.
void recover(CoreState& state, const WorkloadRecord& workload, const AttemptRecord& attempt) {
    recovery::Failure failure;
    failure.cause.reason = attempt.reason;
    failure.ranks = total_ranks(workload.spec);
    // It makes the next attempt wait, but only the budget stops the job.
    failure.lost = true;
    // The ledger has counted this failure already.
    failure.failures_without_step = std::max<std::int64_t>(workload.failures_without_step - 1, 0);
    failure.stepped = workload.failures_without_step <= 1;
    RestartAllowance allowance;
    allowance.policy = workload.spec.restarts;
    allowance.recent = workload.recent_restarts;
    const auto remedy = recovery::remedy_for(failure, allowance, state.now);
    if (remedy.action == recovery::Action::restart)
        state.emit(actor_controller,
                   WorkloadRequeued{workload.id, attempt.reason, state.now + remedy.delay});
    else
        finish(state, workload, WorkloadPhase::failed, exit_code_of(attempt), remedy.reason);
}

/// True once nothing is left to be decided for the workload.
bool settle_one(CoreState& state, const WorkloadId& id) {
    const auto& workload = *state.ledger.workload(id);
    if (is_terminal(workload.phase)) return true;
    if (workload.phase == WorkloadPhase::queued) {
        if (!workload.stop_asked) return true;
        finish(state, workload, WorkloadPhase::cancelled, exit_cancelled,
               cancel_reason(workload, workload.reason));
        return true;
    }
    if (workload.phase != WorkloadPhase::stopping) return false; // a cancel on its way
    if (waits_for_release(state, workload)) return false;
    const auto& attempt = workload.attempts.back();
    switch (attempt.outcome) {
    case AttemptOutcome::succeeded:
        finish(state, workload, WorkloadPhase::succeeded, 0, attempt.reason);
        break;
    case AttemptOutcome::cancelled:
        finish(state, workload, WorkloadPhase::cancelled, exit_code_of(attempt),
               cancel_reason(workload, attempt.reason));
        break;
    case AttemptOutcome::failed:
        finish(state, workload, WorkloadPhase::failed, exit_code_of(attempt), attempt.reason);
        break;
    case AttemptOutcome::lost:
    case AttemptOutcome::none:
        if (workload.stop_asked)
            finish(state, workload, WorkloadPhase::cancelled, exit_cancelled,
                   cancel_reason(workload, attempt.reason));
        else
            recover(state, workload, attempt);
        break;
    }
    return true;
}

} // namespace

void end_attempt(CoreState& state, const WorkloadId& id, AttemptOutcome outcome,
                 const std::optional<ExitCause>& cause, const Reason& reason) {
    const auto& workload = *state.ledger.workload(id);
    const AttemptKey key{id, workload.live_attempt()->number};
    if (outcome != AttemptOutcome::succeeded) close_open_generation(state, key, reason);
    state.emit(actor_controller, AttemptEnded{id, key.attempt, outcome, cause, reason});
}

void note_closed(CoreState& state, const AttemptKey& key,
                 const std::vector<GenerationSummary>& closed, const std::string& actor) {
    for (const auto& summary : closed) {
        const auto& workload = *state.ledger.workload(key.workload);
        const auto* attempt = workload.attempt(key.attempt);
        const bool newest = attempt != nullptr && attempt->number == workload.attempts_made;
        if (!newest || is_terminal(workload.phase)) return;
        const Generation recorded =
            attempt->generations.empty() ? 0 : attempt->generations.back().generation;
        if (summary.generation <= recorded || summary.generation > generation_max) continue;
        if (summary.generation > attempt->generation && summary.started_at != Instant{} &&
            attempt->state != AttemptState::ended)
            state.emit(actor, GenerationStarted{key.workload, key.attempt, attempt->term,
                                                summary.generation, total_ranks(workload.spec)});
        const Reason reason =
            summary.cause ? summary.cause->reason : Reason{ReasonCode::finished, "", 0, 0, ""};
        state.emit(actor, GenerationClosed{key.workload, key.attempt, summary, reason});
    }
}

void judge_liveness(CoreState& state) {
    if (state.now < state.live.judge_at) return;
    state.live.judge_at = Instant::never();
    std::vector<std::pair<NodeName, Duration>> lost;
    for (const auto& [name, node] : state.ledger.nodes) {
        if (node.lost) continue;
        const Instant contact = last_contact(state, node);
        const Instant limit = contact + state.config.lost_after;
        if (limit <= state.now)
            lost.push_back({name, state.now - contact});
        else
            state.live.judge_at = std::min(state.live.judge_at, limit);
    }
    for (const auto& [name, silent] : lost) lose_node(state, name, silent);
}

namespace {

/// The newest beat of the attempt's launcher on this node; zero: none.
Instant launcher_beat(const CoreState& state, const AttemptKey& key, const AttemptRecord& attempt,
                      const NodeName& node) {
    const auto live = state.live.attempts.find(key);
    if (live == state.live.attempts.end()) return Instant{};
    for (const auto& [index, launcher] : live->second.launchers)
        if (attempt.placement.nodes[static_cast<std::size_t>(index)].node == node)
            return launcher.beat_at;
    return Instant{};
}

/// A launcher is stopped or stuck: it will neither lead nor follow.
void lose_launcher(CoreState& state, const AttemptKey& key, const NodeName& node) {
    const auto& workload = *state.ledger.workload(key.workload);
    const auto* attempt = workload.live_attempt();
    if (attempt == nullptr || attempt->number != key.attempt) return; // by another of its launchers
    if (workload.stop_asked)
        return end_attempt(state, key.workload, AttemptOutcome::cancelled, std::nullopt,
                           cancel_reason(workload, workload.reason));
    end_attempt(
        state, key.workload, AttemptOutcome::lost, std::nullopt,
        {ReasonCode::launcher_lost, node.text, 0, 0,
         "it gave no sign for " + to_text(launcher_silent_limit) + " while the node's agent did"});
}

} // namespace

void judge_launchers(CoreState& state) {
    auto& live = state.live;
    if (state.now < live.judge_launchers_at) return;
    live.judge_launchers_at = Instant::never();
    std::vector<std::pair<AttemptKey, NodeName>> silent;
    for (const auto& [name, agent] : live.agents) {
        for (const auto& [key, since] : agent.running) {
            const auto* workload = state.ledger.workload(key.workload);
            const auto* attempt = workload == nullptr ? nullptr : workload->live_attempt();
            if (attempt == nullptr || attempt->number != key.attempt) continue;
            const Instant sign =
                std::max({since, live.listens_since, launcher_beat(state, key, *attempt, name)});
            const Instant limit = sign + launcher_silent_limit;
            if (limit > state.now)
                live.judge_launchers_at = std::min(live.judge_launchers_at, limit);
            else if (in_contact(state, name)) // otherwise its next beat begins anew
                silent.emplace_back(key, name);
        }
    }
    for (const auto& [key, name] : silent) lose_launcher(state, key, name);
}

void enforce_cancels(CoreState& state) {
    std::vector<WorkloadId> overdue;
    for (const auto& id : state.live.stopping) {
        const auto& workload = *state.ledger.workload(id);
        const auto* attempt = workload.live_attempt();
        if (attempt == nullptr || !workload.stop_asked) continue;
        const Instant limit = workload.stop_asked_at + workload.spec.stop_grace + cancel_extra;
        if (limit <= state.now) overdue.push_back(id);
    }
    for (const auto& id : overdue) {
        const auto& workload = *state.ledger.workload(id);
        end_attempt(state, id, AttemptOutcome::cancelled, std::nullopt,
                    cancel_reason(workload, workload.reason));
    }

    std::vector<std::pair<AttemptKey, std::int64_t>> silent;
    for (const auto& [member, since] : state.live.members_gone)
        if (std::max(since, state.live.listens_since) + member_gone_limit <= state.now)
            silent.push_back(member);
    for (const auto& member : silent) {
        state.live.members_gone.erase(member);
        const auto& [key, index] = member;
        const auto* workload = state.ledger.workload(key.workload);
        const auto* attempt = workload == nullptr ? nullptr : workload->live_attempt();
        if (attempt == nullptr || attempt->number != key.attempt) continue;
        const auto& nodes = attempt->placement.nodes;
        const auto& member_node = nodes[static_cast<std::size_t>(index)].node;
        const auto& lead_node = nodes[static_cast<std::size_t>(attempt->lead)].node;
        end_attempt(
            state, key.workload, AttemptOutcome::lost, std::nullopt,
            {ReasonCode::launcher_lost, lead_node.text, 0, 0,
             std::string(silent_lead) + ", and the one on " + member_node.text + " left it"});
    }
}

void settle(CoreState& state) {
    if (state.live.stopping.empty()) return;
    const auto stopping = state.live.stopping;
    for (const auto& id : stopping)
        if (settle_one(state, id)) state.live.stopping.erase(id);
}

} // namespace muster::control
