// AgentCore's two lanes. Everything held is in every beat, so a lost beat loses nothing.

#include "agent/core.hpp"

#include "base/require.hpp"

#include <algorithm>
#include <utility>

namespace muster::agent {

void AgentCore::lane_answered(Lane lane, std::int64_t asked) {
    LaneState& state = lane_state(lane);
    if (!state.in_flight || state.asked != asked) return; // a late or repeated answer
    state.in_flight = false;
    state.retry_delay = Duration{};
    state.retry_at = Instant{};
    std::erase_if(replies_, [&](const LogReply& reply) { return reply.sent_on == lane; });
}

void AgentCore::lane_failed(Instant now, Lane lane) {
    LaneState& state = lane_state(lane);
    state.in_flight = false;
    state.retry_delay = state.retry_delay == Duration{}
                            ? beat_retry_first
                            : std::min(state.retry_delay * 2, beat_retry_max);
    state.retry_at = now + state.retry_delay;
    for (auto& reply : replies_)
        if (reply.sent_on == lane) reply.sent_on.reset();
    // A failed poll is sent again anyway; the next one may be held already, so a push is repeated.
    if (lane == Lane::push) news_ = true;
}

void AgentCore::give_up(Error error, Out& out) {
    if (gave_up_) return;
    gave_up_ = true;
    out.commands.push_back(GiveUp{std::move(error)});
}

void AgentCore::send_beats(Instant now, Out& out) {
    if (gave_up_) return;
    std::erase_if(replies_, [&](const LogReply& reply) { return reply.until <= now; });
    if (!poll_.in_flight && now >= poll_.retry_at) send_beat(Lane::poll, out);
    // The poll that was held before the news does not carry it.
    if (news_ && !push_.in_flight && now >= push_.retry_at) send_beat(Lane::push, out);
}

void AgentCore::send_beat(Lane lane, Out& out) {
    LaneState& state = lane_state(lane);
    REQUIRE(!state.in_flight, "a lane has one request in flight");
    state.in_flight = true;
    state.asked = ++asked_;
    news_ = false;
    out.commands.push_back(SendBeat{lane, make_beat(lane)});
}

AgentBeat AgentCore::make_beat(Lane lane) {
    AgentBeat beat;
    beat.installation = ledger_.installation.empty() ? config_.installation : ledger_.installation;
    beat.node = config_.node;
    beat.boot_id = config_.boot_id;
    beat.session = config_.session;
    beat.asked = asked_;
    beat.order_revision = order_revision_;
    if (!inventory_told_) beat.inventory = config_.inventory;
    for (const auto& [key, hold] : ledger_.holds)
        beat.held.push_back({key.workload, key.attempt, hold.order.launcher_index, hold.state,
                             hold.result, hold.launcher_error});
    beat.sample = std::exchange(sample_, std::nullopt);
    for (auto& reply : replies_) {
        if (reply.sent_on) continue;
        reply.sent_on = lane;
        beat.log_answers.push_back(reply.answer);
    }
    return beat;
}

Instant AgentCore::next_wake() const {
    Instant wake = Instant::never();
    if (!gave_up_) {
        if (!poll_.in_flight) wake = std::min(wake, poll_.retry_at);
        if (!push_.in_flight && news_) wake = std::min(wake, push_.retry_at);
    }
    for (const auto& [key, watch] : watches_)
        if (!watch.clearing) wake = std::min(wake, watch.clear_at);
    return wake;
}

} // namespace muster::agent
