// Cancel, fences, signals, lost launchers, cut networks.

#include "alone.hpp"
#include "plans.hpp"

#include <algorithm>

namespace muster::launch::test {
namespace {

using std::int64_t;

Script steady() {
    return [](Generation, int64_t) { return done_after(Duration::hours(2)); };
}

TEST(Ending, cancel_gives_the_full_grace_to_all_ranks) {
    World world({.launchers = 3, .stop_grace = Duration::seconds(20)}, [](Generation,
                                                                          int64_t rank) {
        RankPlan plan = done_after(Duration::hours(2));
        plan.notices_peer = never;
        plan.dies_after_term = rank == 5 ? Duration::seconds(18) : Duration::seconds(1); // saves
        return plan;
    });
    world.run_for(Duration::minutes(1));
    const Instant asked = world.now();
    world.cancel();
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::cancelled);
    EXPECT_GE(world.launcher(0).left_at - asked, Duration::seconds(18));
    EXPECT_LT(world.launcher(0).left_at - asked, Duration::seconds(20));
    const auto summary = world.summaries().at(0);
    EXPECT_EQ(summary.cause->reason.code, ReasonCode::cancelled_by_user);
    EXPECT_NE(summary.torn_down_at, Instant{});
}

TEST(Ending, cancel_works_in_every_phase) {
    const Script script = [](Generation g, int64_t rank) {
        RankPlan plan = done_after(Duration::hours(2));
        if (rank == 1) plan = killed_after(Duration::seconds(5 * g), 9); // 2nd restart waits 1 s
        plan.dies_after_term = Duration::millis(300);
        plan.notices_peer = never;
        return plan;
    };
    for (int64_t ms = 0; ms < 16'500; ms += 53) {
        World world({.launchers = 2}, script);
        world.at(Duration::millis(ms), [&] { world.cancel(); });
        world.run();
        expect_clean(world);
        ASSERT_EQ(world.result().outcome, AttemptOutcome::cancelled)
            << ms << ": " << explain(world.result().cause->reason);
    }
}

TEST(Ending, a_fenced_attempt_ends_its_ranks_and_claims_nothing) {
    World world({.launchers = 2}, steady());
    world.run_for(Duration::minutes(1));
    world.fence();
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::none);
    EXPECT_EQ(world.exit_code(), exit_lost);
}

TEST(Ending, a_signal_to_a_standalone_launcher_is_its_exit_code) {
    World world({.launchers = 1, .ranks_each = 3, .standalone = true}, steady());
    world.run_for(Duration::minutes(1));
    world.signal(0, 2);
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::cancelled);
    EXPECT_EQ(world.exit_code(), 130);
}

TEST(Ending, a_second_signal_does_not_wait_for_the_grace) {
    World world({.launchers = 1, .standalone = true, .stop_grace = Duration::minutes(10)},
                [](Generation, int64_t) {
                    RankPlan plan = done_after(Duration::hours(2));
                    plan.dies_after_term = never;
                    return plan;
                });
    world.run_for(Duration::minutes(1));
    world.signal(0, 15);
    world.run_for(Duration::seconds(3));
    EXPECT_FALSE(world.all_left());
    const Instant again = world.now();
    world.signal(0, 15);
    world.run();
    expect_clean(world);
    EXPECT_LT(world.launcher(0).left_at - again, Duration::millis(100));
    EXPECT_EQ(world.exit_code(), 143);
}

TEST(Ending, a_signal_to_a_managed_lead_is_no_wish_to_end_the_job) {
    World world({.launchers = 2}, steady());
    world.run_for(Duration::minutes(1));
    world.signal(0, 15);
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::lost);
    EXPECT_EQ(explain(world.result().cause->reason),
              "the launcher on n0 was lost: it got signal 15");
    EXPECT_EQ(world.exit_code(), exit_lost);
}

TEST(Ending, a_member_told_to_leave_takes_the_attempt_with_it) {
    World world({.launchers = 3}, steady());
    world.run_for(Duration::minutes(1));
    world.signal(2, 15);
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::lost);
    EXPECT_EQ(world.result().cause->reason.code, ReasonCode::launcher_lost);
    EXPECT_EQ(world.result().cause->reason.subject, "n2");
    EXPECT_EQ(world.exit_code(), exit_lost);
    EXPECT_EQ(world.launcher(2).left->exit_code, 143);
    EXPECT_EQ(world.launcher(1).left->exit_code, 0);
}

