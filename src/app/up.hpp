#pragma once
// run_up(), run_down(): a whole cluster on this machine. One supervisor process starts a server and
// agents as its children, starts them again when they end, and ends them and all jobs when it is
// asked to (docs/agent.md).

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace muster::app {

struct UpOptions {
    std::string state;                     // the state directory
    std::string listen = "127.0.0.1:7070"; // of the server; port 0 takes a free one
    std::int64_t nodes = 1;                // named n1, n2 ...
    std::optional<std::int64_t> slots;     // of each node; none: accelerators, else its CPUs
    bool detach = false;                   // go to the background once the nodes are in service
    std::string program;                   // muster; empty: this binary
};

/// In the foreground: until SIGINT or SIGTERM. Detached: until the nodes are in service.
Status run_up(const UpOptions& options);

struct DownOptions {
    std::string state;
};

/// Ends the cluster of a state directory and its jobs; ok where none runs.
Status run_down(const DownOptions& options);

} // namespace muster::app
