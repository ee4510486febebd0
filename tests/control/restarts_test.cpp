// Restarts and failures: what counts against the budget, and what makes a start wait.

#include "harness.hpp"

namespace muster::control {
namespace {

TEST(Restarts, LostLaunchersAreNoLackOfProgress) {
    Harness h;
    h.beat("n1");
    auto spec = job_spec(1);
    spec.restarts.per_ten_minutes = 10;
    const auto job = h.submit(spec);
    for (int crash = 1; crash <= 5; ++crash) {
        h.obey("n1", *h.beat("n1"));
        ASSERT_EQ(h.agent("n1").held.size(), 1U) << crash;
        h.run_generation(job.id, crash, 1, 1, 5); // the same step, again and again
        auto& held = h.agent("n1").held[0];
        held.state = HoldState::released;
        held.launcher_error = "killed by signal 9";
        h.obey("n1", *h.beat("n1"));
        for (int s = 0; s < 1 << crash; ++s) { // the back-off doubles
            h.pass(Duration::seconds(1));
            h.beat("n1");
        }
    }
    EXPECT_FALSE(is_terminal(h.get("train").workload.phase));
    EXPECT_EQ(h.core.ledger().workloads.at(job.id).failures_without_step, 5);
    EXPECT_EQ(h.core.ledger().workloads.at(job.id).own_failures_without_step, 0);
}

TEST(Restarts, ANewAttemptGoesOnCountingFailuresWithoutAStep) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1, 5);
    const auto fail = [&](Generation generation, std::int64_t step) {
        GenerationSummary closed;
        closed.generation = generation;
        closed.started_at = h.now;
        closed.fault_at = h.now;
        closed.last_step = step;
        closed.cause = ExitCause{};
        closed.cause->reason = {ReasonCode::rank_failed, "0", 1, 0, ""};
        auto beat = h.launcher(job.id, 1, 0);
        beat.state = LauncherState::recovering;
        beat.generation = generation;
        beat.closed = {closed};
        h.say(beat);
    };
    fail(1, 9);
    h.run_generation(job.id, 1, 2, 1, 3);
    fail(2, 3);
    h.run_generation(job.id, 1, 3, 1, 3);
    auto& held = h.agent("n1").held[0];
    held.state = HoldState::released;
    held.launcher_error = "killed by signal 9";
    h.obey("n1", *h.beat("n1"));
    h.pass(Duration::seconds(4)); // the third in a row
    h.obey("n1", *h.beat("n1"));
    ASSERT_EQ(h.get("train").workload.attempt, 2);
    const auto order = h.say(h.launcher(job.id, 2, 0));
    EXPECT_EQ(order.allowance.failures_without_step, 3);
    EXPECT_EQ(order.allowance.own_failures_without_step, 2);
    EXPECT_EQ(order.last_step, 9);
}

TEST(Restarts, ACrashedLauncherMeansANewAttemptWithinTheBudget) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    for (int crash = 1; crash <= 4; ++crash) {
        h.obey("n1", *h.beat("n1"));
        ASSERT_EQ(h.agent("n1").held.size(), 1U) << crash;
        auto& held = h.agent("n1").held[0];
        held.state = HoldState::released;
        held.launcher_error = "killed by signal 9";
        h.obey("n1", *h.beat("n1"));
        for (int s = 0; s < 1 << crash; ++s) { // the back-off, from the second one
            h.pass(Duration::seconds(1));
            h.beat("n1");
        }
    }
    const auto view = h.get("train");
    EXPECT_EQ(view.workload.phase, WorkloadPhase::failed);
    EXPECT_EQ(view.workload.reason.code, ReasonCode::budget_spent);
    EXPECT_EQ(view.workload.exit_code, 75);
    EXPECT_EQ(view.workload.restarts, 3);
    EXPECT_EQ(view.attempts.back().reason.detail, "killed by signal 9");
}

TEST(Restarts, ALargeBudgetIsCountedWhole) {
    Harness h;
    h.beat("n1");
    auto spec = job_spec(1);
    spec.restarts.per_ten_minutes = spec.restarts.per_day = 70;
    const auto job = h.submit(spec);
    int crashes = 0;
    for (; crashes < 200 && !is_terminal(h.get("train").workload.phase); ++crashes) {
        h.obey("n1", *h.beat("n1"));
        ASSERT_EQ(h.agent("n1").held.size(), 1U) << crashes;
        h.run_generation(job.id, crashes + 1, 1, 1, crashes); // a new step: no back-off
        h.agent("n1").held[0].state = HoldState::released;
        h.obey("n1", *h.beat("n1"));
        h.pass(Duration::millis(1));
    }
    EXPECT_EQ(crashes, 71);
    EXPECT_EQ(h.get("train").workload.reason.code, ReasonCode::budget_spent);
}

TEST(Restarts, RestartsByTheLeadAreCountedOnceAndTheAllowanceNamesOnlyEarlierOnes) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1, 3);
    h.pass(Duration::seconds(1));
    GenerationSummary closed;
    closed.generation = 1;
    closed.last_step = 3;
    closed.started_at = h.now;
    closed.cause = ExitCause{};
    auto beat = h.launcher(job.id, 1, 0);
    beat.state = LauncherState::recovering;
    beat.generation = 1;
    beat.closed = {closed};
    EXPECT_EQ(h.say(beat).closed_through, 1);
    h.say(beat);
    EXPECT_EQ(h.count<GenerationClosed>(), 1U);
    const auto order = h.run_generation(job.id, 1, 2, 1, 3);
    EXPECT_TRUE(order.allowance.recent.empty());
    EXPECT_EQ(h.get("train").workload.restarts, 1);
    const auto report = std::get<ReportView>(*h.ask(GetReport{"train"}));
    EXPECT_EQ(report.restarts.size(), 1U);
    EXPECT_EQ(report.steps, 4);
}

} // namespace
} // namespace muster::control
