#pragma once
// ServerLink: the launcher's beats to the control plane and the fence on its orders. A silent
// server never stops anything. Internal to launch/.
//
// Life: as long as the core; idle for a standalone launcher.

#include "launch/context.hpp"
#include "launch/lane_state.hpp"

#include <optional>

namespace muster::launch {

/// What the lead or member has to say; identities and counts are the link's.
struct ServerWord {
    LauncherState state = LauncherState::joining;
    Generation generation = 0;
    std::optional<RankTable> table;
    std::vector<GenerationSummary> closed;
    std::optional<Progress> progress;
};

class ServerLink {
  public:
    explicit ServerLink(Context& context) : context_(context) {}

    /// The order to obey, or none where it is for another attempt or was overtaken.
    std::optional<LauncherOrder> on_said(Instant now, const ServerSaid& event);
    void on_silent(Instant now, const ServerSilent& event);
    void beat(Instant now, const ServerWord& word);
    Instant wake_at() const;

  private:
    struct News {
        LauncherState state = LauncherState::joining;
        Generation generation = 0;
        Generation closed_through = 0;
        friend bool operator==(const News&, const News&) = default;
    };

    void send(Instant now, Lane which, const ServerWord& word);
    LaneState& lane(Lane which) { return which == Lane::poll ? poll_ : push_; }

    Context& context_;
    LaneState poll_;
    LaneState push_;
    std::int64_t asked_ = 0;
    std::int64_t obeyed_asked_ = 0;
    std::int64_t asked_when_obeyed_ = 0; // newest beat sent before the order last obeyed came
    std::int64_t order_revision_ = 0;
    std::optional<News> told_; // by the newest beat
    std::optional<Progress> progress_sent_;
    bool news_waits_ = false;
    bool progress_waits_ = false;
    Instant beat_at_; // of the newest beat
};

} // namespace muster::launch
