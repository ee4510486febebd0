// What agents and launchers say, taken in.

#include "base/require.hpp"
#include "base/text.hpp"
#include "control/core_state.hpp"

#include <algorithm>

namespace muster::control {
namespace {

tl::unexpected<Error> foreign(const CoreState& state) {
    return fail(Code::failed_precondition,
                "this node belongs to another installation, the server is installation " +
                    to_text(state.ledger.installation),
                "point the agent at its own server, or remove its node directory to join this one");
}

/// What a beat claims can be true: facts made of it are kept for ever.
Status check_claims(const AgentBeat& beat) {
    const auto wrong = [](const std::string& what, const char* field) {
        return fail(Code::invalid_argument, "this agent's beat is none: " + what,
                    "run an agent of the server's version", field);
    };
    if (beat.node.empty()) return wrong("the node has no name", "node");
    if (beat.boot_id.empty()) return wrong("the machine's boot has no id", "boot_id");
    if (beat.session.empty()) return wrong("the agent's start has no id", "session");
    if (!beat.inventory) return ok();
    std::set<std::int64_t> indices;
    for (const auto& device : beat.inventory->devices)
        if (device.index < 0 || !indices.insert(device.index).second)
            return wrong("device " + std::to_string(device.index) + " is negative or there twice",
                         "inventory.devices");
    return ok();
}

/// The agent's place in the cluster: a new node, a new boot, a lost one that is back.
Status admit_agent(CoreState& state, const AgentBeat& beat) {
    if (auto fine = check_claims(beat); !fine) return fine;
    if (!beat.installation.empty() && beat.installation != state.ledger.installation)
        return foreign(state);
    const auto* node = state.ledger.node(beat.node);
    const auto seen = state.live.agents.find(beat.node);
    if (seen != state.live.agents.end()) {
        const auto& known = seen->second;
        const bool fresh = state.now - known.beat_at < state.config.suspect_after;
        if (known.boot_id != beat.boot_id && fresh)
            return fail(Code::already_exists, "another machine beats as node " + beat.node.text,
                        "give each agent its own --node; after a reboot this passes within " +
                            to_text(state.config.suspect_after));
        if (known.boot_id == beat.boot_id && beat.session < known.session)
            return fail(Code::failed_precondition, "a newer agent runs for node " + beat.node.text,
                        "stop this one");
    }
    const bool new_boot = node == nullptr || node->boot_id != beat.boot_id;
    if (!new_boot) return ok();
    if (!beat.inventory)
        return fail(Code::unavailable, "the node has not told its inventory yet",
                    "send it with the next beat");
    const Incarnation incarnation = node == nullptr ? 1 : node->incarnation + 1;
    const auto held = node == nullptr ? std::vector<AttemptKey>{} : node->attempts;
    const Reason reason = node == nullptr
                              ? Reason{ReasonCode::joined, beat.node.text, 0, 0, ""}
                              : Reason{ReasonCode::node_rebooted, beat.node.text, 0, 0, ""};
    for (const auto& key : held) {
        const auto* workload = state.ledger.workload(key.workload);
        const auto* live = workload == nullptr ? nullptr : workload->live_attempt();
        if (live != nullptr && live->number == key.attempt)
            end_attempt(state, key.workload, AttemptOutcome::lost, std::nullopt, reason);
    }
    state.emit(actor_node(beat.node),
               NodeJoined{beat.node, incarnation, beat.boot_id, *beat.inventory, reason});
    return ok();
}

AttemptRecord* known_attempt(CoreState& state, const AttemptKey& key) {
    auto* workload = state.ledger.workload(key.workload);
    return workload == nullptr ? nullptr : workload->attempt(key.attempt);
}

bool holds(const AttemptRecord& attempt, const NodeName& node) {
    return std::find(attempt.holding.begin(), attempt.holding.end(), node) != attempt.holding.end();
}

/// By the placement, which is ours; a beat may say anything.
std::int64_t launcher_on(const AttemptRecord& attempt, const NodeName& node) {
    const auto& nodes = attempt.placement.nodes;
    const auto at = std::ranges::find(nodes, node, &PlacedNode::node);
    REQUIRE(at != nodes.end(), "who holds an attempt is in its placement");
    return at - nodes.begin();
}

/// The agent verified that nothing of the attempt is left on its node.
void on_released(CoreState& state, const NodeName& node, const HeldAttempt& held) {
    const AttemptKey key{held.workload, held.attempt};
    const auto* attempt = known_attempt(state, key);
    if (attempt == nullptr || !holds(*attempt, node)) return;
    const std::int64_t index = launcher_on(*attempt, node);
    if (held.result) note_closed(state, key, held.result->generations, actor_node(node));
    if (attempt->state != AttemptState::ended) {
        const bool has_outcome = held.result && held.result->outcome != AttemptOutcome::none &&
                                 held.result->outcome != AttemptOutcome::lost;
        const bool quiet_member = held.result && index != attempt->lead;
        if (has_outcome) {
            const auto& cause = held.result->cause;
            const Reason reason =
                cause ? cause->reason : Reason{ReasonCode::finished, "", 0, 0, ""};
            end_attempt(state, key.workload, held.result->outcome, cause, reason);
        } else if (quiet_member) {
            // The lead told it to leave and will say why; member_gone_limit bounds the wait.
            state.live.members_gone.emplace(std::pair{key, index}, state.now);
        } else {
            const auto& cause = held.result ? held.result->cause : std::nullopt;
            const Reason reason =
                cause ? cause->reason
                      : Reason{ReasonCode::launcher_lost, node.text, 0, 0, held.launcher_error};
            end_attempt(state, key.workload, AttemptOutcome::lost, cause, reason);
        }
    }
    state.emit(actor_node(node),
               DevicesReleased{
                   key.workload, key.attempt, node, {ReasonCode::released, node.text, 0, 0, ""}});
}

bool lists(const AgentOrder& order, const AttemptKey& key) {
    return std::any_of(order.run.begin(), order.run.end(), [&](const AttemptOrder& entry) {
        return AttemptKey{entry.workload, entry.attempt} == key;
    });
}

/// An attempt may end before its order reached the agent. An agent that has obeyed an order without
/// it and does not hold it never will: the devices are free.
void release_never_taken(CoreState& state, const AgentBeat& beat, const AgentLive& agent) {
    const bool up_to_date = agent.last_order && beat.order_revision == agent.revision;
    if (!up_to_date) return;
    const auto held = state.ledger.node(beat.node)->attempts;
    for (const auto& key : held) {
        const auto* attempt = known_attempt(state, key);
        const bool reported =
            std::any_of(beat.held.begin(), beat.held.end(), [&](const HeldAttempt& h) {
                return AttemptKey{h.workload, h.attempt} == key;
            });
        if (attempt == nullptr || attempt->state != AttemptState::ended || reported) continue;
        if (lists(*agent.last_order, key)) continue;
        state.emit(actor_node(beat.node),
                   DevicesReleased{key.workload,
                                   key.attempt,
                                   beat.node,
                                   {ReasonCode::released, beat.node.text, 0, 0, ""}});
    }
}

/// Keeps since when the agent says that a launcher runs: beside that its silence can be judged.
void note_running(CoreState& state, const AgentBeat& beat, AgentLive& agent) {
    std::map<AttemptKey, Instant> running;
    for (const auto& held : beat.held) {
        if (held.state != HoldState::running) continue;
        const AttemptKey key{held.workload, held.attempt};
        const auto known = agent.running.find(key);
        running[key] = known == agent.running.end() ? state.now : known->second;
    }
    agent.running = std::move(running);
    if (agent.running.empty()) return;
    auto& judge_at = state.live.judge_launchers_at;
    judge_at = std::min(judge_at, state.now + launcher_silent_limit);
}

void take_held(CoreState& state, const AgentBeat& beat, AgentLive& agent) {
    note_running(state, beat, agent);
    std::set<AttemptKey> forget;
    for (const auto& held : beat.held) {
        if (held.state != HoldState::released) continue;
        on_released(state, beat.node, held);
        forget.insert({held.workload, held.attempt});
    }
    release_never_taken(state, beat, agent);
    if (forget != agent.forget) {
        agent.forget = std::move(forget);
        state.live.changed_agents.insert(beat.node);
    }
}

void note_generation(CoreState& state, const AttemptKey& key, const LauncherBeat& beat,
                     AttemptLive& live) {
    const auto* attempt = known_attempt(state, key);
    if (beat.generation > generation_max) return; // no budget reaches so far
    const bool runs = beat.state == LauncherState::running && beat.table &&
                      beat.table->generation == beat.generation;
    if (runs && beat.generation > attempt->generation) {
        const auto index = static_cast<std::size_t>(beat.launcher_index);
        state.emit(actor_node(attempt->placement.nodes[index].node),
                   GenerationStarted{key.workload, key.attempt, beat.term, beat.generation,
                                     static_cast<std::int64_t>(beat.table->ranks.size())});
    }
    if (beat.table) live.table = beat.table;
    if (live.open.generation != beat.generation) {
        live.open = {};
        live.open.generation = beat.generation;
        live.open.began_at = state.now;
        live.recorded_at = state.now;
        // After a restart of the server: what it had recorded of this generation still holds.
        if (attempt->open && attempt->open->generation == beat.generation)
            live.open = *attempt->open;
    }
    if (runs && live.open.started_at == Instant{}) live.open.started_at = attempt->generation_at;
}

/// Makes the newest step a fact now and then, so that it outlives this process and the lead's.
void record_progress(CoreState& state, const AttemptKey& key, AttemptLive& live) {
    const auto* attempt = known_attempt(state, key);
    const auto& open = live.open;
    const std::int64_t recorded = attempt->open ? attempt->open->last_step : -1;
    const auto attempts = static_cast<std::int64_t>(state.live.attempts.size());
    const Duration interval = std::max(progress_record_interval, progress_record_share * attempts);
    const bool runs = attempt->generation == open.generation && attempt->generation > 0;
    if (!runs || open.last_step <= recorded || state.now < live.recorded_at + interval) return;
    live.recorded_at = state.now;
    const auto lead = static_cast<std::size_t>(attempt->lead);
    state.emit(actor_node(attempt->placement.nodes[lead].node),
               GenerationProgressed{key.workload, key.attempt, open});
}

void note_progress(CoreState& state, const AttemptKey& key, const LauncherBeat& beat,
                   AttemptLive& live) {
    if (!beat.progress) return;
    live.progress = beat.progress;
    auto& open = live.open;
    const auto& progress = *beat.progress;
    if (progress.step < 0 || progress.step == open.last_step) return;
    if (open.first_step < 0) {
        open.first_step = progress.step;
        open.first_step_at = state.now;
        if (progress.has_loss) open.first_loss = progress.loss;
    }
    open.last_step = progress.step;
    open.last_step_at = state.now;
    open.total_steps = progress.total;
    open.last_loss = progress.loss;
    open.has_loss = progress.has_loss;
    const auto* workload = state.ledger.workload(key.workload);
    if (open.caught_up_at == Instant{} && progress.step > workload->last_step)
        open.caught_up_at = state.now;
}

LauncherOrder fenced_order(const LauncherBeat& beat) {
    LauncherOrder order;
    order.attempt = beat.attempt;
    order.asked = beat.asked;
    order.fenced = true;
    return order;
}

template <class Held>
void drop_poll(CoreState& state, std::optional<HeldPoll>& poll,
               std::map<std::int64_t, Held>& index) {
    if (!poll) return;
    state.live.deadlines.erase({poll->until, poll->reply});
    index.erase(poll->reply);
    poll.reset();
}

} // namespace

void on_agent(CoreState& state, const AgentAsked& asked) {
    const auto& beat = asked.beat;
    if (auto admitted = admit_agent(state, beat); !admitted) {
        state.out->commands.push_back(AnswerAgent{asked.reply, fail(admitted.error())});
        return;
    }
    auto& agent = state.live.agents[beat.node];
    if (agent.session != beat.session) {
        if (agent.poll)
            state.live.agent_replies.push_back({agent.poll->reply, agent.poll->asked, beat.node});
        drop_poll(state, agent.poll, state.live.agent_polls);
        const auto revision = std::max(agent.revision, revision_base(state)) + 1;
        agent = {};
        agent.session = beat.session;
        agent.boot_id = beat.boot_id;
        agent.revision = revision;
        state.live.changed_agents.insert(beat.node);
    }
    const bool was_suspect = state.now - agent.beat_at >= state.config.suspect_after;
    agent.beat_at = state.now;
    if (was_suspect) {
        state.live.plan_needed = true;
        agent.running.clear(); // what kept it silent may have kept its launchers silent
    }
    const auto& node = *state.ledger.node(beat.node);
    if (node.lost)
        state.emit(actor_node(beat.node),
                   NodeBack{beat.node,
                            node.incarnation,
                            {ReasonCode::came_back, beat.node.text, 0, 0, ""}});
    if (beat.inventory && *beat.inventory != node.inventory)
        state.emit(actor_node(beat.node), NodeInventoryChanged{beat.node, *beat.inventory});
    if (beat.sample) agent.sample = beat.sample;
    for (const auto& answer : beat.log_answers) take_log_answer(state, beat.node, answer);
    if (beat.asked >= agent.asked) { // an older beat that was overtaken says nothing about holds
        agent.asked = beat.asked;
        agent.told_revision = beat.order_revision;
        take_held(state, beat, agent);
    }

    if (asked.hold <= Duration{}) {
        state.live.agent_replies.push_back({asked.reply, beat.asked, beat.node});
        return;
    }
    if (agent.poll) { // a newer poll of the same agent: the one before is answered now
        state.live.agent_replies.push_back({agent.poll->reply, agent.poll->asked, beat.node});
        drop_poll(state, agent.poll, state.live.agent_polls);
    }
    agent.poll = HeldPoll{asked.reply, beat.asked, state.now + std::min(asked.hold, hold_max)};
    state.live.deadlines.insert({agent.poll->until, asked.reply});
    state.live.agent_polls[asked.reply] = beat.node;
    state.live.polled_agents.insert(beat.node);
}

void on_launcher(CoreState& state, const LauncherAsked& asked) {
    const auto& beat = asked.beat;
    const AttemptKey key{beat.workload, beat.attempt};
    const auto* attempt = known_attempt(state, key);
    const auto index = static_cast<std::size_t>(beat.launcher_index);
    const bool ours = beat.installation == state.ledger.installation && attempt != nullptr &&
                      attempt->state != AttemptState::ended && beat.launcher_index >= 0 &&
                      index < attempt->placement.nodes.size() &&
                      attempt->placement.nodes[index].incarnation == beat.incarnation;
    if (!ours) {
        state.out->commands.push_back(AnswerLauncher{asked.reply, fenced_order(beat)});
        return;
    }
    const NodeName node = attempt->placement.nodes[index].node;
    auto& live = state.live.attempts[key];
    if (live.launchers.empty())
        state.live.changed_attempts.insert(key); // its order has no revision yet
    auto& launcher = live.launchers[beat.launcher_index];
    launcher.beat_at = state.now;
    if (state.ledger.node(node)->lost)
        state.emit(actor_node(node),
                   NodeBack{node, beat.incarnation, {ReasonCode::came_back, node.text, 0, 0, ""}});
    if (beat.asked > launcher.asked) {
        launcher.asked = beat.asked;
        launcher.told_revision = beat.order_revision;
        launcher.state = beat.state;
        if (launcher.endpoint != beat.endpoint) {
            launcher.endpoint = beat.endpoint;
            if (beat.launcher_index == attempt->lead) state.live.changed_attempts.insert(key);
        }
        if (beat.launcher_index == attempt->lead) {
            note_closed(state, key, beat.closed, actor_node(node));
            note_generation(state, key, beat, live);
            note_progress(state, key, beat, live);
            record_progress(state, key, live);
        }
    }
    if (asked.hold <= Duration{}) {
        state.live.launcher_replies.push_back({asked.reply, beat.asked, key});
        return;
    }
    if (launcher.poll) {
        state.live.launcher_replies.push_back({launcher.poll->reply, launcher.poll->asked, key});
        drop_poll(state, launcher.poll, state.live.launcher_polls);
    }
    launcher.poll = HeldPoll{asked.reply, beat.asked, state.now + std::min(asked.hold, hold_max)};
    state.live.deadlines.insert({launcher.poll->until, asked.reply});
    state.live.launcher_polls[asked.reply] = {key, beat.launcher_index};
    state.live.polled_launchers.insert({key, beat.launcher_index});
}

} // namespace muster::control
