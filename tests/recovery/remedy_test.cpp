// What is done about a failure.

#include "ends.hpp"

#include <gtest/gtest.h>

namespace muster::recovery::test {
namespace {

const Instant now = Instant{} + Duration::hours(1000);
const RestartAllowance fresh{};

Failure failure_of(std::vector<EndedRank> ends, std::int64_t ranks) {
    Failure failure;
    failure.cause = first_cause(ends, Duration::millis(200));
    failure.ranks = ranks;
    failure.lived = Duration::seconds(2);
    failure.ends = std::move(ends);
    return failure;
}

Failure killed() { return failure_of({end_of(0, 0, by_signal(9)), end_of(1, 1, lost_peer())}, 2); }

TEST(UserError, every_rank_alike_soon_and_without_a_step) {
    const RankExit typo =
        by_code(2, {"usage: train.py [-h]", "train.py: error: unrecognized --lrr"});
    auto failure = failure_of({end_of(0, 0, typo), end_of(1, 900, typo)}, 2);
    EXPECT_TRUE(is_user_error(failure));
    const auto remedy = remedy_for(failure, fresh, now);
    EXPECT_EQ(remedy.action, Action::stop);
    EXPECT_EQ(remedy.reason.code, ReasonCode::user_error);
    EXPECT_EQ(remedy.reason.detail, "train.py: error: unrecognized --lrr");

    auto late = failure;
    late.lived = user_error_window + Duration::millis(1);
    EXPECT_FALSE(is_user_error(late));
    auto stepped = failure;
    stepped.stepped = true;
    EXPECT_FALSE(is_user_error(stepped));
    auto some = failure;
    some.ranks = 3;
    EXPECT_FALSE(is_user_error(some));
}

TEST(UserError, numbers_may_differ_words_may_not) {
    EXPECT_TRUE(
        is_user_error(failure_of({end_of(0, 0, by_code(1, {"[rank0]: pid 411: no file data.bin"})),
                                  end_of(1, 3, by_code(1, {"[rank1]: pid 412: no file data.bin"}))},
                                 2)));
    EXPECT_FALSE(is_user_error(failure_of(
        {end_of(0, 0, by_code(1, {"no file a"})), end_of(1, 3, by_code(1, {"no file b"}))}, 2)));
    EXPECT_FALSE(is_user_error(failure_of(
        {end_of(0, 0, by_code(1, {"no file"})), end_of(1, 3, by_code(2, {"no file"}))}, 2)));
}

TEST(UserError, one_rank_with_a_code_is_one_but_a_signal_or_the_machine_is_not) {
    EXPECT_TRUE(is_user_error(failure_of({end_of(0, 0, by_code(3))}, 1)));
    EXPECT_FALSE(is_user_error(failure_of({end_of(0, 0, by_signal(9))}, 1)));
    EXPECT_FALSE(
        is_user_error(failure_of({end_of(0, 0, by_signal(11)), end_of(1, 0, by_signal(11))}, 2)));
    EXPECT_FALSE(
        is_user_error(failure_of({end_of(0, 0, lost_peer()), end_of(1, 0, lost_peer())}, 2)));
    EXPECT_FALSE(is_user_error(
        failure_of({end_of(0, 0, by_traceback("OSError: [Errno 98] Address already in use"))}, 1)));
    EXPECT_FALSE(is_user_error(failure_of({end_of(0, 0, by_us(15))}, 1)));
    EXPECT_FALSE(is_user_error(Failure{}));
}

TEST(Remedy, the_first_failure_restarts_at_once_then_it_backs_off) {
    RestartAllowance wide;
    wide.policy = {1000, 1000};
    Failure failure = killed();
    EXPECT_EQ(remedy_for(failure, fresh, now).action, Action::restart);
    EXPECT_EQ(remedy_for(failure, fresh, now).delay, Duration{});
    failure.failures_without_step = 1;
    EXPECT_EQ(remedy_for(failure, wide, now).delay, Duration::seconds(1));
    failure.stepped = true; // a new step wipes what was before
    failure.failures_without_step = 50;
    EXPECT_EQ(remedy_for(failure, wide, now).action, Action::restart);
    EXPECT_EQ(remedy_for(failure, wide, now).delay, Duration{});
}

TEST(Remedy, three_failures_without_a_step_stop) {
    Failure failure = killed();
    failure.failures_without_step = failures_without_step_max - 1;
    EXPECT_EQ(remedy_for(failure, fresh, now).action, Action::restart); // lost ones before it
    failure.own_failures_without_step = failures_without_step_max - 1;
    const auto remedy = remedy_for(failure, fresh, now);
    EXPECT_EQ(remedy.action, Action::stop);
    EXPECT_EQ(remedy.reason.code, ReasonCode::no_progress);
    EXPECT_EQ(remedy.reason.have, 3);
    EXPECT_NE(remedy.reason.detail.find("rank 0 was killed by signal 9"), std::string::npos);
}

TEST(Remedy, what_is_lost_with_a_machine_waits_longer_and_is_no_verdict) {
    RestartAllowance wide;
    wide.policy = {1000, 1000};
    Failure failure;
    failure.lost = true;
    failure.failures_without_step = 3;
    failure.own_failures_without_step = 50;
    EXPECT_EQ(remedy_for(failure, wide, now).action, Action::restart);
    EXPECT_EQ(remedy_for(failure, wide, now).delay, backoff_first * 4);
    failure.failures_without_step = 50;
    EXPECT_EQ(remedy_for(failure, wide, now).delay, backoff_max);
}

TEST(Remedy, a_long_life_without_a_report_is_progress) {
    GenerationSummary summary;
    summary.started_at = now;
    summary.fault_at = now + unreported_lived;
    EXPECT_TRUE(lived_unreported(summary));
    summary.fault_at = summary.fault_at - Duration::nanos(1);
    EXPECT_FALSE(lived_unreported(summary));
    summary.fault_at = now + unreported_lived * 2;
    summary.last_step = 0; // it reports, so that its steps count
    EXPECT_FALSE(lived_unreported(summary));
}

TEST(Remedy, the_budget_counts_both_windows) {
    Failure failure = killed();
    failure.stepped = true;
    RestartAllowance allowance;
    allowance.recent = {now - Duration::minutes(9), now - Duration::minutes(5)};
    EXPECT_TRUE(within_budget(allowance, now));
    allowance.recent.push_back(now - Duration::seconds(1));
    EXPECT_FALSE(within_budget(allowance, now));
    const auto remedy = remedy_for(failure, allowance, now);
    EXPECT_EQ(remedy.action, Action::stop);
    EXPECT_EQ(remedy.reason.code, ReasonCode::budget_spent);
    EXPECT_EQ(remedy.reason.have, 3);
    EXPECT_EQ(remedy.reason.need, 3);
    EXPECT_TRUE(within_budget(allowance, now + Duration::minutes(2)));

    allowance.recent.assign(20, now - Duration::hours(3));
    EXPECT_FALSE(within_budget(allowance, now));
    EXPECT_EQ(remedy_for(failure, allowance, now).reason.need, 20);
    allowance.recent.assign(20, now - Duration::hours(25));
    EXPECT_TRUE(within_budget(allowance, now));
}

TEST(Remedy, without_any_restarts_the_failure_is_the_verdict) {
    RestartAllowance none;
    none.policy = {0, 0};
    const auto remedy = remedy_for(killed(), none, now);
    EXPECT_EQ(remedy.action, Action::stop);
    EXPECT_EQ(remedy.reason.code, ReasonCode::rank_failed);
}

TEST(Remedy, exit_code_93_and_missing_programs_are_not_retried) {
    auto failure = failure_of({end_of(1, 0, by_code(93)), end_of(0, 1, lost_peer())}, 2);
    failure.stepped = true;
    EXPECT_EQ(remedy_for(failure, fresh, now).action, Action::stop);
    EXPECT_EQ(remedy_for(failure, fresh, now).reason.have, 93);

    RankExit exit;
    exit.cannot_execute = true;
    exit.start_error = "Permission denied";
    const auto remedy = remedy_for(failure_of({end_of(1, 0, exit)}, 4), fresh, now);
    EXPECT_EQ(remedy.action, Action::stop);
    EXPECT_EQ(remedy.reason.code, ReasonCode::cannot_start);
}

TEST(Remedy, a_lost_node_restarts_without_any_ends) {
    Failure failure;
    failure.cause.reason.code = ReasonCode::node_lost;
    failure.cause.reason.subject = "n3";
    failure.ranks = 4;
    EXPECT_EQ(remedy_for(failure, fresh, now).action, Action::restart);
}

} // namespace
} // namespace muster::recovery::test
