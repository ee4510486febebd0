#pragma once
// Workload: anything that runs. A spec is what people write; parse_* in model/spec.hpp turns
// outside input into a valid one.

#include "base/time.hpp"
#include "model/describe.hpp"
#include "model/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

enum class WorkloadKind { job };
MUSTER_DESCRIBE_ENUM(WorkloadKind, job)

/// A group of like ranks. Ranks are numbered over all roles in the order of the spec.
struct Role {
    RoleName name{"worker"};
    std::int64_t ranks = 1;                     // processes in all
    std::optional<std::int64_t> ranks_per_node; // exactly this many on each node; else as it fits
    std::int64_t devices_per_rank = 1;          // 0: a helper that needs no device
    std::vector<std::string> command;           // argv of each rank
    std::map<std::string, std::string> env;
    friend bool operator==(const Role&, const Role&) = default;
};
MUSTER_DESCRIBE(Role, name, ranks, ranks_per_node, devices_per_rank, command, env)
MUSTER_REQUIRED(Role, "command")

/// How often a job may be restarted, counted for the whole job over all its attempts.
struct RestartPolicy {
    std::int64_t per_ten_minutes = 3;
    std::int64_t per_day = 20;
    friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;
};
MUSTER_DESCRIBE(RestartPolicy, per_ten_minutes, per_day)

struct WorkloadSpec {
    std::optional<WorkloadName> name; // made from the command and the id where absent
    WorkloadKind kind = WorkloadKind::job;
    std::int64_t priority = 50; // 0 to 100, larger first
    std::string workdir;        // absolute; where ranks start, the same path on each node
    std::vector<Role> roles;
    RestartPolicy restarts;
    Duration stop_grace = Duration::seconds(15); // from SIGTERM to SIGKILL
    // A rank ended with 0 while others of its role run on and do not move: then it is a failure.
    Duration early_exit_limit = Duration::minutes(10);
    friend bool operator==(const WorkloadSpec&, const WorkloadSpec&) = default;
};
MUSTER_DESCRIBE(WorkloadSpec, name, kind, priority, workdir, roles, restarts, stop_grace,
                early_exit_limit)
MUSTER_REQUIRED(WorkloadSpec, "roles")

enum class WorkloadPhase { queued, admitted, running, stopping, succeeded, failed, cancelled };
MUSTER_DESCRIBE_ENUM(WorkloadPhase, queued, admitted, running, stopping, succeeded, failed,
                     cancelled)

inline bool is_terminal(WorkloadPhase phase) {
    return phase == WorkloadPhase::succeeded || phase == WorkloadPhase::failed ||
           phase == WorkloadPhase::cancelled;
}

/// While running; derived from what launchers report, never journalled.
enum class WorkloadCondition { none, starting, training, recovering };
MUSTER_DESCRIBE_ENUM(WorkloadCondition, none, starting, training, recovering)

/// Ranks and devices that all roles ask for together.
std::int64_t total_ranks(const WorkloadSpec& spec);
std::int64_t total_devices(const WorkloadSpec& spec);

} // namespace muster
