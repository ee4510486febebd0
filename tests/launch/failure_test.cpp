// Failures: the first cause, what it costs, and how attempts end badly.

#include "plans.hpp"
#include "recovery/recovery.hpp"

namespace muster::launch::test {
namespace {

using std::int64_t;
constexpr Duration long_run = Duration::minutes(30);

TEST(Failure, kill_9_names_the_rank_and_others_as_ended_by_us) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(long_run);
        if (g == 1 && rank == 1) plan = killed_after(Duration::minutes(2), 9);
        plan.notices_peer = never; // they hang in a collective: we end them
        return plan;
    });
    world.run();
    expect_clean(world);
    const auto cause = world.summaries().at(0).cause;
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->rank, 1);
    EXPECT_EQ(cause->node.text, "n0");
    EXPECT_EQ(cause->consequences, (std::vector<int64_t>{0, 2, 3}));
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
}

TEST(Failure, a_slow_death_is_still_the_cause_though_peers_ended_first) {
    World world({.launchers = 3, .ranks_each = 1}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(long_run);
        if (g == 1 && rank == 2) {
            plan = killed_after(Duration::minutes(2), 11);
            plan.linger = Duration::millis(120); // a core dump; peers see the reset before
        }
        return plan;
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.summaries().at(0).cause->rank, 2);
    EXPECT_EQ(world.summaries().at(0).cause->exit_code, 139);
}

TEST(Failure, clocks_that_are_hours_off_do_not_turn_cause_and_consequence) {
    WorldOptions options{.launchers = 3, .ranks_each = 1};
    options.skew = {Duration{}, Duration::hours(-5), Duration::hours(5)};
    World world(options, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(long_run);
        plan.notices_peer = never;
        if (g == 1 && rank == 2) plan = killed_after(Duration::minutes(2), 11);
        if (g == 1 && rank == 1)
            plan = killed_after(Duration::minutes(2) + Duration::millis(3), 11);
        return plan;
    });
    world.run();
    expect_clean(world);
    const auto summary = world.summaries().at(0);
    EXPECT_EQ(summary.cause->rank, 2);
    const Instant fault = world.launcher(2).started_at[0] + Duration::minutes(2);
    EXPECT_LT((summary.fault_at - fault).whole_millis(), 3);
    EXPECT_GE((summary.fault_at - fault).whole_millis(), 0);
}

TEST(Failure, children_of_dead_ranks_are_gone_before_the_next_generation) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(3));
        plan.leaves_child = true; // holds memory in a session of its own
        if (g == 1 && rank == 3) {
            plan = killed_after(Duration::minutes(2), 9);
            plan.leaves_child = true;
            plan.survives_kills = 2; // and takes two rounds to go
        }
        return plan;
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.launcher(1).kills[1], 3);
    const auto summary = world.summaries().at(0);
    EXPECT_GE(summary.torn_down_at - summary.detected_at, kill_retry * 2);
}

TEST(Failure, the_checkers_see_a_teardown_without_proof) {
    const Script script = [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(3));
        plan.leaves_child = true;
        if (g == 1 && rank == 1) plan.signal = 9;
        return plan;
    };
    World honest({.launchers = 2}, script);
    honest.run();
    expect_clean(honest);
    World blind({.launchers = 2, .plant_blind_kill = true}, script);
    blind.run();
    EXPECT_FALSE(blind.problems.empty());
}

