#include "control/ledger.hpp"

#include "base/require.hpp"
#include "recovery/recovery.hpp"

#include <algorithm>

namespace muster::control {
namespace {

constexpr Duration restarts_kept_for = Duration::hours(24);

void count_restarts(WorkloadRecord& workload, std::int64_t count, Instant at) {
    auto& recent = workload.recent_restarts;
    const auto kept = std::min<std::int64_t>(count, restarts_kept_max);
    for (std::int64_t i = 0; i < kept; ++i) recent.push_back(at);
    workload.restarts += count;
    std::erase_if(recent, [&](Instant t) { return t + restarts_kept_for < at; });
    if (recent.size() > restarts_kept_max)
        recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(restarts_kept_max));
}

/// A generation failed: one more in a row, or the first after progress.
void count_failure(WorkloadRecord& workload, const GenerationSummary& summary) {
    const bool progress =
        summary.last_step > workload.last_step || recovery::lived_unreported(summary);
    if (progress) workload.failures_without_step = workload.own_failures_without_step = 0;
    ++workload.failures_without_step;
    if (!recovery::is_loss(summary.cause->reason)) ++workload.own_failures_without_step;
}

/// Old attempts leave the ledger unless a node still holds devices for them.
void bound_attempts(WorkloadRecord& workload) {
    auto& attempts = workload.attempts;
    for (auto it = attempts.begin(); attempts.size() > attempts_kept_max && it != attempts.end();)
        it = it->state == AttemptState::ended && it->holding.empty() ? attempts.erase(it) : it + 1;
}

struct Applier {
    Ledger& ledger;
    const FactRecord& record;

    WorkloadRecord& workload(const WorkloadId& id) const {
        auto* found = ledger.workload(id);
        REQUIRE(found != nullptr, "a fact speaks of a workload that the ledger knows");
        return *found;
    }
    NodeRecord& node(const NodeName& name) const {
        auto* found = ledger.node(name);
        REQUIRE(found != nullptr, "a fact speaks of a node that the ledger knows");
        return *found;
    }
    AttemptRecord& attempt(const WorkloadId& id, AttemptNumber number) const {
        auto* found = workload(id).attempt(number);
        REQUIRE(found != nullptr, "a fact speaks of an attempt that the ledger knows");
        return *found;
    }

    void release(const AttemptKey& key, NodeRecord& at) const {
        std::erase_if(at.holders, [&](const auto& entry) { return entry.second == key; });
        std::erase(at.attempts, key);
        if (auto* holder = ledger.workload(key.workload))
            if (auto* held = holder->attempt(key.attempt)) std::erase(held->holding, at.name);
    }

    void operator()(const InstallationCreated& fact) const {
        ledger.installation = fact.id;
        ledger.cluster = fact.cluster;
    }

    void operator()(const NodeJoined& fact) const {
        auto& at = ledger.nodes[fact.node];
        if (at.name.empty()) {
            at.name = fact.node;
            at.joined_at = record.at;
        }
        const auto gone = at.attempts; // a boot frees all that the one before held
        for (const auto& key : gone) release(key, at);
        at.holders.clear();
        at.incarnation = fact.incarnation;
        at.boot_id = fact.boot_id;
        at.inventory = fact.inventory;
        at.lost = false;
        at.changed_at = record.at;
    }

    void operator()(const NodeInventoryChanged& fact) const {
        node(fact.node).inventory = fact.inventory;
    }

    void operator()(const NodeLost& fact) const {
        auto& at = node(fact.node);
        at.lost = true;
        at.changed_at = record.at;
    }

    void operator()(const NodeBack& fact) const {
        auto& at = node(fact.node);
        at.lost = false;
        at.changed_at = record.at;
    }

    void operator()(const NodeCordoned& fact) const {
        auto& cordons = node(fact.node).cordons;
        std::erase_if(cordons, [&](const Cordon& c) { return c.owner == fact.owner; });
        cordons.push_back({fact.owner, fact.reason.detail, record.at});
    }

    void operator()(const NodeUncordoned& fact) const {
        std::erase_if(node(fact.node).cordons,
                      [&](const Cordon& c) { return c.owner == fact.owner; });
    }

    void operator()(const WorkloadSubmitted& fact) const {
        WorkloadRecord made;
        made.id = fact.id;
        made.name = fact.name;
        made.spec = fact.spec;
        made.submitted_by = record.actor;
        made.submitted_at = record.at;
        made.reason = fact.reason;
        made.client_token = fact.client_token;
        const bool is_new = ledger.workloads.emplace(fact.id, std::move(made)).second;
        REQUIRE(is_new, "a workload's id is new");
        ledger.alive[fact.name] = fact.id;
        ledger.newest[fact.name] = fact.id;
        if (!fact.client_token.empty()) ledger.tokens[fact.client_token] = fact.id;
    }

    void operator()(const WorkloadAdmitted& fact) const {
        auto& admitted = workload(fact.id);
        REQUIRE(admitted.live_attempt() == nullptr, "a workload has one attempt at most");
        const AttemptKey key{fact.id, fact.attempt};
        AttemptRecord made;
        made.number = fact.attempt;
        made.placement = fact.placement;
        made.placed_at = record.at;
        made.reason = fact.reason;
        for (const auto& placed : fact.placement.nodes) {
            auto& at = node(placed.node);
            for (const auto& seat : placed.seats)
                for (const auto device : seat.devices) {
                    const bool was_free = at.holders.emplace(device, key).second;
                    REQUIRE(was_free, "a device has one holder at most");
                }
            at.attempts.push_back(key);
            made.holding.push_back(placed.node);
        }
        if (admitted.attempts_made > 0) count_restarts(admitted, 1, record.at);
        admitted.attempts_made = fact.attempt;
        admitted.attempts.push_back(std::move(made));
        bound_attempts(admitted);
        admitted.phase = WorkloadPhase::admitted;
        admitted.reason = fact.reason;
    }

