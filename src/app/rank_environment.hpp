#pragma once
// The environment of a rank: torchrun's complete set, and MUSTER_* for the rest.
// docs/environment.md is its table; a test compares the two.

#include "model/attempt.hpp"
#include "model/workload.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::app {

struct RankPlace {
    const RankTable* table = nullptr;
    const RankRow* row = nullptr;
    const WorkloadSpec* spec = nullptr;
    WorkloadId workload;
    AttemptNumber attempt = 0;
    WorkloadName job;
    NodeName node;
    std::int64_t launchers = 1; // in the placement
    bool gpus = false;          // devices are GPUs, not slots
    std::string progress_page;  // empty: none
    std::string checkpoint_dir;
    std::string library;     // path of libmuster.so; empty: not found
    std::string python_path; // folder with the package `muster`; empty: not found
    std::string error_file;  // where torch's record() writes
};

using Environment = std::map<std::string, std::string>;

/// `inherited` (the launcher's own), then the role's, then ours. What a role sets on purpose stays:
/// OMP_NUM_THREADS, GLOO_SOCKET_IFNAME and MUSTER_CHECKPOINT_DIR are only defaults.
Environment rank_environment(Environment inherited, const RankPlace& place);

/// "NAME=value" for exec.
std::vector<std::string> to_entries(const Environment& environment);
/// The environment of this process.
Environment own_environment();

} // namespace muster::app