TEST(Failure, what_survives_sigkill_ends_the_attempt_with_a_name_and_a_number) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation, int64_t rank) {
        RankPlan plan = done_after(long_run);
        if (rank == 2) plan = killed_after(Duration::minutes(2), 9);
        if (rank >= 2) plan.survives_kills = 1000; // in the kernel for ever
        return plan;
    });
    world.run();
    EXPECT_TRUE(world.all_left());
    EXPECT_TRUE(world.problems.empty());
    EXPECT_EQ(world.result().outcome, AttemptOutcome::failed);
    const ExitCause& cause = *world.result().cause;
    EXPECT_EQ(cause.reason.code, ReasonCode::teardown_stuck);
    EXPECT_EQ(cause.reason.subject, "n1");
    EXPECT_EQ(cause.reason.have, 2);
    EXPECT_EQ(cause.exit_code, 137);
    EXPECT_NE(cause.reason.detail.find("rank 2 was killed by signal 9"), std::string::npos);
    EXPECT_NE(explain(cause.reason).find("still there: stuck (pid 7) on n1"), std::string::npos)
        << explain(cause.reason);
    EXPECT_EQ(world.launcher(1).left->result.leftover_processes, 2);
    EXPECT_EQ(world.launcher(0).left->result.leftover_processes, 0);
    EXPECT_EQ(world.launcher(0).tables.size(), 1u);
}

TEST(Failure, ranks_that_ignore_sigterm_get_sigkill_after_a_short_grace) {
    World world({.launchers = 1}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(3));
        plan.notices_peer = never;
        plan.dies_after_term = never;
        if (g == 1 && rank == 1) plan = killed_after(Duration::minutes(2), 9);
        return plan;
    });
    world.run();
    expect_clean(world);
    const auto summary = world.summaries().at(0);
    EXPECT_GE(summary.torn_down_at - summary.detected_at, failure_grace_max);
    EXPECT_LT(summary.torn_down_at - summary.detected_at, failure_grace_max + Duration::millis(50));
}

TEST(Failure, an_early_exit_with_0_is_flagged_after_the_limit) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(g == 1 ? Duration::hours(9) : long_run);
        plan.notices_peer = never;
        if (g == 1 && rank == 2) plan = done_after(Duration::minutes(1));
        return plan;
    });
    world.run();
    expect_clean(world);
    const auto summary = world.summaries().at(0);
    EXPECT_EQ(summary.cause->reason.code, ReasonCode::early_exit);
    EXPECT_EQ(summary.cause->rank, 2);
    EXPECT_EQ(summary.cause->reason.have, 600);
    EXPECT_NEAR((summary.detected_at - summary.fault_at).as_seconds(), 600, 1);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded); // the second time all finish
}

TEST(Failure, the_limit_of_an_early_exit_is_the_specs) {
    World world({.launchers = 1, .ranks_each = 3, .early_exit_limit = Duration::seconds(30)},
                [](Generation g, int64_t rank) {
                    RankPlan plan = done_after(g == 1 ? Duration::hours(9) : long_run);
                    plan.notices_peer = never;
                    if (g == 1 && rank == 0) plan = done_after(Duration::minutes(1));
                    return plan;
                });
    world.run();
    expect_clean(world);
    const auto summary = world.summaries().at(0);
    EXPECT_EQ(summary.cause->reason.code, ReasonCode::early_exit);
    EXPECT_NEAR((summary.detected_at - summary.fault_at).as_seconds(), 30, 1);
}

TEST(Failure, peers_that_fail_because_a_rank_left_with_0_blame_that_rank) {
    World world({.launchers = 1, .ranks_each = 4, .standalone = true, .restarts = {0, 0}},
                [](Generation, int64_t rank) {
                    RankPlan plan = fails_after(Duration::minutes(3), 1,
                                                "RuntimeError: Connection closed by peer");
                    if (rank == 1) plan = done_after(Duration::minutes(1));
                    return plan;
                });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::failed);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::early_exit);
    EXPECT_EQ(world.result().cause->rank, 1);
    EXPECT_EQ(world.exit_code(), 1);
}