    void operator()(const WorkloadStopAsked& fact) const {
        auto& asked = workload(fact.id);
        asked.stop_asked = true;
        asked.stop_asked_at = record.at;
        asked.stop_reason = fact.reason;
        asked.reason = fact.reason;
    }

    void operator()(const GenerationStarted& fact) const {
        auto& started = workload(fact.id);
        auto& in = attempt(fact.id, fact.attempt);
        count_restarts(started, fact.generation - std::max<Generation>(1, in.generation),
                       record.at);
        in.generation = fact.generation;
        in.open.reset();
        in.term = fact.term;
        in.generation_at = record.at;
        in.state = AttemptState::running;
        if (in.running_since == Instant{}) in.running_since = record.at;
        started.phase = WorkloadPhase::running;
    }

    void operator()(const GenerationClosed& fact) const {
        auto& closed = workload(fact.id);
        auto& in = attempt(fact.id, fact.attempt);
        in.generations.push_back(fact.summary);
        if (in.open && in.open->generation <= fact.summary.generation) in.open.reset();
        if (in.generations.size() > generations_kept_max)
            in.generations.erase(in.generations.begin());
        if (fact.summary.cause) count_failure(closed, fact.summary);
        closed.last_step = std::max(closed.last_step, fact.summary.last_step);
    }

    void operator()(const GenerationProgressed& fact) const {
        attempt(fact.id, fact.attempt).open = fact.so_far;
    }

    void operator()(const AttemptEnded& fact) const {
        auto& ended = attempt(fact.id, fact.attempt);
        ended.state = AttemptState::ended;
        ended.outcome = fact.outcome;
        ended.cause = fact.cause;
        ended.ended_at = record.at;
        ended.reason = fact.reason;
        auto& of = workload(fact.id);
        const bool came_to_nothing = ended.generations.empty();
        if (fact.outcome == AttemptOutcome::lost && came_to_nothing) ++of.failures_without_step;
        of.phase = WorkloadPhase::stopping;
        of.reason = fact.reason;
    }

    void operator()(const DevicesReleased& fact) const {
        release({fact.id, fact.attempt}, node(fact.node));
    }

    void operator()(const WorkloadRequeued& fact) const {
        auto& again = workload(fact.id);
        again.phase = WorkloadPhase::queued;
        again.not_before = fact.not_before;
        again.reason = fact.reason;
    }

    void operator()(const WorkloadFinished& fact) const {
        auto& done = workload(fact.id);
        REQUIRE(!is_terminal(done.phase), "a terminal phase is final");
        done.phase = fact.phase;
        done.exit_code = fact.exit_code;
        done.reason = fact.reason;
        done.finished_at = record.at;
        ledger.alive.erase(done.name);
        ledger.finished.push_back(fact.id);
    }

    void operator()(const WorkloadForgotten& fact) const {
        const auto& gone = workload(fact.id);
        const auto newest = ledger.newest.find(gone.name);
        if (newest != ledger.newest.end() && newest->second == fact.id) ledger.newest.erase(newest);
        if (!gone.client_token.empty()) ledger.tokens.erase(gone.client_token);
        std::erase(ledger.finished, fact.id);
        ledger.workloads.erase(fact.id);
    }
};

} // namespace

const AttemptRecord* WorkloadRecord::live_attempt() const {
    if (attempts.empty() || attempts.back().state == AttemptState::ended) return nullptr;
    return &attempts.back();
}

AttemptRecord* WorkloadRecord::attempt(AttemptNumber number) {
    for (auto it = attempts.rbegin(); it != attempts.rend(); ++it)
        if (it->number == number) return &*it;
    return nullptr;
}

const AttemptRecord* WorkloadRecord::attempt(AttemptNumber number) const {
    return const_cast<WorkloadRecord*>(this)->attempt(number);
}

void Ledger::apply(const FactRecord& record) {
    REQUIRE(record.sequence == last_sequence + 1, "facts are applied in order, without gaps");
    last_sequence = record.sequence;
    last_at = record.at;
    std::visit(Applier{*this, record}, record.fact);
}

NodeRecord* Ledger::node(const NodeName& name) {
    const auto it = nodes.find(name);
    return it == nodes.end() ? nullptr : &it->second;
}
const NodeRecord* Ledger::node(const NodeName& name) const {
    const auto it = nodes.find(name);
    return it == nodes.end() ? nullptr : &it->second;
}
WorkloadRecord* Ledger::workload(const WorkloadId& id) {
    const auto it = workloads.find(id);
    return it == workloads.end() ? nullptr : &it->second;
}
const WorkloadRecord* Ledger::workload(const WorkloadId& id) const {
    const auto it = workloads.find(id);
    return it == workloads.end() ? nullptr : &it->second;
}

WorkloadPhase phase_told(const WorkloadRecord& workload) {
    const bool placed =
        workload.phase == WorkloadPhase::admitted || workload.phase == WorkloadPhase::running;
    return workload.stop_asked && placed ? WorkloadPhase::stopping : workload.phase;
}

bool accepts_work(const NodeRecord& node) { return !node.lost && node.cordons.empty(); }

} // namespace muster::control
