#pragma once
// What a launcher needs before it starts: from the agent's launch.json, or made up for a standalone
// run. Everything is checked here, so that the rest deals with good values only.

#include "app/launch.hpp"
#include "launch/core.hpp"
#include "model/launch_file.hpp"

namespace muster::app {

struct LaunchSetup {
    launch::LaunchConfig config;
    NodeName node;
    DeviceKind devices = DeviceKind::slot;
    std::string node_dir;    // empty: standalone without logs
    std::string log_folder;  // empty: nothing is stored
    std::string attempt_dir; // empty: standalone
    std::string checkpoint_dir;
    std::string server; // managed only
    std::string token;  // managed only

    bool standalone() const { return config.standalone; }
    const PlacedNode& seats() const;
};

Result<LaunchSetup> managed_setup(const std::string& attempt_dir);
/// The run gets an id from the kernel's random numbers.
Result<LaunchSetup> standalone_setup(const cli::LaunchFlags& flags, Instant now);

} // namespace muster::app
