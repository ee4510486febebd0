// The newest step of a running generation outlives server and lead, and the journal stays small.

#include "harness.hpp"

#include "control/core_state.hpp" // limits

namespace muster::control {
namespace {

/// The steps that the report knows after server and lead died together `ran` after the start.
ReportView after_a_double_crash(Harness& h, Duration ran) {
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    const auto seconds = ran.ns / 1'000'000'000;
    for (std::int64_t step = 0; step < seconds; ++step) {
        h.run_generation(job.id, 1, 1, 1, step);
        h.beat("n1");
        h.pass(Duration::seconds(1));
    }
    h.restart();
    h.agent("n1").held[0].state = HoldState::released;
    h.agent("n1").held[0].launcher_error = "killed by signal 9";
    h.beat("n1");
    return std::get<ReportView>(*h.ask(GetReport{"train"}));
}

TEST(Progress, TheReportKeepsTheStepsThatServerAndLeadTookWithThem) {
    Harness h;
    const auto report = after_a_double_crash(h, Duration::seconds(100));
    EXPECT_EQ(h.count<GenerationProgressed>(), 3U); // every 30 s
    EXPECT_TRUE(report.progress_reported);
    EXPECT_EQ(report.steps, 91); // the newest recorded
    ASSERT_FALSE(report.account.empty());
    EXPECT_EQ(report.account[0].category, "productive");
    EXPECT_GE(report.account[0].time, Duration::seconds(89));
    // It had made steps: the next attempt does not wait.
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::admitted);
    EXPECT_EQ(h.get("train").attempts[0].generations.at(0).last_step, 90);
}

TEST(Progress, AServerThatComesBackGoesOnFromTheRecordedStep) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1, 5);
    h.pass(Duration::seconds(14));
    h.run_generation(job.id, 1, 1, 1, 6);
    h.pass(Duration::seconds(14));
    h.run_generation(job.id, 1, 1, 1, 6);
    h.pass(Duration::seconds(3));
    h.run_generation(job.id, 1, 1, 1, 6); // it stands still since: what is known is recorded
    ASSERT_EQ(h.count<GenerationProgressed>(), 1U);
    h.restart();
    EXPECT_EQ(h.get("train").workload.progress.step, 6);
    h.run_generation(job.id, 1, 1, 1, 6);
    h.pass(Duration::seconds(13));
    h.run_generation(job.id, 1, 1, 1, 6);
    h.pass(Duration::seconds(13));
    h.run_generation(job.id, 1, 1, 1, 6);
    h.pass(Duration::seconds(5));
    h.run_generation(job.id, 1, 1, 1, 6);
    EXPECT_EQ(h.count<GenerationProgressed>(), 1U); // it did not move
    h.beat("n2");
    h.pass(Duration::seconds(16));
    const auto closed = h.get("train").attempts.at(0).generations.at(0);
    EXPECT_EQ(closed.first_step, 5);
    EXPECT_EQ(closed.last_step, 6);
    EXPECT_LT(closed.first_step_at, closed.last_step_at);
}

TEST(Progress, ManyAttemptsRecordTheirStepsLessOften) {
    Harness h;
    constexpr std::int64_t jobs = 60;
    h.beat("n1", jobs);
    std::vector<WorkloadId> ids;
    for (std::int64_t i = 0; i < jobs; ++i)
        ids.push_back(h.submit(job_spec(1, "j" + std::to_string(i))).id);
    constexpr std::int64_t seconds = 300;
    for (std::int64_t step = 0; step < seconds; ++step) {
        for (const auto& id : ids) h.run_generation(id, 1, 1, 1, step);
        h.pass(Duration::seconds(1));
    }
    const auto each = progress_record_share * jobs;
    EXPECT_EQ(h.count<GenerationProgressed>(),
              static_cast<std::size_t>(jobs * (seconds / (each.ns / 1'000'000'000))));
}

} // namespace
} // namespace muster::control
