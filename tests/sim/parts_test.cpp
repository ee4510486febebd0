// The parts of the simulated world, and that equal seeds run alike.

#include "sim/world.hpp"

#include <gtest/gtest.h>

#include <array>

namespace muster::sim {
namespace {

Options with_seed(std::uint64_t seed) {
    Options options;
    options.seed = seed;
    return options;
}

TEST(EventQueue, RunsInOrderOfTimeThenOfQueueing) {
    EventQueue queue;
    std::string order;
    queue.at(Duration::millis(2), {"c", 0}, [&] { order += 'c'; });
    queue.at(Duration::millis(1), {"a", 0}, [&] {
        order += 'a';
        queue.at(Duration::millis(0), {"x", 0}, [&] { order += 'x'; }); // the past: now
    });
    queue.at(Duration::millis(1), {"b", 0}, [&] { order += 'b'; });
    while (!queue.empty()) queue.run_next();
    EXPECT_EQ(order, "abxc");
    EXPECT_EQ(queue.now(), Duration::millis(2));
}

TEST(EventQueue, KeepsLargeCapturesAndReusesSlots) {
    EventQueue queue;
    std::array<std::int64_t, 40> large{};
    large[39] = 7;
    std::int64_t sum = 0;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 100; ++i)
            queue.after(Duration::nanos(i), {"add", i}, [&sum, large] { sum += large[39]; });
        while (!queue.empty()) queue.run_next();
    }
    EXPECT_EQ(sum, 3 * 100 * 7);
}

TEST(MachineClock, NeverRunsBackwardsAndIsInverted) {
    for (const std::int64_t drift : {-500, -1, 0, 1, 500}) {
        MachineClock clock;
        clock.offset = Duration::seconds(-3);
        clock.drift_ppm = drift;
        Instant last{};
        for (std::int64_t ns = 0; ns < 5'000'000'000; ns += 7'654'321) {
            const Instant now = clock.read(Duration::nanos(ns));
            EXPECT_GE(now, last);
            last = now;
        }
        const Instant wanted = epoch + Duration::seconds(500);
        const Duration truth = clock.truth_of(wanted);
        EXPECT_GE(clock.at(truth), wanted);
        EXPECT_LT(clock.at(truth), wanted + Duration::micros(2));
    }
}

TEST(World, RunsAlikeForEqualSeeds) {
    for (const std::uint64_t seed : {3, 17}) {
        const Outcome first = run_seed(with_seed(seed));
        const Outcome second = run_seed(with_seed(seed));
        EXPECT_EQ(first.digest, second.digest);
        EXPECT_EQ(first.events, second.events);
    }
    EXPECT_NE(run_seed(with_seed(3)).digest, run_seed(with_seed(4)).digest);
}

TEST(World, TracingDoesNotChangeARun) {
    Options traced = with_seed(5);
    std::size_t lines = 0;
    traced.trace = [&](const std::string&) { ++lines; };
    EXPECT_EQ(run_seed(traced).digest, run_seed(with_seed(5)).digest);
    EXPECT_GT(lines, 10u);
}

/// Without faults everything succeeds, the first time.
TEST(World, QuietWorldsFinishEveryJob) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        WorldSetup setup = draw_setup(seed);
        setup.faults = Faults{};
        for (auto& job : setup.jobs) {
            job.cancel_at.reset();
            job.user_error = false;
            job.cannot_execute = false;
        }
        const std::size_t jobs = setup.jobs.size();
        World world(with_seed(seed), std::move(setup));
        const Outcome outcome = world.run();
        ASSERT_FALSE(outcome.violation) << "seed " << seed << ": " << outcome.violation->text;
        EXPECT_EQ(outcome.succeeded, jobs) << "seed " << seed;
    }
}

} // namespace
} // namespace muster::sim