TEST(Ending, a_machine_without_power_is_named) {
    for (const bool peers_notice : {true, false}) {
        World world({.launchers = 3}, [&](Generation, int64_t) {
            RankPlan plan = done_after(Duration::hours(2));
            if (!peers_notice) plan.notices_peer = never;
            return plan;
        });
        world.run_for(Duration::minutes(1));
        const Instant fault = world.now();
        world.power_off(1);
        world.run();
        expect_clean(world);
        EXPECT_EQ(world.result().outcome, AttemptOutcome::lost);
        EXPECT_EQ(world.result().cause->reason.subject, "n1");
        EXPECT_EQ(world.exit_code(), exit_lost);
        EXPECT_LT((world.launcher(0).left_at - fault).as_seconds(), 17);
        EXPECT_EQ(world.launcher(0).tables.size(), 1u);
        EXPECT_LT((world.summaries().at(0).fault_at - fault).as_seconds(), 1.1);
    }
}

TEST(Ending, a_cut_member_keeps_its_ranks_until_the_limit_then_ends_them) {
    World world({.launchers = 2}, steady());
    world.run_for(Duration::minutes(1));
    world.cut.insert(1);
    world.run_for(Duration::seconds(13));
    EXPECT_EQ(world.alive(), 4);
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::lost);
    EXPECT_EQ(world.launcher(1).left->result.outcome, AttemptOutcome::none);
    EXPECT_EQ(world.launcher(1).left->exit_code, exit_lost);
}

TEST(Ending, a_short_cut_stops_nothing) {
    World world({.launchers = 2},
                [](Generation, int64_t) { return done_after(Duration::minutes(3)); });
    for (int64_t i = 1; i <= 5; ++i) {
        world.at(Duration::seconds(30 * i), [&] { world.cut.insert(1); });
        world.at(Duration::seconds(30 * i + 10), [&] { world.cut.clear(); });
    }
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
    EXPECT_EQ(world.summaries().size(), 1u);
}

TEST(Ending, a_lead_that_was_stopped_itself_blames_nobody) {
    World world({.launchers = 3},
                [](Generation, int64_t) { return done_after(Duration::minutes(5)); });
    world.run_for(Duration::minutes(1));
    world.stall(0, Duration::seconds(11)); // e.g. a suspended virtual machine
    world.run_for(Duration::seconds(20));
    world.stall(1, Duration::seconds(13));
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
}

TEST(Ending, a_lead_without_power_leaves_no_ranks_on_members) {
    World world({.launchers = 3}, [](Generation, int64_t) {
        RankPlan plan = done_after(Duration::hours(2));
        plan.notices_peer = never;
        plan.dies_after_term = never;
        return plan;
    });
    world.run_for(Duration::minutes(1));
    world.power_off(0);
    world.run();
    expect_clean(world);
    for (int64_t i : {1, 2}) EXPECT_EQ(world.launcher(i).left->exit_code, exit_lost);
}

TEST(Ending, members_without_a_lead_give_up_in_the_end) {
    World world({.launchers = 2}, steady());
    world.launcher(0).dead = true;
    world.run();
    EXPECT_TRUE(world.all_left());
    EXPECT_EQ(world.launcher(1).left->exit_code, exit_lost);
}

TEST(Ending, success_stands_where_a_member_falls_silent_at_the_end) {
    World world({.launchers = 2, .ranks_each = 1},
                [](Generation, int64_t) { return done_after(Duration::seconds(30)); });
    world.at(Duration::seconds(30) + Duration::millis(20), [&] { world.cut.insert(1); });
    world.run();
    expect_clean(world);
    EXPECT_EQ(world.result().outcome, AttemptOutcome::succeeded);
}

// ---- fences, at the events themselves

LauncherOrder stop_order(AttemptNumber attempt, int64_t asked) {
    LauncherOrder order;
    order.attempt = attempt;
    order.asked = asked;
    order.revision = asked;
    order.stop = StopKind::cancel;
    return order;
}

TEST(Fence, orders_of_another_attempt_or_older_ones_are_ignored) {
    Alone alone;
    alone.say(PortBound{1, 4000, ""});
    alone.say(RanksStarted{1});
    EXPECT_EQ(Alone::count<TerminateRanks>(alone.say(ServerSaid{Lane::poll, stop_order(2, 9)})), 0);
    LauncherOrder fine = stop_order(3, 5);
    fine.stop = StopKind::none;
    alone.say(ServerSaid{Lane::push, fine});
    // Asked before the order that was obeyed: its content is older, whatever its revision says.
    auto stale = stop_order(3, 4);
    stale.revision = 99;
    EXPECT_EQ(Alone::count<TerminateRanks>(alone.say(ServerSaid{Lane::poll, stale})), 0);
    // A new server start counts revisions from 1 again.
    auto reborn = stop_order(3, 6);
    reborn.revision = 1;
    EXPECT_EQ(Alone::count<TerminateRanks>(alone.say(ServerSaid{Lane::poll, reborn})), 1);
}

