#include "launch/member.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster::launch {

void Member::set_lead(Instant now, const std::string& endpoint) {
    if (endpoint.empty() || endpoint == endpoint_) return;
    endpoint_ = endpoint;
    heard_at_ = std::max(heard_at_, now);
}

void Member::on_said(Instant now, const LeadSaid& event) {
    LaneState& used = lane(event.lane);
    const MemberOrder& order = event.order;
    const AttemptOrder& mine = context_.config.order;
    const bool ours =
        order.workload == mine.workload && order.attempt == mine.attempt && order.revision > 0;
    if (!ours) { // somebody else's lead answers at our lead's address
        used.failed(now);
        return;
    }
    heard_ = true;
    heard_at_ = now;
    if (goodbye_at_ != Instant{} && order.asked > goodbye_asked_) goodbye_heard_ = true;
    const auto age = [](const MemberOrder& o) { return std::pair{o.term, o.revision}; };
    used.answered(now, event.lane, order.revision);
    if (!order_ || age(order) > age(*order_)) obey(now, order);
}

void Member::on_silent(Instant now, const LeadSilent& event) {
    lane(event.lane).failed(now);
    told_.reset(); // what that beat told is told again
}

void Member::obey(Instant now, const MemberOrder& order) {
    const bool fits = order.table && order.table->generation == order.generation;
    if (order.action == MemberAction::run && !fits) return; // no lead says so
    order_ = order;
    context_.term = std::max(context_.term, order.term);
    LocalRanks& local = context_.local;
    switch (order.action) {
    case MemberAction::wait: break;
    case MemberAction::run:
        if (order.generation <= local.generation() || leaving_) break;
        pending_ = order.table;
        if (!local.empty()) local.clear(now, context_.short_grace(), context_.out);
        break;
    case MemberAction::clear:
    case MemberAction::leave: {
        const bool leave = order.action == MemberAction::leave;
        if (pending_ && pending_->generation <= order.generation) pending_.reset();
        if (order.generation < local.generation()) break; // of a generation that is gone
        const Duration grace = leave ? context_.full_grace() : context_.short_grace();
        local.clear(now, grace, context_.out);
        if (leave && !told_to_leave_) {
            told_to_leave_ = true;
            if (!leaving_) clear_deadline_ = now + clear_limit(grace);
        }
        break;
    }
    }
}

void Member::begin_leave(Instant now, Duration grace, std::int64_t exit_code) {
    context_.local.clear(now, grace, context_.out);
    pending_.reset();
    if (leaving_) return;
    leaving_ = true;
    exit_code_ = exit_code;
    clear_deadline_ = now + clear_limit(grace);
}

void Member::on_leave_asked(Instant now, std::int64_t signal) {
    begin_leave(now, context_.full_grace(), exit_signalled + signal);
}

void Member::on_cancel(Instant now) {
    stop_ = StopKind::cancel;
    begin_leave(now, context_.full_grace(), exit_lost);
}

void Member::on_fenced(Instant now) { begin_leave(now, context_.short_grace(), exit_lost); }

void Member::watch_lead(Instant now) {
    if (leaving_ || told_to_leave_) return;
    const bool silent = heard_ && now - heard_at_ >= lead_silent_limit;
    // Before the first answer the lead may not even be started: the limit is that of gathering.
    const bool absent = !heard_ && now - context_.begun_at >= gather_limit + lead_silent_limit;
    if (!silent && !absent) return;
    context_.tell("the lead launcher gave no answer for " +
                  to_text(silent ? lead_silent_limit : gather_limit + lead_silent_limit) +
                  ": ending the ranks here and leaving");
    begin_leave(now, context_.short_grace(), exit_lost);
}

