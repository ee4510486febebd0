#pragma once
// From facts to what people and programs read of them.

#include "model/facts.hpp"
#include "model/views.hpp"

#include <map>
#include <string>

namespace muster::api {

/// Names of workloads by id: facts after the submit speak of the id alone.
class WorkloadNames {
  public:
    void learn(const WorkloadId& id, const WorkloadName& name) { names_[id] = name; }
    /// Takes up a WorkloadSubmitted.
    void learn(const FactRecord& record);
    /// The name, or the short id of one that is not known any more.
    std::string name_of(const WorkloadId& id) const;

  private:
    std::map<WorkloadId, WorkloadName> names_;
};

/// False for facts that come again and again and tell a person nothing new: they are in the journal
/// and no event.
bool is_event(const Fact& fact);

EventView event_view(const FactRecord& record, const WorkloadNames& names);

} // namespace muster::api