TEST(Failure, a_long_epilogue_is_not_killed) {
    // Rank 0 works on for 400 s after the others are done (below the limit) ...
    World quiet({.launchers = 1, .ranks_each = 4}, [](Generation, int64_t rank) {
        return done_after(Duration::seconds(rank == 0 ? 460 : 60));
    });
    quiet.run();
    expect_clean(quiet);
    EXPECT_EQ(quiet.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(quiet.summaries().size(), 1u);
    // ... or for an hour while its steps still move, then 9 minutes without.
    World moving({.launchers = 2, .ranks_each = 1}, [](Generation, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(rank == 0 ? 70 : 1));
        plan.step_time = Duration::seconds(10);
        plan.steps = rank == 0 ? 61 * 6 : 5;
        return plan;
    });
    moving.run();
    expect_clean(moving);
    EXPECT_EQ(moving.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(moving.summaries().size(), 1u);
}

TEST(Failure, a_role_that_finishes_first_is_not_early) {
    World world({.launchers = 2, .ranks_each = 2, .one_role_each = true},
                [](Generation, int64_t rank) {
                    return done_after(rank < 2 ? Duration::seconds(5) : Duration::hours(1));
                });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.summaries().size(), 1u);
}

TEST(Failure, a_typo_fails_alike_on_all_ranks_and_is_not_retried) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation, int64_t rank) {
        // Imports take unevenly long on a busy machine.
        RankPlan plan = fails_after(Duration::seconds(3) + Duration::millis(700 * rank), 2,
                                    "[rank" + std::to_string(rank) +
                                        "]: NameError: name 'modle' is not defined");
        plan.notices_peer = never; // they have not met yet
        return plan;
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::failed);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::user_error);
    EXPECT_EQ(world.exit_code(), 2);
    EXPECT_EQ(world.launcher(0).tables.size(), 1u);
    EXPECT_EQ(world.summaries().at(0).cause->reason.code, ReasonCode::rank_failed);
}

TEST(Failure, one_rank_with_an_exit_code_of_its_own_ends_with_it) {
    World world({.launchers = 1, .ranks_each = 1, .standalone = true}, [](Generation, int64_t) {
        return fails_after(Duration::seconds(1), 3, "no data");
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.exit_code(), 3);
    EXPECT_EQ(world.launcher(0).tables.size(), 1u);
    EXPECT_FALSE(world.launcher(0).tells.empty());
}

TEST(Failure, a_program_that_cannot_be_executed_stops_at_once) {
    World world({.launchers = 2}, [](Generation, int64_t) {
        RankPlan plan;
        plan.cannot_execute = true;
        return plan;
    });
    world.run(Duration::minutes(1));
    expect_clean(world);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::cannot_start);
    EXPECT_EQ(world.exit_code(), 127);
}

TEST(Failure, the_first_failing_ranks_code_is_the_jobs) {
    World world({.launchers = 2, .ranks_each = 2, .restarts = {0, 0}},
                [](Generation, int64_t rank) {
                    RankPlan plan = done_after(long_run);
                    if (rank == 3)
                        plan = fails_after(Duration::minutes(1), 42, "ValueError: bad batch");
                    return plan;
                });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.exit_code(), 42);
    EXPECT_EQ(world.result().cause->rank, 3);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::rank_failed);
}

TEST(Failure, failures_without_a_step_back_off_and_stop) {
    World world({.launchers = 1, .ranks_each = 2, .restarts = {1000, 1000}},
                [](Generation, int64_t) { return killed_after(Duration::seconds(2), 11); });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::no_progress);
    EXPECT_EQ(world.exit_code(), 139);
    const auto summaries = world.summaries();
    ASSERT_EQ(summaries.size(), 3u);
    EXPECT_LT(summaries[1].began_at - summaries[0].torn_down_at, Duration::millis(10));
    EXPECT_GE(summaries[2].began_at - summaries[1].torn_down_at, recovery::backoff_first);
}

