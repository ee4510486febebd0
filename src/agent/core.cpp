// AgentCore's events. Orders are obeyed in obey.cpp, beats are sent in beats.cpp.

#include "agent/core.hpp"

#include "base/require.hpp"

namespace muster::agent {

AgentCore::AgentCore(AgentConfig config, AgentLedger ledger)
    : config_(std::move(config)), ledger_(std::move(ledger)) {
    REQUIRE(!config_.node.empty(), "a node has a name");
    REQUIRE(!config_.session.empty(), "an agent's start has an id");
}

Decision<AgentRecord, AgentCommand> AgentCore::step(Instant now, const AgentEvent& event) {
    Out out;
    REQUIRE(begun_ != std::holds_alternative<Begin>(event), "Begin comes first, and once");
    std::visit([&](const auto& e) { on(now, e, out); }, event);
    clear_those_due(now, out);
    send_beats(now, out);
    out.wake_at = next_wake();
    return out;
}

void AgentCore::record(Instant now, AgentFact fact, Out& out) {
    AgentRecord record{ledger_.last_sequence + 1, now, std::move(fact)};
    ledger_.apply(record);
    out.facts.push_back(std::move(record));
}

Hold* AgentCore::live_hold(const AttemptKey& key) {
    const auto at = ledger_.holds.find(key);
    if (at == ledger_.holds.end() || at->second.state == HoldState::released) return nullptr;
    return &at->second;
}

void AgentCore::on(Instant, const Begin&, Out& out) {
    begun_ = true;
    if (!config_.installation.empty() && !ledger_.installation.empty() &&
        config_.installation != ledger_.installation) {
        give_up({Code::failed_precondition,
                 "this node belongs to installation " + to_text(ledger_.installation) +
                     ", not to " + to_text(config_.installation),
                 "give the agent another node directory, or name the server of the first one", ""},
                out);
    }
    for (const auto& [key, hold] : ledger_.holds) {
        if (hold.state == HoldState::released) continue;
        watches_[key].answer_pending = true;
        out.commands.push_back(AdoptLauncher{key, hold.pid, hold.start_ticks});
    }
    news_ = true;
}

void AgentCore::on(Instant now, const OrderArrived& event, Out& out) {
    // An order that is not ours counts as no answer, so that a confused sender cannot make us spin.
    if (!is_for_us(event.order)) {
        lane_failed(now, event.lane);
        return;
    }
    lane_answered(event.lane, event.order.asked);
    if (event.order.asked < obeyed_asked_) return; // a newer one was obeyed already
    // A held poll may be answered with newer truth before the answer to a later push arrives. Only
    // an answer to a beat that was sent after an order was obeyed is newer than that order for
    // certain.
    const bool may_be_older = event.order.asked <= asked_when_obeyed_;
    if (may_be_older && event.order.revision < order_revision_) return;
    obey(now, event.order, out);
}

void AgentCore::on(Instant now, const BeatFailed& event, Out& out) {
    lane_failed(now, event.lane);
    switch (event.error.code) {
    case Code::permission_denied:
    case Code::failed_precondition: give_up(event.error, out); break;
    case Code::unauthenticated:
        // Wrong from the start. Later it may be a server that is being set up again: ask on.
        if (!inventory_told_) give_up(event.error, out);
        break;
    default: break;
    }
}

void AgentCore::on(Instant now, const LauncherStarted& event, Out& out) {
    const Hold* hold = live_hold(event.key);
    if (hold == nullptr) return;
    if (event.pid == 0) {
        on(now,
           LauncherGone{event.key, std::nullopt,
                        event.error.empty() ? "could not be started" : event.error},
           out);
        return;
    }
    watches_[event.key].answer_pending = false;
    if (hold->pid != event.pid || hold->start_ticks != event.start_ticks) {
        record(now, LauncherRuns{event.key, event.pid, event.start_ticks}, out);
        news_ = true;
    }
    // Asked to stop meanwhile, or before a restart of the agent: the launcher may not know yet.
    if (hold->state == HoldState::stopping) ask_to_leave(now, event.key, out);
}

void AgentCore::on(Instant now, const LauncherGone& event, Out& out) {
    const Hold* hold = live_hold(event.key);
    if (hold == nullptr) return;
    Watch& watch = watches_[event.key];
    watch.answer_pending = false;
    watch.clear_at = Instant::never();
    if (event.result) watch.result = event.result;
    if (watch.error.empty()) watch.error = event.error;
    if (hold->state != HoldState::stopping) {
        record(now, HoldStopping{event.key}, out);
        news_ = true;
    }
    clear_group(event.key, out);
}

void AgentCore::on(Instant now, const GroupCleared& event, Out& out) {
    if (live_hold(event.key) == nullptr) return;
    Watch& watch = watches_[event.key];
    if (!watch.clearing) return;
    watch.clearing = false;
    // A launcher whose start was not answered yet may appear after the look: look again.
    if (event.leftover > 0 || watch.answer_pending) {
        watch.clear_at = now + clear_retry;
        return;
    }
    HoldReleased fact{event.key, std::move(watch.result), {}};
    if (!fact.result)
        fact.launcher_error =
            watch.error.empty() ? "ended without a result" : std::move(watch.error);
    watches_.erase(event.key);
    record(now, std::move(fact), out);
    news_ = true;
}

void AgentCore::on(Instant, const SampleTaken& event, Out&) { sample_ = event.sample; }

void AgentCore::on(Instant now, const LogsRead& event, Out&) {
    if (replies_.size() >= log_requests_max) replies_.erase(replies_.begin());
    replies_.push_back({event.answer, std::nullopt, now + log_reply_life});
    news_ = true;
}

void AgentCore::on(Instant, const Wake&, Out&) {}

void AgentCore::begin_stopping(Instant now, const AttemptKey& key, Out& out) {
    record(now, HoldStopping{key}, out);
    news_ = true;
    ask_to_leave(now, key, out);
}

void AgentCore::ask_to_leave(Instant now, const AttemptKey& key, Out& out) {
    Watch& watch = watches_[key];
    if (watch.clearing) return;
    // The first limit counts: asking again does not prolong it.
    if (watch.clear_at.is_never())
        watch.clear_at = now + ledger_.holds.at(key).order.spec.stop_grace + leave_extra;
    out.commands.push_back(AskLauncherToLeave{key});
}

void AgentCore::clear_group(const AttemptKey& key, Out& out) {
    Watch& watch = watches_[key];
    if (watch.clearing) return;
    watch.clearing = true;
    watch.clear_at = Instant::never();
    out.commands.push_back(ClearGroup{key});
}

void AgentCore::clear_those_due(Instant now, Out& out) {
    for (auto& [key, watch] : watches_) {
        if (watch.clearing || now < watch.clear_at) continue;
        if (watch.error.empty()) watch.error = "killed: it did not leave within its grace";
        clear_group(key, out);
    }
}

} // namespace muster::agent
