#pragma once
// Scenarios: given/when/then in text, run on a simulated world with the real cores. A file gives
// the cluster and the jobs, then does and expects things in order; every checker watches meanwhile,
// and at the end the world must come to rest. The language: docs/simulator.md.

#include "base/result.hpp"
#include "sim/world.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::sim {

enum class Section { given, when, then };

/// One form of a line. In a pattern `#` stands for a number, `@` for a duration, `%` for a name,
/// `...` for keys and values; everything else is said literally.
enum class Verb {
    nodes,
    seed,
    network,
    disk,
    ranks_ignore_term,
    ranks_leave_children,
    ranks_stuck,
    job,
    role,
    submit,
    cancel,
    cordon,
    uncordon,
    wait,
    reaches_step,
    begins_attempt,
    is_phase,
    kill_rank,
    exit_rank,
    crash_server,
    stop_server,
    suspend_server,
    crash_agent,
    crash_launcher,
    power_off,
    cut,
    cut_people,
    pause_agent,
    pause_launcher,
    slow_disk,
    ends,
    has_reason,
    has_exit_code,
    has_restarts,
    has_attempts,
    has_cause_rank,
    waits_for,
    runs_on,
    has_steps,
    facts,
    nothing_changes,
};
struct Form {
    Section section;
    std::string_view pattern;
    Verb verb;
};
std::span<const Form> scenario_forms();

struct Value {
    std::string text;
    std::int64_t number = 0;
    Duration duration;
};
struct Statement {
    std::int64_t line = 0;
    const Form* form = nullptr;
    std::vector<Value> values; // one for each #, @, % of the pattern
};

struct Scenario {
    std::uint64_t seed = 1;
    WorldSetup setup;
    std::vector<Statement> steps; // when and then, in order
};

inline constexpr std::size_t scenario_bytes_max = 64 * 1024;
inline constexpr std::int64_t scenario_nodes_max = 64;
inline constexpr std::int64_t scenario_devices_max = 64;
inline constexpr std::size_t scenario_jobs_max = 64;

/// invalid_argument names the line and the rule that it breaks.
Result<Scenario> parse_scenario(std::string_view text);

/// ok, or "line 12: ..." as failed_precondition.
Status run_scenario(const Scenario& scenario, std::function<void(const std::string&)> trace = {});

} // namespace muster::sim
