#pragma once
// Ending the jobs of a state directory on this machine, whoever started them.

#include <cstdint>
#include <string>

namespace muster::app {

struct EndedJobs {
    std::int64_t launchers = 0; // that were running
    std::int64_t leftover = 0;  // processes that survived SIGKILL
};

/// SIGTERM to all launchers below `<state>/nodes`, their grace, then SIGKILL to what came from
/// them. Nodes whose agent still runs are left alone.
EndedJobs end_jobs(const std::string& state);

} // namespace muster::app
