// The clock of a process while the machine's clocks do what they should not. Time is virtual: each
// test says what the machine's clocks read.

#include "base/prng.hpp"
#include "io/posix/clock.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace muster::io {
namespace {

constexpr Duration hour = Duration::hours(1);
constexpr Duration second = Duration::seconds(1);
constexpr Instant noon{1'796'000'000'000'000'000};

struct Machine {
    ClockReading reading{7'000'000'000, noon.ns};
    std::vector<ClockNews> told;

    Instant wall() const { return {reading.wall_ns}; }
    void set_wall(Duration by) { reading.wall_ns += by.ns; }
    void pass(Duration time) {
        reading.boottime_ns += time.ns;
        reading.wall_ns += time.ns;
    }
    ClockOptions options(Instant not_before = {}) {
        return {.not_before = not_before,
                .read = [this] { return reading; },
                .tell = [this](const ClockNews& news) { told.push_back(news); }};
    }
};

/// Reads once a second until the clock shows the wall's time; fails after `limit`.
Duration until_one_again(Machine& machine, SystemClock& clock, Duration limit) {
    Duration taken;
    Instant last = clock.now();
    while (taken < limit) {
        machine.pass(second);
        taken += second;
        const Instant now = clock.now();
        EXPECT_GE(now, last) << "never back";
        EXPECT_GE(now - last, Duration::millis(990)) << "nor much slower";
        EXPECT_LE(now - last, Duration::millis(1010)) << "nor much faster";
        last = now;
        const Duration off = machine.wall() - now;
        if (off < clock_slack && Duration{} - off < clock_slack) return taken;
    }
    ADD_FAILURE() << "still " << (machine.wall() - last).as_seconds() << " s apart";
    return taken;
}

TEST(SystemClock, FollowsTheMachineWhereNothingHappens) {
    Machine machine;
    SystemClock clock(machine.options());
    EXPECT_EQ(clock.now(), noon);
    machine.pass(hour);
    EXPECT_EQ(clock.now(), noon + hour);
    EXPECT_EQ(clock.from_boottime(machine.reading.boottime_ns - second.ns), noon + hour - second);
    EXPECT_TRUE(machine.told.empty());
}

TEST(SystemClock, AWallClockSetForwardIsFollowedSlowlyAndToldOnce) {
    Machine machine;
    SystemClock clock(machine.options());
    machine.set_wall(hour);
    EXPECT_EQ(clock.now(), noon) << "no jump";
    machine.pass(second);
    EXPECT_EQ(clock.now(), noon + second + Duration::millis(10));
    ASSERT_EQ(machine.told.size(), 1U);
    EXPECT_EQ(machine.told[0].kind, ClockNews::Kind::jumped);
    EXPECT_EQ(machine.told[0].by, hour);
    EXPECT_EQ(machine.told[0].behind, hour);

    const Duration taken = until_one_again(machine, clock, hour * 101);
    EXPECT_GE(taken, hour * 99);
    ASSERT_EQ(machine.told.size(), 2U);
    EXPECT_EQ(machine.told[1].kind, ClockNews::Kind::caught_up);
}

TEST(SystemClock, AWallClockSetBackNeverTurnsTimeBack) {
    Machine machine;
    SystemClock clock(machine.options());
    machine.pass(second);
    const Instant before = clock.now();
    machine.set_wall(Duration{} - hour);
    EXPECT_EQ(clock.now(), before);
    machine.pass(second);
    EXPECT_EQ(clock.now(), before + Duration::millis(990));
    ASSERT_EQ(machine.told.size(), 1U);
    EXPECT_EQ(machine.told[0].kind, ClockNews::Kind::jumped);
    EXPECT_EQ(machine.told[0].by, Duration{} - hour);

    until_one_again(machine, clock, hour * 101);
    ASSERT_EQ(machine.told.size(), 2U);
    EXPECT_EQ(machine.told[1].kind, ClockNews::Kind::caught_up);
}

TEST(SystemClock, AMonotonicClockThatStandsStillStopsTimeButBreaksNothing) {
    Machine machine;
    SystemClock clock(machine.options());
    const Instant before = clock.now();
    for (int i = 0; i < 60; ++i) {
        machine.set_wall(second); // only the wall clock runs
        EXPECT_EQ(clock.now(), before);
    }
    EXPECT_EQ(machine.told.size(), 1U) << "once, although each second shows it again";
    until_one_again(machine, clock, hour * 2);
    EXPECT_EQ(machine.told.back().kind, ClockNews::Kind::caught_up);
}

TEST(SystemClock, AMonotonicClockThatGoesBackMovesNothingBack) {
    Machine machine;
    SystemClock clock(machine.options());
    machine.pass(hour);
    const Instant before = clock.now();
    machine.reading.boottime_ns -= hour.ns;
    EXPECT_EQ(clock.now(), before);
    machine.pass(second);
    EXPECT_EQ(clock.now(), before + second);
}

TEST(SystemClock, SuspendIsTimeThatPassed) {
    Machine machine;
    SystemClock clock(machine.options());
    machine.pass(hour * 8); // CLOCK_BOOTTIME counts on while the machine sleeps
    EXPECT_EQ(clock.now(), noon + hour * 8);
    EXPECT_TRUE(machine.told.empty()) << "nobody set a clock";
}

TEST(SystemClock, BeginsNoEarlierThanTheNewestRecordAndSaysSo) {
    Machine machine;
    SystemClock clock(machine.options(noon + hour));
    EXPECT_EQ(clock.now(), noon + hour);
    ASSERT_EQ(machine.told.size(), 1U);
    EXPECT_EQ(machine.told[0].kind, ClockNews::Kind::begins_after_wall);
    EXPECT_EQ(machine.told[0].by, Duration{} - hour);
    until_one_again(machine, clock, hour * 101);
    ASSERT_EQ(machine.told.size(), 2U);
}

TEST(SystemClock, SmallCorrectionsAreFollowedWithoutAWord) {
    Machine machine;
    SystemClock clock(machine.options());
    machine.set_wall(Duration::millis(400));
    clock.now();
    until_one_again(machine, clock, Duration::minutes(1));
    EXPECT_TRUE(machine.told.empty());
}

TEST(SystemClock, AWallClockThatFlapsIsToldAtMostOnceAMinute) {
    Machine machine;
    SystemClock clock(machine.options());
    for (int i = 0; i < 600; ++i) {
        machine.set_wall(i % 2 == 0 ? hour : Duration{} - hour);
        machine.pass(second);
        clock.now();
    }
    EXPECT_LE(machine.told.size(), 20U) << "ten minutes: as many jumps, and their ends";
    EXPECT_GE(machine.told.size(), 1U);
}

TEST(SystemClock, WhateverTheClocksDoTimeNeverGoesBackAndFindsHome) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Prng prng(seed);
        Machine machine;
        SystemClock clock(machine.options());
        Instant last = clock.now();
        for (int i = 0; i < 300; ++i) {
            if (prng.between(0, 9) == 0)
                machine.set_wall({prng.between(-20 * second.ns, 20 * second.ns)});
            if (prng.between(0, 9) == 0) machine.reading.boottime_ns -= prng.between(0, second.ns);
            if (prng.between(0, 3) != 0) machine.pass({prng.between(0, second.ns * 3)});
            const Instant now = clock.now();
            ASSERT_GE(now, last) << "seed " << seed;
            last = now;
        }
        until_one_again(machine, clock, hour * 24);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(SystemClock, ReadsTheMachine) {
    SystemClock clock;
    const Instant first = clock.now();
    EXPECT_LE(first, clock.now());
    EXPECT_GT(SystemClock::boottime_ns(), 0);
}

} // namespace
} // namespace muster::io
