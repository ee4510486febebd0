#include "model/reason.hpp"

namespace muster {
namespace {

std::string with_detail(std::string text, const Reason& reason) {
    if (!reason.detail.empty()) text += ": " + reason.detail;
    return text;
}

constexpr std::int64_t signal_base = 128; // exit codes above tell a signal

std::string exit_words(std::int64_t code) {
    if (code > signal_base && code <= signal_base + 64)
        return "was killed by signal " + std::to_string(code - signal_base);
    return "ended with exit code " + std::to_string(code);
}

std::string devices(std::int64_t number) {
    return std::to_string(number) + (number == 1 ? " device" : " devices");
}

} // namespace

std::string explain(const Reason& reason) {
    const std::string have = std::to_string(reason.have);
    const std::string need = std::to_string(reason.need);
    const std::string& subject = reason.subject;
    switch (reason.code) {
    case ReasonCode::none: return "";
    case ReasonCode::fits:
        return "asked for " + devices(reason.need) + " when " + have +
               (reason.have == 1 ? " was" : " were") + " free";
    case ReasonCode::waiting_for_devices:
        return "needs " + devices(reason.need) + ", " + have + (reason.have == 1 ? " is" : " are") +
               " free";
    case ReasonCode::waiting_for_node_fit:
        return have + " devices are free, but role " + subject + " needs nodes with " + need +
               " free devices each";
    case ReasonCode::behind_in_queue:
        return "waits behind " + subject + " (priority " + have + ", own priority " + need + ")";
    case ReasonCode::no_nodes: return "no node is in service and accepts work";
    case ReasonCode::backing_off:
        return "waits " + need + " s after a failure, " + have + " s have passed";
    case ReasonCode::larger_than_cluster:
        return "needs " + devices(reason.need) + ", all nodes together have " + have;
    case ReasonCode::larger_than_nodes:
        return "role " + subject + " needs nodes with " + need +
               " devices each in enough number, the largest node has " + have;
    case ReasonCode::too_many_helpers:
        return "role " + subject + " has " + need + " ranks without devices, the nodes take " +
               have + " of one job (one a CPU or device)";
    case ReasonCode::held_devices:
        return devices(reason.have) + " of " + subject + (reason.have == 1 ? " is" : " are") +
               " not reported free yet";
    case ReasonCode::cordoned_devices:
        return with_detail("node " + subject + " with " + devices(reason.have) + " is cordoned",
                           reason);
    case ReasonCode::silent_devices:
        return "node " + subject + " with " + devices(reason.have) + " gives no sign";
    case ReasonCode::submitted: return "submitted";
    case ReasonCode::finished: return "every rank ended with exit code 0";
    case ReasonCode::cancelled_by_user: return "cancelled by " + subject;
    case ReasonCode::rank_failed:
        // The last line of a killed rank tells what it did, not why it was killed.
        if (reason.have > signal_base) return "rank " + subject + " " + exit_words(reason.have);
        return with_detail("rank " + subject + " " + exit_words(reason.have), reason);
    case ReasonCode::launcher_lost:
        return with_detail("the launcher on " + subject + " was lost", reason);
    case ReasonCode::node_lost: return "node " + subject + " gave no sign for " + have + " s";
    case ReasonCode::node_rebooted: return "node " + subject + " was rebooted";
    case ReasonCode::user_error:
        return with_detail("every rank failed alike within seconds, so a retry would fail too",
                           reason);
    case ReasonCode::cannot_start: return with_detail("cannot start " + subject, reason);
    case ReasonCode::budget_spent:
        return with_detail("the restart budget is spent (" + have + " of " + need + ")", reason);
    case ReasonCode::no_progress:
        return with_detail(have + " failures in a row without a new step (limit " + need + ")",
                           reason);
    case ReasonCode::early_exit:
        return "rank " + subject + " ended with 0 while others ran on for " + have + " s";
    case ReasonCode::teardown_stuck:
        return with_detail(have + " processes on " + subject + " survived SIGKILL", reason);
    case ReasonCode::start_timeout:
        return "launcher on " + subject + " did not join within " + need + " s";
    case ReasonCode::released: return "nothing of it is left on " + subject;
    case ReasonCode::joined: return "joined";
    case ReasonCode::came_back: return "beats again";
    case ReasonCode::cordoned_by_admin: return with_detail("cordoned by admin", reason);
    case ReasonCode::uncordoned_by_admin: return "uncordoned by admin";
    case ReasonCode::no_contact: return "gave no sign for " + have + " s (limit " + need + " s)";
    }
    return "";
}

std::string unblocks_when(const Reason& reason) {
    const std::string missing = std::to_string(reason.need - reason.have);
    switch (reason.code) {
    case ReasonCode::waiting_for_devices: return missing + " more devices become free";
    case ReasonCode::waiting_for_node_fit:
        return "nodes with " + std::to_string(reason.need) + " free devices each become free";
    case ReasonCode::behind_in_queue: return reason.subject + " starts or is cancelled";
    case ReasonCode::no_nodes: return "a node joins, comes back or is uncordoned (muster nodes)";
    case ReasonCode::backing_off: return missing + " s pass";
    case ReasonCode::larger_than_cluster:
        return "nodes with " + missing + " more devices join, or the job asks for less";
    case ReasonCode::larger_than_nodes:
        return "nodes with " + std::to_string(reason.need) +
               " devices join, or the job asks for fewer ranks or devices on one node";
    case ReasonCode::too_many_helpers: return "nodes join, or the job asks for fewer of them";
    case ReasonCode::held_devices: return reason.subject + " reports them free or reboots";
    case ReasonCode::cordoned_devices:
        return "it is uncordoned (muster node uncordon " + reason.subject + ")";
    case ReasonCode::silent_devices: return "its agent is back (muster nodes)";
    default: return "";
    }
}

} // namespace muster
