#pragma once
// Checks: what must hold at every moment, judged on ground truth and on the ledger. The first
// violation ends a run.

#include "control/core.hpp"
#include "launch/core.hpp"
#include "sim/machine.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace muster::sim {

class World;

class Checks {
  public:
    explicit Checks(World& world) : world_(world) {}

    // ---- the control plane
    /// After every step that made facts: `ledger` has them applied.
    void facts_made(const std::vector<FactRecord>& facts, const control::Ledger& ledger);
    /// What the scheduler keeps by facts is what the ledger would give it.
    void scheduling_kept(const scheduler::State& kept, const control::Ledger& ledger);
    void became_durable(const FactRecord& record);
    /// An answer leaves the server whose facts up to `need` must be durable.
    void leaves(Sequence need, std::int64_t reply);
    void order_leaves(const AgentOrder& order);
    void server_started(const control::Ledger& ledger);

    // ---- machines
    void launcher_starts(const Machine& machine, const AttemptOrder& order, Incarnation incarnation,
                         const Group& group);
    /// A launcher has taken in that its attempt is over.
    void launcher_fenced(const AttemptKey& key, std::int64_t pid);
    void rank_spawns(Machine& machine, const RankProcess& process);
    void reported_empty(Machine& machine, const AttemptKey& key);
    void acknowledged(const std::string& what, const control::Request& request,
                      const control::Response& response);
    /// What somebody was told, also while the disk was full.
    void told(const control::Response& response);

    /// Once, after the world came to rest.
    void at_end();

  private:
    void check_fact(const FactRecord& record, const control::Ledger& ledger);
    void check_admission(const WorkloadAdmitted& fact, const control::Ledger& ledger);
    void check_finish(const WorkloadFinished& fact, const control::Ledger& ledger);
    void check_release(const DevicesReleased& fact);
    void check_steps(const WorkloadId& id, const GenerationSummary& summary,
                     const control::Ledger& ledger);
    void check_patience(std::string_view what, Duration patience);
    void check_ledger(const control::Ledger& ledger);
    void check_workload(const control::WorkloadRecord& workload, const control::Ledger& ledger);
    void check_goodput();

    World& world_;
    std::set<AttemptKey> durable_admissions_;
    std::set<std::pair<AttemptKey, NodeName>> durable_releases_;
    std::set<std::pair<AttemptKey, std::int64_t>> fenced_; // launchers, by pid
    std::map<AttemptKey, Generation> newest_generation_;   // that any rank was started for
    std::map<WorkloadId, WorkloadPhase> terminal_;         // as made, also if not durable yet
    std::map<std::string, WorkloadId> tokens_;             // as acknowledged
};

} // namespace muster::sim