TEST(Fence, events_of_another_generation_change_nothing) {
    Alone alone;
    EXPECT_EQ(Alone::count<StartRanks>(alone.say(PortBound{7, 4000, ""})), 0);
    EXPECT_EQ(Alone::count<StartRanks>(alone.say(PortBound{1, 4000, ""})), 1);
    EXPECT_EQ(Alone::count<StartRanks>(alone.say(PortBound{1, 4000, ""})), 0);
    RankExit exit;
    exit.signal = 9;
    EXPECT_TRUE(alone.say(RankExited{2, exit}).empty());
    EXPECT_TRUE(alone.say(RankExited{0, exit}).empty());
    // An unasked RanksCleared proves nothing.
    alone.say(RanksCleared{1, 0});
    const auto commands = alone.say(RankExited{1, exit});
    EXPECT_EQ(Alone::count<KillRanks>(commands), 1);
    EXPECT_EQ(Alone::count<BindPort>(commands), 0);
    EXPECT_EQ(Alone::count<BindPort>(alone.say(RanksCleared{0, 0})), 0);
    EXPECT_EQ(Alone::count<BindPort>(alone.say(RanksCleared{1, 3})), 0);
    EXPECT_EQ(Alone::count<BindPort>(alone.say(RanksCleared{1, 0})), 1);
}

MemberBeat beat_of(AttemptNumber attempt, int64_t index) {
    MemberBeat beat;
    beat.attempt = attempt;
    beat.launcher_index = index;
    beat.asked = 1;
    return beat;
}

TEST(Fence, strangers_are_answered_but_not_heard) {
    Alone alone(2);
    for (const MemberBeat& beat : {beat_of(2, 1), beat_of(3, 7), beat_of(3, -1), beat_of(3, 0)}) {
        const auto commands = alone.say(MemberAsked{1, beat, Duration::seconds(1)});
        EXPECT_EQ(Alone::count<AnswerMember>(commands), 1);
        EXPECT_EQ(Alone::count<BindPort>(commands), 0);
    }
    const auto commands = alone.say(MemberAsked{2, beat_of(3, 1), {}});
    EXPECT_EQ(Alone::count<BindPort>(commands), 1);
}

TEST(Fence, a_beat_that_was_overtaken_is_answered_but_not_believed) {
    Alone alone(2);
    MemberBeat beat = beat_of(3, 1);
    alone.say(MemberAsked{1, beat, {}});
    alone.say(PortBound{1, 4000, ""});
    beat.asked = 7;
    alone.say(MemberAsked{2, beat, {}});
    beat.asked = 6;
    beat.leaving = true;
    const auto commands = alone.say(MemberAsked{3, beat, {}});
    EXPECT_EQ(Alone::count<AnswerMember>(commands), 1);
    EXPECT_EQ(Alone::count<TerminateRanks>(commands), 0);
    beat.asked = 8;
    EXPECT_EQ(Alone::count<TerminateRanks>(alone.say(MemberAsked{4, beat, {}})), 1);
}

TEST(Fence, a_member_obeys_only_its_own_attempts_newest_order) {
    Alone member(2, 1);
    LauncherOrder order;
    order.attempt = 3;
    order.asked = 1;
    order.revision = 1;
    order.lead_endpoint = "127.0.0.1:2";
    EXPECT_EQ(Alone::count<SendMemberBeat>(member.say(ServerSaid{Lane::poll, order})), 1);
    MemberOrder run;
    run.attempt = 2;
    run.revision = 5;
    run.term = 1;
    run.generation = 1;
    run.action = MemberAction::run;
    run.table =
        RankTable{1, 1, "127.0.0.1", 4000, 0, {RankRow{1, 1, 0, 1, RoleName{"worker"}, {}}}};
    EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::poll, run})), 0);
    run.attempt = 3;
    run.workload = WorkloadId{RawId{9, 9}}; // another job's lead has our lead's port now
    EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::poll, run})), 0);
    run.workload = WorkloadId{};
    EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::push, run})), 1);
    EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::push, run})), 0);
    MemberOrder clear = run;
    clear.action = MemberAction::clear;
    clear.revision = 4; // overtaken on the way
    EXPECT_EQ(Alone::count<TerminateRanks>(member.say(LeadSaid{Lane::push, clear})), 0);
    clear.revision = 6;
    EXPECT_EQ(Alone::count<TerminateRanks>(member.say(LeadSaid{Lane::push, clear})), 1);
}

} // namespace
} // namespace muster::launch::test
