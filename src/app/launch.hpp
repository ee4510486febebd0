#pragma once
// `muster launch`: one launcher process. Managed: an agent started it for one attempt; standalone:
// a person did, in torchrun's manner. Both run the same core (src/launch) under runtime::Loop.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::app {

struct LaunchOptions {
    std::string attempt_dir; // set: managed, everything else comes from its launch.json
    // standalone only
    std::int64_t nproc_per_node = 1;
    std::int64_t max_restarts = 3; // within ten minutes
    bool no_python = false;        // the command is a program, not a Python script
    bool module = false;           // the command's first word is a Python module
    std::string log_dir;           // ranks' logs, besides the terminal; empty: none
    std::vector<std::string> command;
};

/// Runs until the job is over; the exit code is the job's.
int run_launch(const LaunchOptions& options);

} // namespace muster::app
