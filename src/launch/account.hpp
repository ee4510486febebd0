#pragma once
// GenerationAccount: what one generation did, from the progress of all its ranks: the summary for
// the goodput account and the progress that people see. Internal to launch/; used by the lead.
//
// All times given to it are on the lead's clock. Begin a new one for each generation.

#include "launch/core.hpp"

#include <deque>
#include <map>

namespace muster::launch {

struct RankedProgress {
    std::int64_t rank = 0;
    RankProgress progress; // times on the lead's clock
};

class GenerationAccount {
  public:
    /// Steps up to `redo_through` were made by earlier generations or attempts.
    GenerationAccount(Generation generation, Instant began_at, std::int64_t redo_through);

    void started(Instant now) { summary_.started_at = now; }
    void raise_redo_through(std::int64_t step);
    /// `ranks` in the order of their rank.
    void observe(Instant now, const std::vector<RankedProgress>& ranks);

    const Progress& progress() const { return progress_; }
    const GenerationSummary& summary() const { return summary_; }
    /// A step beyond all earlier ones was made by all ranks that report.
    bool stepped() const { return summary_.last_step > redo_through_; }
    /// When any rank's step, samples or phase last changed; zero: never.
    Instant moved_at() const { return moved_at_; }

    /// The summary of the ended generation, its times in their natural order.
    GenerationSummary close(Instant detected_at, Instant torn_down_at) const;

  private:
    struct Point {
        Instant at;
        std::int64_t step = 0;
        std::int64_t samples = 0;
    };

    void observe_steps(const std::vector<RankedProgress>& ranks);
    void observe_phases(bool first, const std::vector<RankedProgress>& ranks);
    void observe_loss(const std::vector<RankedProgress>& ranks);
    void measure(Instant now);

    std::int64_t redo_through_;
    GenerationSummary summary_;
    Progress progress_;
    Instant moved_at_;
    std::vector<RankedProgress> seen_;                 // as last observed
    std::map<std::int64_t, std::int64_t> first_steps_; // by rank, as first seen
    std::map<std::string, Duration> phases_before_;    // totals at the first step
    std::deque<Point> recent_;                         // for rates
};

} // namespace muster::launch