TEST(Failure, failures_of_earlier_attempts_count_on) {
    World world({.launchers = 1, .ranks_each = 2, .restarts = {1000, 1000}},
                [](Generation, int64_t) { return killed_after(Duration::seconds(2), 11); });
    world.allowance.failures_without_step = 2; // one of them was a machine
    world.allowance.own_failures_without_step = 1;
    // The server learns of our failures and repeats them to us: they count once.
    world.at(Duration::seconds(3), [&] {
        world.allowance.failures_without_step = 3;
        world.allowance.own_failures_without_step = 2;
        world.change_order([](LauncherOrder&) {});
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::no_progress);
    EXPECT_EQ(world.result().cause->reason.have, 3);
    const auto summaries = world.summaries();
    ASSERT_EQ(summaries.size(), 2u);
    EXPECT_GE(summaries[1].began_at - summaries[0].torn_down_at, recovery::backoff_first * 2);
}

TEST(Failure, steps_that_only_redo_old_work_are_no_progress) {
    World world({.launchers = 1, .ranks_each = 1, .restarts = {1000, 1000}},
                [](Generation, int64_t) {
                    RankPlan plan = killed_after(Duration::seconds(5), 11);
                    plan.step_time = Duration::millis(100);
                    return plan; // about 49 steps each time, from 0
                });
    world.change_order([](LauncherOrder& o) { o.last_step = 400; });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::no_progress);
    for (const auto& summary : world.summaries()) {
        EXPECT_EQ(summary.caught_up_at, Instant{});
        EXPECT_NE(summary.first_step_at, Instant{});
    }
}

/// Fails every 20 s, and makes new steps in every generation.
RankPlan failing_with_progress(Generation g) {
    RankPlan plan = killed_after(Duration::seconds(20), 11);
    plan.step_time = Duration::millis(100);
    plan.first_step = g * 1000;
    return plan;
}

TEST(Failure, the_budget_counts_what_the_server_knows_and_own_restarts_once) {
    for (const bool told_late : {false, true}) {
        World world({.launchers = 1, .ranks_each = 2, .restarts_before = 1},
                    [](Generation g, int64_t) { return failing_with_progress(g); });
        const std::vector<Instant> earlier = {world.now() - Duration::minutes(1)};
        if (!told_late) world.allowance.recent = earlier;
        // The server may be away until the lead has restarted the gang by itself.
        world.at(Duration::seconds(30), [&] {
            world.allowance.recent = earlier;
            world.change_order([](LauncherOrder&) {});
        });
        world.run();
        expect_clean(world);
        EXPECT_EQ(world.result().cause->reason.code, ReasonCode::budget_spent);
        EXPECT_EQ(world.result().cause->reason.have, 3);
        EXPECT_EQ(world.launcher(0).tables.size(), 3u); // one earlier, two of our own
        EXPECT_EQ(world.launcher(0).tables[2].restarts, 3);
    }
}

TEST(Failure, ranks_of_a_later_attempt_know_of_the_earlier_restarts_without_the_server) {
    World world({.launchers = 1, .restarts_before = 30},
                [](Generation, int64_t) { return done_after(Duration::minutes(1)); });
    world.server_down = true;
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.launcher(0).tables.at(0).restarts, 30);
}

TEST(Failure, an_unreported_job_that_ran_long_counts_as_progress) {
    World world({.launchers = 1, .ranks_each = 2}, [](Generation g, int64_t) {
        return g < 6 ? killed_after(Duration::minutes(20), 9) : done_after(Duration::minutes(1));
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.launcher(0).tables.size(), 6u);
}

TEST(Failure, during_start_and_during_recovery) {
    World world({.launchers = 2, .ranks_each = 2}, [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::minutes(1));
        plan.step_time = Duration::millis(500);
        plan.first_step = g * 100;
        if (g == 1 && rank == 0)
            plan = killed_after(Duration::micros(10), 9); // before RanksStarted
        if (g == 2 && rank >= 2) { // two at once, one while the others are torn down
            plan.ends_after = Duration::seconds(10) + Duration::millis(rank);
            plan.signal = 11;
            plan.dies_after_term = Duration::millis(500);
        }
        return plan;
    });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.summaries().at(0).cause->rank, 0);
    EXPECT_EQ(world.summaries().at(1).cause->rank, 2);
}

} // namespace
} // namespace muster::launch::test
