// The path of healthy attempts, and how restarts go.

#include "plans.hpp"

namespace muster::launch::test {
namespace {

using std::int64_t;

TEST(Lead, one_launcher_runs_to_success_without_a_server) {
    World world({.launchers = 1, .ranks_each = 4, .standalone = true},
                [](Generation, int64_t) { return done_after(Duration::seconds(3)); });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.exit_code(), 0);
    ASSERT_EQ(world.result().generations.size(), 1u);
    const auto& summary = world.result().generations[0];
    EXPECT_FALSE(summary.cause);
    EXPECT_LT(summary.began_at, summary.started_at);
    EXPECT_LT(summary.detected_at, summary.torn_down_at);
    // The proof that nothing is left is asked for also where every rank ended with 0.
    EXPECT_EQ(world.launcher(0).kills[1], 1);
    EXPECT_EQ(world.launcher(0).terms[1], 0);
    EXPECT_EQ(world.launcher(0).server_beats, 0);
}

TEST(Lead, three_launchers_meet_and_number_ranks_by_role_and_placement) {
    World world(
        {.launchers = 3, .ranks_each = 2, .skew = {{}, Duration::hours(2), Duration::hours(-3)}},
        [](Generation, int64_t) { return done_after(Duration::seconds(2)); });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    for (int64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(world.launcher(i).tables.size(), 1u);
        const RankTable& table = world.launcher(i).tables[0];
        ASSERT_EQ(table.ranks.size(), 6u);
        EXPECT_EQ(table.master_address, "10.0.0.0");
        for (int64_t rank = 0; rank < 6; ++rank) {
            const RankRow& row = table.ranks[static_cast<std::size_t>(rank)];
            EXPECT_EQ(row.rank, rank);
            EXPECT_EQ(row.launcher, rank / 2);
            EXPECT_EQ(row.local_rank, rank % 2);
        }
    }
    EXPECT_EQ(world.launcher(1).left->exit_code, 0);
    EXPECT_EQ(world.launcher(1).left->result.outcome, AttemptOutcome::none);
    ASSERT_EQ(world.summaries().size(), 1u);
}

TEST(Lead, a_killed_rank_restarts_the_gang_at_once) {
    for (const int64_t launchers : {1, 3}) {
        World world({.launchers = launchers, .ranks_each = 2}, [](Generation g, int64_t) {
            RankPlan plan = done_after(g == 2 ? Duration::seconds(5) : never);
            plan.step_time = Duration::millis(100);
            plan.first_step = g == 2 ? 5 : 0;
            return plan;
        });
        const int64_t victim = launchers == 1 ? 1 : 3;
        Instant killed_at;
        world.at(Duration::seconds(2), [&] {
            killed_at = world.now();
            world.fail_rank(victim, 9);
        });
        world.run();
        expect_clean(world);
        EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
        ASSERT_EQ(world.launcher(0).tables.size(), 2u);
        // No fixed wait on the way: some network round trips of below 1 ms and our verification.
        for (int64_t i = 0; i < launchers; ++i)
            EXPECT_LT((world.launcher(i).started_at[1] - killed_at).whole_millis(), 15);
        EXPECT_NE(world.launcher(0).tables[0].master_port, world.launcher(0).tables[1].master_port);
        EXPECT_EQ(world.launcher(0).tables[1].restarts, 1);
        const auto summaries = world.summaries();
        ASSERT_EQ(summaries.size(), 2u);
        ASSERT_TRUE(summaries[0].cause);
        EXPECT_EQ(summaries[0].cause->rank, victim);
        EXPECT_EQ(summaries[0].cause->exit_code, 137);
        EXPECT_EQ(summaries[0].cause->reason.code, ReasonCode::rank_failed);
        EXPECT_EQ(summaries[0].cause->consequences.size(),
                  static_cast<std::size_t>(launchers) * 2 - 1);
        EXPECT_LE((killed_at - summaries[0].fault_at).whole_millis(), 0);
        EXPECT_LE(summaries[0].fault_at, summaries[0].detected_at);
        EXPECT_LT(summaries[0].detected_at, summaries[0].torn_down_at);
        EXPECT_GT(summaries[0].last_step, 10);
        EXPECT_EQ(summaries[1].first_step, 5);
        EXPECT_GT(summaries[1].caught_up_at, summaries[1].first_step_at); // redo had to be passed
        EXPECT_FALSE(summaries[1].cause);
    }
}

TEST(Lead, a_silent_server_stops_nothing) {
    World world({.launchers = 1, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(30));
        if (g == 1 && rank == 1) {
            plan.ends_after = Duration::minutes(5);
            plan.signal = 11;
        }
        return plan;
    });
    world.server_down = true;
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.result().generations.size(), 2u); // nobody acknowledged them
}

