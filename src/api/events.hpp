#pragma once
// From facts to what people and programs read of them.

#include "model/facts.hpp"
#include "model/views.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace muster::api {

inline constexpr std::size_t past_names_max = 4'096; // of workloads that the ledger has forgotten

/// Names of workloads by id: facts after the submit speak of the id alone. Holds those of the
/// ledger, and of forgotten ones the newest that were forgotten or met in old facts.
class WorkloadNames {
  public:
    void learn(const WorkloadId& id, const WorkloadName& name) { names_[id] = name; }
    /// Takes up a new fact: a workload that is there from now on, or is forgotten.
    void learn(const FactRecord& record);
    /// Takes up an old fact, maybe of a workload that was forgotten since.
    void recall(const FactRecord& record);
    /// The name, or the short id of one that is not known any more.
    std::string name_of(const WorkloadId& id) const;
    std::size_t size() const { return names_.size() + past_.size(); }

  private:
    void remember_past(const WorkloadId& id, WorkloadName name);

    std::map<WorkloadId, WorkloadName> names_;
    std::map<WorkloadId, WorkloadName> past_;
    std::deque<WorkloadId> past_order_; // of past_, oldest first
};

/// False for facts that come again and again and tell a person nothing new: they are in the journal
/// and no event.
bool is_event(const Fact& fact);

EventView event_view(const FactRecord& record, const WorkloadNames& names);

} // namespace muster::api
