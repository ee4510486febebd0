#pragma once
// `muster launch`: one launcher process. Managed: an agent started it for one attempt; standalone:
// a person did, in torchrun's manner. Both run the same core (src/launch) under runtime::Loop.

#include "cli/flags.hpp"

namespace muster::app {

/// Runs until the job is over; the exit code is the job's.
int run_launch(const cli::LaunchFlags& flags);

} // namespace muster::app