TEST(Lead, acknowledged_summaries_are_not_repeated) {
    World world({.launchers = 1, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(1));
        if (g == 1 && rank == 1) {
            plan.ends_after = Duration::seconds(5);
            plan.signal = 11;
        }
        return plan;
    });
    world.run();
    expect_clean(world);
    ASSERT_EQ(world.result().generations.size(), 1u);
    EXPECT_EQ(world.result().generations[0].generation, 2);
    EXPECT_EQ(world.summaries().size(), 2u);
}

TEST(Lead, missing_launchers_are_named_after_the_gather_limit) {
    World world({.launchers = 3}, [](Generation, int64_t) { return RankPlan{}; });
    world.launcher(2).dead = true;
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::failed);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::start_timeout);
    EXPECT_EQ(world.result().cause->reason.subject, "n2");
    EXPECT_TRUE(world.launcher(0).tables.empty());
}

TEST(Lead, a_port_that_cannot_be_bound_is_tried_again_and_costs_no_restart) {
    World world({.launchers = 1, .standalone = true, .port_failures = 3},
                [](Generation, int64_t) { return done_after(Duration::seconds(1)); });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);

    World broken({.launchers = 2, .port_failures = 1000},
                 [](Generation, int64_t) { return RankPlan{}; });
    broken.run();
    expect_clean(broken);
    EXPECT_EQ(broken.result().outcome, AttemptOutcome::failed);
    EXPECT_EQ(broken.result().cause->reason.code, ReasonCode::cannot_start);
}

TEST(Lead, progress_is_the_slowest_rank_and_reaches_the_server) {
    World world({.launchers = 2, .ranks_each = 1}, [](Generation, int64_t rank) {
        RankPlan plan = done_after(Duration::seconds(20));
        plan.step_time = Duration::millis(rank == 1 ? 200 : 100);
        return plan;
    });
    world.run_for(Duration::seconds(10));
    ASSERT_TRUE(world.launcher(0).beat && world.launcher(0).beat->progress);
    const Progress& progress = *world.launcher(0).beat->progress;
    EXPECT_TRUE(progress.reported);
    EXPECT_NEAR(static_cast<double>(progress.step), 48, 4);
    EXPECT_EQ(progress.total, 1000);
    EXPECT_NEAR(progress.samples_per_second, 8 * 10 + 8 * 5, 15);
    EXPECT_NEAR(progress.eta.as_seconds(), 950 / 5.0, 20);
    EXPECT_EQ(world.launcher(0).beat->state, LauncherState::running);
    ASSERT_TRUE(world.launcher(0).beat->table);
    // On change at most every half second: about 2 a second, and far below one per reading.
    EXPECT_LT(world.launcher(0).server_beats, 40);
    EXPECT_LT(world.launcher(1).member_beats, 80);
    world.run();
    expect_clean(world);
}

TEST(Lead, idle_launchers_beat_seldom) {
    World world({.launchers = 2, .ranks_each = 1},
                [](Generation, int64_t) { return done_after(Duration::minutes(10)); });
    world.run_for(Duration::seconds(100));
    EXPECT_LT(world.launcher(0).server_beats, 40);  // every 5 s
    EXPECT_LT(world.launcher(1).member_beats, 140); // every second
    EXPECT_GT(world.launcher(1).member_beats, 80);
    EXPECT_TRUE(world.launcher(0).beat->progress);
    EXPECT_FALSE(world.launcher(0).beat->progress->reported);
}

} // namespace
} // namespace muster::launch::test
