#pragma once
// run_agent(): the node agent's process. Starts launchers, watches them, beats. Its end leaves jobs
// untouched; the next agent on the same node directory adopts them (docs/agent.md).

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace muster::app {

struct AgentOptions {
    std::string server;     // URL of the control plane: "http://127.0.0.1:7070"
    std::string token_file; // the node's token
    std::string node;       // empty: the host's name as a DNS label
    std::string node_dir;   // keeps the journal, the attempts and the logs
    std::string address;    // where peers reach this machine; empty: as it is seen by the server
    std::optional<std::int64_t> slots; // given: that many slots and no accelerators
    std::string program;               // of launchers; empty: this binary
};

inline constexpr std::int64_t slots_max = 4'096;
/// A number that may be given as --slots.
Status check_slots(std::optional<std::int64_t> slots);

/// The node's name that an empty option stands for.
std::string default_node_name();

/// Runs until SIGTERM or SIGINT (ok) or until beating is pointless (the error says why).
Status run_agent(const AgentOptions& options);

} // namespace muster::app
