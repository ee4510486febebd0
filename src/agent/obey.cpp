// AgentCore obeys an order: desired state, so it compares what is listed with what is held.

#include "agent/core.hpp"

#include <algorithm>
#include <set>

namespace muster::agent {
namespace {

AttemptKey key_of(const AttemptOrder& entry) { return {entry.workload, entry.attempt}; }

std::set<std::int64_t> devices_of(const AttemptOrder& entry) {
    std::set<std::int64_t> devices;
    const auto index = static_cast<std::size_t>(entry.launcher_index);
    if (index >= entry.placement.nodes.size()) return devices;
    for (const auto& seat : entry.placement.nodes[index].seats)
        devices.insert(seat.devices.begin(), seat.devices.end());
    return devices;
}

} // namespace

bool AgentCore::is_for_us(const AgentOrder& order) const {
    const InstallationId& ours =
        ledger_.installation.empty() ? config_.installation : ledger_.installation;
    if (order.installation.empty()) return false;
    if (!ours.empty() && order.installation != ours) return false;
    return order.session == config_.session && order.asked >= 1 && order.asked <= asked_ &&
           order.incarnation >= ledger_.incarnation;
}

void AgentCore::obey(Instant now, const AgentOrder& order, Out& out) {
    obeyed_asked_ = order.asked;
    asked_when_obeyed_ = asked_;
    order_revision_ = order.revision;
    inventory_told_ = true;
    if (ledger_.installation != order.installation || ledger_.incarnation != order.incarnation)
        record(now, NodeAdmitted{order.installation, order.incarnation}, out);
    stop_unlisted(now, order, out);
    start_listed(now, order, out);
    for (const auto& key : order.forget) {
        const auto at = ledger_.holds.find(key);
        if (at != ledger_.holds.end() && at->second.state == HoldState::released)
            record(now, HoldForgotten{key}, out);
    }
    read_logs(now, order, out);
}

void AgentCore::stop_unlisted(Instant now, const AgentOrder& order, Out& out) {
    std::set<AttemptKey> listed;
    for (const auto& entry : order.run) listed.insert(key_of(entry));
    std::vector<AttemptKey> unlisted;
    for (const auto& [key, hold] : ledger_.holds)
        if ((hold.state == HoldState::starting || hold.state == HoldState::running) &&
            !listed.contains(key))
            unlisted.push_back(key);
    for (const auto& key : unlisted) begin_stopping(now, key, out);
}

void AgentCore::start_listed(Instant now, const AgentOrder& order, Out& out) {
    for (const auto& entry : order.run) {
        if (!may_start(entry)) continue;
        record(now, HoldTaken{entry, order.incarnation}, out);
        watches_[key_of(entry)].answer_pending = true;
        out.commands.push_back(StartLauncher{entry, order.incarnation});
        news_ = true;
    }
}

/// Held or released ones are not started again. The others wait for a later order where they are
/// placed on another boot of this node, or on devices that are not reported free yet.
bool AgentCore::may_start(const AttemptOrder& entry) const {
    if (ledger_.holds.contains(key_of(entry))) return false;
    if (watches_.size() >= holds_max) return false;
    const auto index = static_cast<std::size_t>(entry.launcher_index);
    if (entry.launcher_index < 0 || index >= entry.placement.nodes.size()) return false;
    const PlacedNode& placed = entry.placement.nodes[index];
    if (placed.node != config_.node || placed.incarnation != ledger_.incarnation) return false;
    const auto wanted = devices_of(entry);
    return std::ranges::none_of(ledger_.holds, [&](const auto& item) {
        if (item.second.state == HoldState::released) return false;
        return std::ranges::any_of(devices_of(item.second.order),
                                   [&](std::int64_t device) { return wanted.contains(device); });
    });
}

void AgentCore::read_logs(Instant now, const AgentOrder& order, Out& out) {
    // One that the order has dropped was answered: remembering it would use up the limit.
    std::erase_if(logs_asked_, [&](const LogAsked& asked) {
        return asked.until <= now ||
               std::ranges::find(order.log_requests, asked.request) == order.log_requests.end();
    });
    for (const auto& request : order.log_requests) {
        const bool known = std::ranges::any_of(
            logs_asked_, [&](const LogAsked& asked) { return asked.request == request; });
        if (known || logs_asked_.size() >= log_requests_max) continue;
        logs_asked_.push_back({request, now + log_reply_life});
        out.commands.push_back(ReadLogs{request});
    }
}

} // namespace muster::agent
