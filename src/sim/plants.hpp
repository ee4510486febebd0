#pragma once
// Plants: bugs put into the wiring of a simulated world on purpose, to see that the checkers find
// them. They exist here only; production code has no switch for them.

#include <span>
#include <string_view>

namespace muster::sim {

enum class Plant {
    none,
    commands_before_durable,  // the server's loop does not wait for the journal
    no_fence,                 // agents take late orders for fresh ones
    release_without_clearing, // an agent's shell says "group empty" without killing anybody
    cleared_without_killing,  // a launcher's shell says "ranks cleared" without killing anybody
    early_release,            // the server takes devices for free once it told the agent to stop
    lost_tail,                // a restarted server forgets its journal's last fact
    token_dropped,            // the server does not see client tokens
    agent_forgets,            // a restarted agent does not read its journal
    order_without_journal,    // the agent's loop does not wait for its journal
    hasty_loss,               // a server that slept takes the silence meanwhile for its nodes'
    success_always,           // a launcher reports success whatever happened
};

struct PlantName {
    Plant plant;
    std::string_view name;
    std::string_view about;
};

std::span<const PlantName> plant_names();
std::string_view to_text(Plant plant);

} // namespace muster::sim
