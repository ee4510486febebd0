#pragma once
// Plans and checks that the tests of launch/ share.

#include "world.hpp"

#include <gtest/gtest.h>

namespace muster::launch::test {

inline RankPlan done_after(Duration time) {
    RankPlan plan;
    plan.ends_after = time;
    return plan;
}
inline RankPlan killed_after(Duration time, std::int64_t signal) {
    RankPlan plan = done_after(time);
    plan.signal = signal;
    return plan;
}
inline RankPlan fails_after(Duration time, std::int64_t code, std::string words) {
    RankPlan plan = done_after(time);
    plan.exit_code = code;
    plan.lines = {words};
    plan.traceback =
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n" + words + "\n";
    return plan;
}

inline void expect_clean(World& world) {
    EXPECT_TRUE(world.all_left());
    for (const auto& problem : world.problems) ADD_FAILURE() << problem;
    EXPECT_EQ(world.alive(), 0);
}

} // namespace muster::launch::test
