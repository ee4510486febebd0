#include "control/core.hpp"

#include "base/require.hpp"
#include "control/core_state.hpp"
#include "control/scheduling.hpp"

#include <algorithm>

namespace muster::control {
namespace {

constexpr Duration listen_tick = Duration::seconds(1); // a wake-up at least so often, to see a stop
constexpr Duration stopped_limit =
    Duration::seconds(2); // late wake-ups of a busy machine are shorter

/// Marks what a fact changes for others: orders to send, attempts to settle, a plan to make.
struct Marker {
    Live& live;
    const Ledger& ledger;

    void nodes_of(const WorkloadId& id, AttemptNumber number) const {
        if (const auto* workload = ledger.workload(id))
            if (const auto* attempt = workload->attempt(number))
                for (const auto& placed : attempt->placement.nodes)
                    live.changed_agents.insert(placed.node);
        live.changed_attempts.insert({id, number});
    }

    void operator()(const InstallationCreated&) const {}
    void operator()(const NodeJoined& fact) const {
        live.changed_agents.insert(fact.node);
        live.plan_needed = true;
        live.judge_at = Instant{};
    }
    void operator()(const NodeInventoryChanged&) const { live.plan_needed = true; }
    void operator()(const NodeLost&) const { live.plan_needed = true; }
    void operator()(const NodeBack&) const {
        live.plan_needed = true;
        live.judge_at = Instant{};
    }
    void operator()(const NodeCordoned&) const { live.plan_needed = true; }
    void operator()(const NodeUncordoned&) const { live.plan_needed = true; }
    void operator()(const WorkloadSubmitted&) const { live.plan_needed = true; }
    void operator()(const WorkloadAdmitted& fact) const { nodes_of(fact.id, fact.attempt); }
    void operator()(const WorkloadStopAsked& fact) const {
        live.stopping.insert(fact.id);
        if (const auto* workload = ledger.workload(fact.id))
            if (const auto* attempt = workload->live_attempt())
                live.changed_attempts.insert({fact.id, attempt->number});
    }
    void operator()(const GenerationStarted& fact) const { live.changed_workloads.insert(fact.id); }
    void operator()(const GenerationProgressed&) const {}
    void operator()(const GenerationClosed& fact) const {
        live.changed_attempts.insert({fact.id, fact.attempt});
    }
    void operator()(const AttemptEnded& fact) const {
        live.stopping.insert(fact.id);
        nodes_of(fact.id, fact.attempt);
    }
    void operator()(const DevicesReleased& fact) const {
        live.stopping.insert(fact.id);
        live.changed_agents.insert(fact.node);
        live.plan_needed = true;
    }
    void operator()(const WorkloadRequeued& fact) const {
        live.stopping.erase(fact.id);
        live.plan_needed = true;
    }
    void operator()(const WorkloadFinished& fact) const {
        live.stopping.erase(fact.id);
        live.changed_workloads.insert(fact.id);
        live.plan_needed = true;
    }
    void operator()(const WorkloadForgotten&) const {}
};

/// A member that had left its attempt before this start: the lead still owes the reason.
void note_members_gone(CoreState& state, const WorkloadRecord& workload) {
    const auto* attempt = workload.live_attempt();
    if (attempt == nullptr) return;
    const auto& nodes = attempt->placement.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (std::ranges::find(attempt->holding, nodes[i].node) == attempt->holding.end())
            state.live.members_gone.emplace(
                std::pair{AttemptKey{workload.id, attempt->number}, static_cast<std::int64_t>(i)},
                state.now);
}

void begin(CoreState& state) {
    auto& live = state.live;
    live.began_at = state.now;
    live.listens_since = state.now;
    if (state.ledger.installation.empty())
        state.emit(actor_controller,
                   InstallationCreated{state.config.installation, state.config.cluster});
    for (const auto& [id, workload] : state.ledger.workloads) {
        if (workload.phase == WorkloadPhase::stopping || workload.stop_asked)
            if (!is_terminal(workload.phase)) live.stopping.insert(id);
        note_members_gone(state, workload);
    }
}

/// Keeps the number of finished workloads bounded; one that still holds devices stays.
void forget_finished(CoreState& state) {
    const auto& finished = state.ledger.finished;
    while (finished.size() > finished_kept_max) {
        const auto gone =
            std::find_if(finished.begin(), finished.end() - 1, [&](const WorkloadId& id) {
                const auto& attempts = state.ledger.workload(id)->attempts;
                return std::all_of(attempts.begin(), attempts.end(),
                                   [](const AttemptRecord& a) { return a.holding.empty(); });
            });
        if (gone == finished.end() - 1) return;
        state.emit(actor_controller, WorkloadForgotten{*gone});
    }
}

} // namespace

void CoreState::emit(const std::string& actor, Fact fact) {
    REQUIRE(out != nullptr, "facts are made within a step");
    FactRecord record{ledger.last_sequence + 1, now, actor, std::move(fact)};
    ledger.apply(record);
    scheduling.apply(record.fact, record.at);
    std::visit(Marker{live, ledger}, record.fact);
    out->facts.push_back(std::move(record));
}

ControlCore::ControlCore(ControlConfig config, Ledger ledger)
    : state_(std::make_unique<CoreState>()) {
    state_->config = std::move(config);
    state_->ledger = std::move(ledger);
    state_->scheduling = scheduling_of(state_->ledger);
}
ControlCore::~ControlCore() = default;
ControlCore::ControlCore(ControlCore&&) noexcept = default;
ControlCore& ControlCore::operator=(ControlCore&&) noexcept = default;

const Ledger& ControlCore::ledger() const { return state_->ledger; }
const scheduler::State& ControlCore::scheduling() const { return state_->scheduling; }

AnswerRequest ControlCore::read(Instant now, const RequestAsked& asked, Ledger& ledger) {
    REQUIRE(is_plain_read(asked.request), "only reads are answered from another ledger");
    ControlDecision decision;
    CoreState& state = *state_;
    state.now = std::max(now, state.now);
    state.out = &decision;
    std::swap(state.ledger, ledger);
    on_request(state, asked);
    std::swap(state.ledger, ledger);
    state.out = nullptr;
    REQUIRE(decision.facts.empty() && decision.commands.size() == 1, "a read is one answer");
    return std::get<AnswerRequest>(std::move(decision.commands.front()));
}

Decision<FactRecord, ControlCommand> ControlCore::step(Instant now, const ControlEvent& event) {
    ControlDecision decision;
    CoreState& state = *state_;
    state.now = std::max({now, state.now, state.ledger.last_at});
    // Woken much later than asked for, this process was stopped itself: silence meanwhile is no
    // evidence, as after a start.
    if (state.live.wake_due + stopped_limit < state.now) state.live.listens_since = state.now;
    state.out = &decision;

    struct Take {
        CoreState& state;
        void operator()(const Begin&) const { begin(state); }
        void operator()(const AgentAsked& asked) const { on_agent(state, asked); }
        void operator()(const LauncherAsked& asked) const { on_launcher(state, asked); }
        void operator()(const RequestAsked& asked) const { on_request(state, asked); }
        void operator()(const ReplyCancelled& gone) const { on_cancelled(state, gone.reply); }
        void operator()(const Wake&) const {}
    };
    std::visit(Take{state}, event);

    judge_liveness(state);
    judge_launchers(state);
    enforce_cancels(state);
    settle(state);
    plan_if_needed(state);
    settle(state); // what the plan made final
    forget_finished(state);
    expire_logs(state);
    answer_polls(state);
    answer_awaits(state);

    decision.wake_at = next_deadline(state);
    if (!state.live.judge_at.is_never())
        decision.wake_at = std::min(decision.wake_at, state.now + listen_tick);
    state.live.wake_due = decision.wake_at;
    state.out = nullptr;
    return decision;
}

} // namespace muster::control
