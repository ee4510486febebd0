#pragma once
// Pages that the API answers and that have no request of the core behind them. Only what is used
// here is described; other keys are ignored.

#include "model/facts.hpp"
#include "model/views.hpp"

namespace muster::cli {

struct EventPage {
    std::vector<EventView> items;
    Sequence next = 0; // as asked: nothing is left
};
MUSTER_DESCRIBE(EventPage, items, next)

struct FactPage {
    std::vector<FactRecord> items;
};
MUSTER_DESCRIBE(FactPage, items)

} // namespace muster::cli
