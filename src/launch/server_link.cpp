#include "launch/server_link.hpp"

#include <algorithm>

namespace muster::launch {

std::optional<LauncherOrder> ServerLink::on_said(Instant now, const ServerSaid& event) {
    const LauncherOrder& order = event.order;
    LaneState& used = lane(event.lane);
    if (order.attempt != context_.config.order.attempt) {
        used.failed(now); // not for us; asking again at once would not help
        return std::nullopt;
    }
    // A poll that a push overtook while it was held is asked again and answered at once.
    used.answered(now, event.lane, order.revision);
    if (order.asked <= obeyed_asked_) return std::nullopt;
    // A held poll may be answered with newer truth before the answer to a later push arrives. Only
    // an answer to a beat that was sent after an order was obeyed is newer than that order for
    // certain; revisions of two server starts do not compare.
    if (order.asked <= asked_when_obeyed_ && order.revision < order_revision_) return std::nullopt;
    obeyed_asked_ = order.asked;
    asked_when_obeyed_ = asked_;
    order_revision_ = order.revision;
    return order;
}

void ServerLink::on_silent(Instant now, const ServerSilent& event) {
    lane(event.lane).failed(now);
    told_.reset(); // what that beat told is told again
}

void ServerLink::beat(Instant now, const ServerWord& word) {
    if (context_.config.standalone) return;
    const auto untold = [&] {
        const News news{word.state, word.generation,
                        word.closed.empty() ? 0 : word.closed.back().generation};
        return told_ != news;
    };
    if (poll_.ready(now)) send(now, Lane::poll, word);
    if (untold() && push_.ready(now)) send(now, Lane::push, word);
    const auto progress_due = beat_at_ + progress_beat_interval;
    if (word.progress != progress_sent_ && push_.ready(now) && now >= progress_due)
        send(now, Lane::push, word);
    news_waits_ = untold();
    progress_waits_ = word.progress != progress_sent_;
}

void ServerLink::send(Instant now, Lane which, const ServerWord& word) {
    const LaunchConfig& config = context_.config;
    LauncherBeat beat;
    beat.installation = config.installation;
    beat.workload = config.order.workload;
    beat.attempt = config.order.attempt;
    beat.launcher_index = context_.self();
    beat.incarnation = config.incarnation;
    beat.asked = ++asked_;
    beat.order_revision = order_revision_;
    beat.endpoint = config.endpoint;
    beat.state = word.state;
    beat.term = context_.term;
    beat.generation = word.generation;
    beat.table = word.table;
    beat.closed = word.closed;
    beat.progress = word.progress;
    told_ =
        News{word.state, word.generation, word.closed.empty() ? 0 : word.closed.back().generation};
    progress_sent_ = word.progress;
    beat_at_ = now;
    lane(which).sent(now, beat.order_revision);
    context_.out.push_back(SendServerBeat{which, std::move(beat)});
}

Instant ServerLink::wake_at() const {
    if (context_.config.standalone) return Instant::never();
    Instant at = poll_.wake_at();
    if (news_waits_) at = std::min(at, push_.wake_at());
    if (progress_waits_)
        at = std::min(at, std::max(push_.wake_at(), beat_at_ + progress_beat_interval));
    return at;
}

} // namespace muster::launch
