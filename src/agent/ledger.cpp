#include "agent/ledger.hpp"

#include "base/require.hpp"

namespace muster::agent {
namespace {

Hold& known(AgentLedger& ledger, const AttemptKey& key) {
    const auto at = ledger.holds.find(key);
    REQUIRE(at != ledger.holds.end(), "a fact about a hold follows its HoldTaken");
    return at->second;
}

void apply_fact(AgentLedger& ledger, const NodeAdmitted& fact) {
    ledger.installation = fact.installation;
    ledger.incarnation = fact.incarnation;
}
void apply_fact(AgentLedger& ledger, const HoldTaken& fact) {
    const AttemptKey key{fact.order.workload, fact.order.attempt};
    Hold hold;
    hold.order = fact.order;
    hold.incarnation = fact.incarnation;
    const bool added = ledger.holds.emplace(key, std::move(hold)).second;
    REQUIRE(added, "an attempt is taken once");
}
void apply_fact(AgentLedger& ledger, const LauncherRuns& fact) {
    Hold& hold = known(ledger, fact.key);
    REQUIRE(hold.state != HoldState::released, "a released attempt has no launcher");
    if (hold.state == HoldState::starting) hold.state = HoldState::running;
    hold.pid = fact.pid;
    hold.start_ticks = fact.start_ticks;
}
void apply_fact(AgentLedger& ledger, const HoldStopping& fact) {
    Hold& hold = known(ledger, fact.key);
    REQUIRE(hold.state != HoldState::released, "a released attempt stays released");
    hold.state = HoldState::stopping;
}
void apply_fact(AgentLedger& ledger, const HoldReleased& fact) {
    Hold& hold = known(ledger, fact.key);
    REQUIRE(hold.state != HoldState::released, "an attempt is released once");
    hold.state = HoldState::released;
    hold.result = fact.result;
    hold.launcher_error = fact.launcher_error;
}
void apply_fact(AgentLedger& ledger, const HoldForgotten& fact) {
    REQUIRE(known(ledger, fact.key).state == HoldState::released,
            "only a released attempt is forgotten");
    ledger.holds.erase(fact.key);
}

} // namespace

void AgentLedger::apply(const AgentRecord& record) {
    REQUIRE(record.sequence == last_sequence + 1, "the agent's facts follow each other");
    last_sequence = record.sequence;
    std::visit([this](const auto& fact) { apply_fact(*this, fact); }, record.fact);
}

std::vector<AgentRecord> shortest_records(const AgentLedger& ledger, Instant at) {
    std::vector<AgentRecord> records;
    const auto add = [&](AgentFact fact) {
        records.push_back({static_cast<Sequence>(records.size()) + 1, at, std::move(fact)});
    };
    if (!ledger.installation.empty()) add(NodeAdmitted{ledger.installation, ledger.incarnation});
    for (const auto& [key, hold] : ledger.holds) {
        add(HoldTaken{hold.order, hold.incarnation});
        if (hold.pid != 0) add(LauncherRuns{key, hold.pid, hold.start_ticks});
        if (hold.state == HoldState::stopping) add(HoldStopping{key});
        if (hold.state == HoldState::released)
            add(HoldReleased{key, hold.result, hold.launcher_error});
    }
    return records;
}

} // namespace muster::agent
