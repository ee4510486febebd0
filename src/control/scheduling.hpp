#pragma once
// What the control plane's ledger says to the scheduler.

#include "control/ledger.hpp"
#include "scheduler/state.hpp"

namespace muster::control {

/// The State that applying every fact of this ledger to an empty one would have given. Nobody is in
/// contact in it: that is seen live.
scheduler::State scheduling_of(const Ledger& ledger);

} // namespace muster::control
