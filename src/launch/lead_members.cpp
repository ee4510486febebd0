// What members tell the lead and what they are told.

#include "launch/lead.hpp"

#include <algorithm>
#include <utility>

namespace muster::launch {
namespace {

constexpr Duration member_hold_max = Duration::seconds(5); // below member_silent_limit

} // namespace

void Lead::look_at_self() {
    const LocalRanks& local = context_.local;
    LauncherView& view = views_[static_cast<std::size_t>(context_.self())];
    view.heard = true;
    view.generation = local.generation();
    view.started = local.started();
    view.empty = local.empty();
    view.survivors = local.survivors();
    view.holders = local.holders();
    view.exits = local.exits();
    view.progress = local.progress();
}

void Lead::on_asked(Instant now, const MemberAsked& event) {
    const MemberBeat& beat = event.beat;
    const AttemptOrder& ours = context_.config.order;
    HeldReply reply{beat.launcher_index, event.reply, beat.asked, now};
    const bool fits = beat.workload == ours.workload && beat.attempt == ours.attempt &&
                      beat.launcher_index >= 0 && beat.launcher_index < context_.launchers() &&
                      beat.launcher_index != context_.self();
    if (!fits) { // workload and attempt of the answer are ours: a stranger ignores it
        answer(reply);
        return;
    }
    take_beat(now, views_[static_cast<std::size_t>(beat.launcher_index)], beat);
    if (beat.stop == StopKind::cancel) on_cancel(now);
    const bool told = beat.order_revision == order_.revision;
    const bool goodbye = phase_ == Phase::farewell && beat.empty;
    if (told && !goodbye) reply.until = now + std::min(event.hold, member_hold_max);
    held_.push_back(reply);
}

void Lead::take_beat(Instant now, LauncherView& view, const MemberBeat& beat) {
    view.heard = true;
    view.heard_at = now;
    if (beat.asked <= view.asked || beat.generation < view.generation) return; // overtaken
    view.asked = beat.asked;
    view.order_revision = beat.order_revision;
    if (beat.generation > view.generation) view.exits.clear();
    view.generation = beat.generation;
    view.started = beat.started;
    view.empty = beat.empty;
    view.leaving = beat.leaving;
    view.survivors = beat.empty ? 0 : std::max<std::int64_t>(1, beat.leftover_processes);
    view.holders = beat.holders;
    // The member's clock may differ from ours by any amount: only ages count.
    const auto on_our_clock = [&](Instant at) {
        if (at == Instant{}) return at;
        return now - std::max(Duration{}, beat.sent_at - at);
    };
    for (const auto& exit : beat.exits) {
        const bool known =
            std::any_of(view.exits.begin(), view.exits.end(),
                        [&](const RankExit& seen) { return seen.local_rank == exit.local_rank; });
        if (known) continue; // its time was taken when it was news
        view.exits.push_back(exit);
        view.exits.back().at = on_our_clock(exit.at);
    }
    view.progress = beat.progress;
    for (auto& p : view.progress) {
        p.first_step_at = on_our_clock(p.first_step_at);
        p.step_at = on_our_clock(p.step_at);
    }
}

void Lead::set_order(MemberAction action) {
    if (order_.revision > 0 && order_.action == action && order_.generation == generation_) return;
    ++order_.revision;
    order_.action = action;
    order_.generation = generation_;
    order_.table.reset();
    if (action == MemberAction::run) order_.table = table_;
    for (auto& held : held_) held.until = now_;
}

void Lead::answer(const HeldReply& held) {
    MemberOrder order = order_;
    order.workload = context_.config.order.workload;
    order.attempt = context_.config.order.attempt;
    order.term = context_.term;
    order.asked = held.asked;
    context_.out.push_back(AnswerMember{held.reply, std::move(order)});
}

void Lead::answer_due(Instant now) {
    std::erase_if(held_, [&](const HeldReply& held) {
        if (held.until > now) return false;
        answer(held);
        return true;
    });
}

void Lead::answer_all() {
    for (const auto& held : held_) answer(held);
    held_.clear();
}

bool Lead::all_started() const {
    return std::all_of(views_.begin(), views_.end(), [&](const LauncherView& view) {
        return view.generation == generation_ && view.started;
    });
}

bool Lead::all_ended() const {
    std::size_t ended = 0;
    for (const auto& view : views_)
        if (view.generation == generation_) ended += view.exits.size();
    return ended >= table_.ranks.size();
}

bool Lead::reachable(Instant now, const LauncherView& view) const {
    if (&view == &views_[static_cast<std::size_t>(context_.self())]) return true;
    return view.heard && now - view.heard_at < member_silent_limit;
}

std::optional<std::int64_t> Lead::rank_of(std::int64_t launcher, std::int64_t local_rank) const {
    for (const auto& row : table_.ranks)
        if (row.launcher == launcher && row.local_rank == local_rank) return row.rank;
    return std::nullopt;
}

std::vector<recovery::EndedRank> Lead::ends() const {
    std::vector<recovery::EndedRank> result;
    for (std::int64_t launcher = 0; launcher < context_.launchers(); ++launcher) {
        const LauncherView& view = views_[static_cast<std::size_t>(launcher)];
        if (view.generation != generation_) continue;
        for (const auto& exit : view.exits)
            if (const auto rank = rank_of(launcher, exit.local_rank))
                result.push_back({*rank, context_.node(launcher), exit});
    }
    std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
        return std::pair{a.exit.at, a.rank} < std::pair{b.exit.at, b.rank};
    });
    return result;
}

std::vector<RankedProgress> Lead::all_progress() const {
    std::vector<RankedProgress> result;
    for (std::int64_t launcher = 0; launcher < context_.launchers(); ++launcher) {
        const LauncherView& view = views_[static_cast<std::size_t>(launcher)];
        if (view.generation != generation_) continue;
        for (const auto& progress : view.progress)
            if (const auto rank = rank_of(launcher, progress.local_rank))
                result.push_back({*rank, progress});
    }
    std::sort(result.begin(), result.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    return result;
}

} // namespace muster::launch
