#include "cli/progress_line.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace muster::cli {
namespace {

WorkloadView training() {
    WorkloadView job;
    job.name.text = "charlm";
    job.phase = WorkloadPhase::running;
    job.condition = WorkloadCondition::training;
    job.progress.reported = true;
    job.progress.step = 419;
    job.progress.total = 1000;
    job.progress.loss = 2.13389;
    job.progress.has_loss = true;
    job.progress.samples_per_second = 1210.4;
    job.progress.eta = Duration::seconds(80);
    return job;
}

const Instant now{Duration::seconds(1'000'000).ns};
const Terminal pipe{};
const Terminal narrow{.tty = true, .colour = false, .width = 60};
const Terminal broad{.tty = true, .colour = false, .width = 140};
const Terminal coloured{.tty = true, .colour = true, .width = 60};

TEST(ProgressLine, TellsEverythingThatIsKnown) {
    EXPECT_EQ(
        progress_line(pipe, training(), now),
        "charlm  training  42 %  step 420/1,000  loss 2.134  1,210 samples/s  ETA 1 min 20 s");
}

TEST(ProgressLine, HasABarWhereThereIsRoomAndIsCutWhereThereIsNone) {
    EXPECT_EQ(progress_line(broad, training(), now),
              "charlm  training  [========>           ]  42 %  step 420/1,000  loss 2.134  1,210 "
              "samples/s"
              "  ETA 1 min 20 s");
    EXPECT_EQ(progress_line(narrow, training(), now),
              "charlm  training  42 %  step 420/1,000  loss 2.134  1,210 …");
    EXPECT_EQ(display_width(progress_line(coloured, training(), now)), 59);
    EXPECT_TRUE(progress_line(coloured, training(), now).ends_with("\x1b[0m"));
}

TEST(ProgressLine, CountsRestarts) {
    WorkloadView job = training();
    job.condition = WorkloadCondition::recovering;
    job.progress = {};
    job.restarts = 1;
    EXPECT_EQ(progress_line(pipe, job, now), "charlm  recovering  1 restart");
    job.restarts = 2;
    EXPECT_EQ(progress_line(pipe, job, now), "charlm  recovering  2 restarts");
}

TEST(ProgressLine, SaysWhyItWaits) {
    WorkloadView job;
    job.name.text = "big";
    job.phase = WorkloadPhase::queued;
    job.submitted_at = now - Duration::seconds(65);
    job.reason = {ReasonCode::waiting_for_devices, "", 2, 8, ""};
    EXPECT_EQ(progress_line(pipe, job, now),
              "big  queued  for 1 min 5 s  needs 8 devices, 2 are free");
}

TEST(ProgressLine, SaysThatNothingIsReported) {
    WorkloadView job = training();
    job.progress = {};
    job.started_at = now - Duration::seconds(59); // importing, compiling: too early to say
    EXPECT_EQ(progress_line(pipe, job, now), "charlm  training");
    job.started_at = now - Duration::seconds(60);
    EXPECT_EQ(progress_line(pipe, job, now), "charlm  training  progress not reported");
    EXPECT_EQ(progress_cell(job, now), "not reported");
}

TEST(ProgressLine, StepsWithoutATotalAndOddNumbers) {
    WorkloadView job = training();
    job.progress.total = 0;
    job.progress.eta = Duration{-1};
    job.progress.loss = std::numeric_limits<double>::quiet_NaN();
    job.progress.samples_per_second = std::numeric_limits<double>::infinity();
    EXPECT_EQ(progress_line(pipe, job, now), "charlm  training  step 420  loss NaN  ? samples/s");
    job.progress.total = 10; // more steps than announced
    EXPECT_EQ(progress_cell(job, now), "100 %");
}

TEST(Numbers, ForPeople) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1234567), "1,234,567");
    EXPECT_EQ(grouped(-1234), "-1,234");
    EXPECT_EQ(rate_text(2'500'000), "2.50M");
    EXPECT_EQ(rate_text(0.25), "0.25");
    EXPECT_EQ(loss_text(0.00001234567), "1.235e-05");
    EXPECT_EQ(eta_text(Duration{-1}), "");
    EXPECT_EQ(eta_text(Duration::seconds(59)), "59 s");
}

} // namespace
} // namespace muster::cli
