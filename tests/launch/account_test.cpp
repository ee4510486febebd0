// What a generation's summary takes from the progress of its ranks.

#include "launch/account.hpp"

#include <gtest/gtest.h>

namespace muster::launch {
namespace {

std::vector<RankedProgress> rank_0(std::int64_t step, const std::string& phase,
                                   std::map<std::string, Duration> totals) {
    RankProgress progress;
    progress.step = step;
    progress.phase = phase;
    progress.phases = std::move(totals);
    return {{0, progress}};
}

TEST(Account, PhasesCountBetweenTheFirstStepAndTheLast) {
    GenerationAccount account(1, Instant{}, -1);
    Instant now;
    const auto see = [&](std::int64_t step, const std::string& phase,
                         std::map<std::string, Duration> totals) {
        now = now + Duration::seconds(1);
        account.observe(now, rank_0(step, phase, std::move(totals)));
    };
    const auto s = [](std::int64_t n) { return Duration::seconds(n); };
    see(-1, "load", {{"load", s(1)}});
    see(0, "", {{"load", s(60)}}); // initialisation, not a part of the steps
    see(1, "", {{"load", s(60)}});
    see(1, "checkpoint", {{"load", s(60)}, {"checkpoint", s(1)}});
    see(2, "", {{"load", s(60)}, {"checkpoint", s(5)}});
    see(2, "checkpoint", {{"load", s(60)}, {"checkpoint", s(9)}}); // the epilogue
    const std::map<std::string, Duration> between{{"checkpoint", s(5)}};
    EXPECT_EQ(account.summary().phases, between);
    EXPECT_EQ(account.progress().phase, "checkpoint");
}

} // namespace
} // namespace muster::launch
