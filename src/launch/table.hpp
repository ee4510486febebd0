#pragma once
// The rank table of a generation from the placement. Internal to launch/.

#include "model/orders.hpp"

namespace muster::launch {

/// Ranks are numbered role by role in the order of the spec, then in placement order, then by seat;
/// local ranks in the order of ranks.
std::vector<RankRow> rank_rows(const AttemptOrder& order);

} // namespace muster::launch
