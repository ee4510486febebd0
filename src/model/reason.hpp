#pragma once
// Reason: why a decision was made or is not made yet, with its numbers. Codes are the same in the
// API, the CLI, metrics and docs (docs/reasons.md); explain() writes the sentence for people.

#include "base/time.hpp"
#include "model/describe.hpp"

#include <string>

namespace muster {

enum class ReasonCode {
    none,
    // admission
    fits,                 // enough free devices: have free, need asked
    waiting_for_devices,  // have free devices in the cluster, need asked
    waiting_for_node_fit, // enough devices, but not in the shape asked; subject: role
    behind_in_queue,      // subject: the workload ahead, have: its priority, need: ours
    no_nodes,             // no schedulable node at all
    backing_off,          // have: seconds waited, need: seconds to wait
    larger_than_cluster,  // have: devices of all nodes in service, need: asked
    larger_than_nodes,    // subject: role, have: devices of the largest node, need: on one node
    too_many_helpers,     // subject: role, have: ranks without devices that fit, need: asked
    held_devices,         // devices of an ended attempt are not reported free; subject: node
    cordoned_devices,     // subject: node, have: its devices, detail: why it is cordoned
    silent_devices,       // subject: node whose agent gives no sign, have: its devices
    // a workload's end and restarts
    submitted,
    finished,          // every rank ended with exit code 0
    cancelled_by_user, // subject: who
    rank_failed,       // subject: rank, have: exit code or 128 + signal
    launcher_lost,     // subject: node
    node_lost,         // subject: node, have: seconds without contact
    node_rebooted,     // subject: node
    user_error,        // the same failure on every rank within seconds: not retried
    cannot_start,      // the command could not be executed; subject: what, not retried
    budget_spent,      // have: restarts in the window, need: the limit
    no_progress,       // have: failures without a new step, need: the limit
    early_exit,        // a rank ended with 0 while others ran on; subject: rank
    teardown_stuck,    // processes survived SIGKILL; subject: node, have: how many
    start_timeout,     // launchers did not meet in time; subject: node missing
    released,          // its agent saw that no process is left; subject: node
    // nodes
    joined,
    came_back, // a lost node beats again
    cordoned_by_admin,
    uncordoned_by_admin,
    no_contact, // have: seconds without contact, need: the limit
};
MUSTER_DESCRIBE_ENUM(ReasonCode, none, fits, waiting_for_devices, waiting_for_node_fit,
                     behind_in_queue, no_nodes, backing_off, larger_than_cluster, larger_than_nodes,
                     too_many_helpers, held_devices, cordoned_devices, silent_devices, submitted,
                     finished, cancelled_by_user, rank_failed, launcher_lost, node_lost,
                     node_rebooted, user_error, cannot_start, budget_spent, no_progress, early_exit,
                     teardown_stuck, start_timeout, released, joined, came_back, cordoned_by_admin,
                     uncordoned_by_admin, no_contact)

struct Reason {
    ReasonCode code = ReasonCode::none;
    std::string subject; // what it is about, in the terms of the code's comment
    std::int64_t have = 0;
    std::int64_t need = 0;
    std::string detail; // evidence in words: a traceback's last line, an errno text
    friend bool operator==(const Reason&, const Reason&) = default;
};
MUSTER_DESCRIBE(Reason, code, subject, have, need, detail)

/// One sentence for people, with the numbers.
std::string explain(const Reason& reason);
/// What would change it, or empty where nothing is to be done.
std::string unblocks_when(const Reason& reason);

} // namespace muster
