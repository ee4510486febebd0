#include "base/prng.hpp"
#include "goodput/goodput.hpp"

#include <gtest/gtest.h>
#include <map>

namespace muster::goodput {
namespace {

Instant at(double seconds) { return Instant{static_cast<std::int64_t>(seconds * 1e9)}; }

GenerationSummary failed_generation() {
    GenerationSummary g;
    g.generation = 1;
    g.began_at = at(1);
    g.started_at = at(2);
    g.first_step_at = at(5);
    g.caught_up_at = at(5);
    g.last_step_at = at(25);
    g.fault_at = at(25.5);
    g.detected_at = at(26);
    g.torn_down_at = at(27);
    g.first_step = 0;
    g.last_step = 19;
    g.phases["checkpoint"] = Duration::seconds(4);
    g.cause = ExitCause{};
    return g;
}

GenerationSummary last_generation() {
    GenerationSummary g;
    g.generation = 2;
    g.began_at = at(27);
    g.started_at = at(28);
    g.first_step_at = at(30);
    g.caught_up_at = at(34);
    g.last_step_at = at(50);
    g.detected_at = at(51);
    g.torn_down_at = at(51.5);
    g.first_step = 15;
    g.last_step = 40;
    return g;
}

JobTimes two_generations() {
    JobTimes job;
    job.submitted_at = at(0.5);
    job.finished_at = at(52);
    job.attempts.push_back({1, 4, at(1), at(52), {failed_generation(), last_generation()}, {}});
    return job;
}

std::map<std::string, double> seconds(const std::vector<AccountRow>& rows, double devices) {
    std::map<std::string, double> sums;
    for (const auto& row : rows) sums[row.category] = row.time.as_seconds() / devices;
    return sums;
}

TEST(Account, NamesWhereEachSecondWent) {
    const auto sums = seconds(account(two_generations()), 4);
    EXPECT_DOUBLE_EQ(sums.at("start"), 1);
    EXPECT_DOUBLE_EQ(sums.at("initialisation"), 3 + 2);
    EXPECT_DOUBLE_EQ(sums.at("productive"), 20 - 4 + 16);
    EXPECT_DOUBLE_EQ(sums.at("checkpoint"), 4);
    EXPECT_DOUBLE_EQ(sums.at("lost_step"), 0.5);
    EXPECT_DOUBLE_EQ(sums.at("detection"), 0.5);
    EXPECT_DOUBLE_EQ(sums.at("teardown"), 1);
    EXPECT_DOUBLE_EQ(sums.at("restart"), 1);
    EXPECT_DOUBLE_EQ(sums.at("redo"), 4);
    EXPECT_DOUBLE_EQ(sums.at("epilogue"), 1.5);
    EXPECT_DOUBLE_EQ(sums.at("closing"), 0.5);
}

TEST(Restarts, TellTheCostOfEach) {
    const auto views = restarts(two_generations());
    ASSERT_EQ(views.size(), 1U);
    EXPECT_EQ(views[0].detect, Duration::millis(500));
    EXPECT_EQ(views[0].teardown, Duration::seconds(1));
    EXPECT_EQ(views[0].restart, Duration::seconds(1));
    EXPECT_EQ(views[0].to_step, Duration::seconds(2));
    EXPECT_EQ(views[0].redo, Duration::seconds(4));
    EXPECT_EQ(views[0].lost_steps, 5);
}

TEST(Account, PartitionsTheTimeWhateverTheStampsSay) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Prng prng(seed);
        const auto stamp = [&] {
            return prng.chance(250) ? Instant{} : at(static_cast<double>(prng.below(100)));
        };
        JobTimes job;
        Duration held;
        double from = 0;
        for (std::int64_t a = 1; a <= prng.between(1, 3); ++a) {
            AttemptTimes attempt;
            attempt.number = a;
            attempt.devices = prng.between(1, 8);
            attempt.placed_at = at(from);
            from += static_cast<double>(prng.between(0, 60));
            attempt.ended_at = at(from);
            const auto draw = [&] {
                GenerationSummary g;
                g.started_at = stamp();
                g.first_step_at = stamp();
                g.caught_up_at = stamp();
                g.last_step_at = stamp();
                g.fault_at = stamp();
                g.detected_at = stamp();
                g.torn_down_at = stamp();
                g.last_step = prng.between(-1, 10);
                if (prng.chance(500)) g.cause = ExitCause{};
                if (prng.chance(500))
                    g.phases["checkpoint"] = Duration::seconds(prng.between(0, 50));
                return g;
            };
            for (std::int64_t g = 0; g < prng.between(0, 3); ++g)
                attempt.generations.push_back(draw());
            if (prng.chance(500)) attempt.running = draw();
            held += (attempt.ended_at - attempt.placed_at) * attempt.devices;
            job.attempts.push_back(attempt);
        }
        Duration sum;
        std::int64_t shares = 0;
        for (const auto& row : account(job)) {
            ASSERT_GT(row.time, Duration{}) << "seed " << seed;
            sum += row.time;
            shares += row.share_per_million;
        }
        ASSERT_EQ(sum, held) << "seed " << seed;
        ASSERT_EQ(shares, held == Duration{} ? 0 : 1'000'000) << "seed " << seed;
    }
}

} // namespace
} // namespace muster::goodput
