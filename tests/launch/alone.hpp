#pragma once
// Alone: one launcher's core, fed with events one by one.

#include "launch/core.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace muster::launch::test {

/// Launcher `index` of an attempt 3 with one rank on each of its machines.
struct Alone {
    LaunchCore core;
    Instant now = Instant{} + Duration::hours(1);

    explicit Alone(std::int64_t launchers = 1, std::int64_t index = 0)
        : core(config(launchers, index)) {
        say(Begin{});
    }
    static LaunchConfig config(std::int64_t launchers, std::int64_t index) {
        LaunchConfig config;
        config.order.attempt = 3;
        config.order.launcher_index = index;
        config.order.spec.roles.resize(1);
        for (std::int64_t i = 0; i < launchers; ++i)
            config.order.placement.nodes.push_back(
                {NodeName{"n" + std::to_string(i)}, 1, {Seat{RoleName{"worker"}, {}}}});
        config.address = "127.0.0.1";
        config.endpoint = "127.0.0.1:1";
        return config;
    }
    std::vector<LaunchCommand> say(const LaunchEvent& event) {
        now = now + Duration::millis(1);
        return core.step(now, event).commands;
    }
    /// The first command of its kind, or none.
    template <class Command>
    static std::optional<Command> one(const std::vector<LaunchCommand>& commands) {
        for (const auto& command : commands)
            if (const auto* found = std::get_if<Command>(&command)) return *found;
        return std::nullopt;
    }
    template <class Command>
    static std::int64_t count(const std::vector<LaunchCommand>& commands) {
        return std::count_if(commands.begin(), commands.end(),
                             [](const auto& c) { return std::holds_alternative<Command>(c); });
    }
};

} // namespace muster::launch::test
