#pragma once
// Member: a launcher that follows the lead. It starts and ends its ranks as told, says what became
// of them, and ends them by itself only where its node, the control plane or a silent lead leaves
// no other way. Internal to launch/.
//
// Fence: an order counts where its attempt is ours and (term, revision) is not older than the one
// obeyed; a lead never goes back within a term. Life: as long as the core; idle on the lead.

#include "launch/context.hpp"
#include "launch/lane_state.hpp"

#include <optional>

namespace muster::launch {

class Member {
  public:
    explicit Member(Context& context) : context_(context) {}

    void set_lead(Instant now, const std::string& endpoint);
    void on_said(Instant now, const LeadSaid& event);
    void on_silent(Instant now, const LeadSilent& event);
    void on_leave_asked(Instant now, std::int64_t signal);
    void on_cancel(Instant now);
    /// The attempt is over for others to judge.
    void on_fenced(Instant now);
    void forgive(Duration stall) { heard_at_ = heard_at_ + stall; }
    void advance(Instant now);
    Instant wake_at() const;

    LauncherState state() const;

  private:
    /// What a beat must tell without delay where it changed.
    struct News {
        Generation generation = 0;
        bool started = false;
        bool empty = true;
        bool leaving = false;
        bool gone = false; // nothing is left here and we are to leave
        std::int64_t leftover = 0;
        std::size_t exits = 0;
        friend bool operator==(const News&, const News&) = default;
    };

    void obey(Instant now, const MemberOrder& order);
    void begin_leave(Instant now, Duration grace, std::int64_t exit_code);
    void watch_lead(Instant now);
    void say_goodbye(Instant now);
    void beat(Instant now);
    void send(Instant now, Lane lane);
    void leave();
    News news() const;
    LaneState& lane(Lane which) { return which == Lane::poll ? poll_ : push_; }

    Context& context_;
    std::string endpoint_; // of the lead; empty: not known yet
    LaneState poll_;
    LaneState push_;
    std::int64_t asked_ = 0;
    std::optional<MemberOrder> order_; // obeyed last
    std::optional<RankTable> pending_; // to start once nothing is left of the former
    std::optional<News> told_;
    Instant beat_at_; // of the newest beat sent
    bool progress_told_ = true;

    bool heard_ = false; // the lead has answered
    Instant heard_at_;
    bool leaving_ = false; // of our own: not told by the lead
    bool told_to_leave_ = false;
    StopKind stop_ = StopKind::none; // heard from the control plane
    std::int64_t exit_code_ = 0;
    Instant clear_deadline_ = Instant::never(); // while leaving
    Instant goodbye_at_;                        // zero: not begun
    std::int64_t goodbye_asked_ = 0;            // beats after this one say that we are gone
    bool goodbye_heard_ = false;
    std::vector<RankProgress> progress_sent_;
};

} // namespace muster::launch
