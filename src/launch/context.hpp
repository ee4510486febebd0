#pragma once
// Context: what lead and member share: the launcher's identity, its local ranks, and the way out.
// Internal to launch/. One per core, at a fixed address.

#include "launch/local_ranks.hpp"

#include <string>
#include <utility>

namespace muster::launch {

struct Context {
    LaunchConfig config;
    LocalRanks local;
    std::vector<LaunchCommand> out; // of this step
    Instant begun_at;
    Term term = 1;
    bool left = false; // Leave was given: nothing follows

    explicit Context(LaunchConfig given)
        : config(std::move(given)), local(config.order.launcher_index) {}

    std::int64_t self() const { return config.order.launcher_index; }
    std::int64_t launchers() const {
        return static_cast<std::int64_t>(config.order.placement.nodes.size());
    }
    const NodeName& node(std::int64_t launcher) const {
        return config.order.placement.nodes[static_cast<std::size_t>(launcher)].node;
    }
    Duration full_grace() const { return config.order.spec.stop_grace; }
    /// Ranks of a broken or fenced gang have nothing to save.
    Duration short_grace() const { return std::min(full_grace(), failure_grace_max); }

    void tell(std::string text) { out.push_back(Tell{std::move(text)}); }
};

/// The longest that clearing may take before it counts as stuck.
inline Duration clear_limit(Duration grace) { return grace + kill_limit; }

} // namespace muster::launch