void Member::advance(Instant now) {
    watch_lead(now);
    LocalRanks& local = context_.local;
    local.advance(now, context_.out);
    if (pending_ && local.empty()) {
        local.start(*pending_, context_.out);
        pending_.reset();
    }
    // A generation that is cleared before it ever began here counts as taken up and empty.
    if (order_ && order_->action != MemberAction::wait && local.empty() &&
        local.generation() < order_->generation)
        local.take_up(order_->generation);
    if (leaving_ || told_to_leave_) say_goodbye(now);
    if (!context_.left) beat(now);
}

/// Gone once nothing is left here and the lead has heard so (or cannot be reached any more).
void Member::say_goodbye(Instant now) {
    const bool stuck = now >= clear_deadline_;
    if (!context_.local.empty() && !stuck) return;
    if (goodbye_at_ == Instant{}) {
        goodbye_at_ = now;
        goodbye_asked_ = asked_;
    }
    if (goodbye_heard_ || endpoint_.empty() || !heard_ || now >= goodbye_at_ + goodbye_limit)
        leave();
}

void Member::leave() {
    LauncherResult result;
    result.leftover_processes = context_.local.survivors();
    context_.out.push_back(Leave{std::move(result), exit_code_});
    context_.left = true;
}

Member::News Member::news() const {
    const LocalRanks& local = context_.local;
    return News{local.generation(),       local.started(),  local.empty(),       leaving_,
                goodbye_at_ != Instant{}, local.leftover(), local.exits().size()};
}

void Member::beat(Instant now) {
    if (endpoint_.empty()) return;
    if (poll_.ready(now)) send(now, Lane::poll);
    if (told_ != news() && push_.ready(now)) send(now, Lane::push);
    progress_told_ = context_.local.progress() == progress_sent_;
    if (!progress_told_ && push_.ready(now) && now >= beat_at_ + progress_beat_interval)
        send(now, Lane::push);
}

void Member::send(Instant now, Lane which) {
    const LocalRanks& local = context_.local;
    MemberBeat beat;
    beat.workload = context_.config.order.workload;
    beat.attempt = context_.config.order.attempt;
    beat.launcher_index = context_.self();
    beat.asked = ++asked_;
    beat.order_revision = order_ ? order_->revision : 0;
    beat.sent_at = now;
    beat.term = context_.term;
    beat.generation = local.generation();
    beat.started = local.started();
    beat.empty = local.empty();
    beat.leaving = leaving_;
    beat.stop = stop_;
    beat.leftover_processes = local.leftover();
    beat.holders = local.holders();
    beat.exits = local.exits();
    beat.progress = local.progress();
    told_ = news();
    progress_sent_ = beat.progress;
    progress_told_ = true;
    beat_at_ = now;
    lane(which).sent(now, beat.order_revision);
    context_.out.push_back(SendMemberBeat{which, endpoint_, std::move(beat)});
}

LauncherState Member::state() const {
    if (context_.left) return LauncherState::done;
    if (leaving_ || told_to_leave_) return LauncherState::stopping;
    if (!order_) return LauncherState::joining;
    switch (order_->action) {
    case MemberAction::wait: return LauncherState::joining;
    case MemberAction::run:
        return context_.local.started() ? LauncherState::running : LauncherState::starting;
    case MemberAction::clear: return LauncherState::recovering;
    case MemberAction::leave: return LauncherState::stopping;
    }
    return LauncherState::stopping;
}

Instant Member::wake_at() const {
    const bool going = leaving_ || told_to_leave_;
    Instant at = context_.local.wake_at();
    if (!going)
        at = std::min(at, heard_ ? heard_at_ + lead_silent_limit
                                 : context_.begun_at + gather_limit + lead_silent_limit);
    if (going)
        at = std::min(at, goodbye_at_ == Instant{} ? clear_deadline_ : goodbye_at_ + goodbye_limit);
    if (endpoint_.empty()) return at;
    at = std::min(at, poll_.wake_at());
    if (told_ != news()) at = std::min(at, push_.wake_at());
    if (!progress_told_)
        at = std::min(at, std::max(push_.wake_at(), beat_at_ + progress_beat_interval));
    return at;
}

} // namespace muster::launch
