#include "cli/event_text.hpp"
#include "cli/report_text.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

ReportView report() {
    ReportView made;
    made.name.text = "charlm";
    made.phase = WorkloadPhase::succeeded;
    made.progress_reported = true;
    made.steps = 300;
    made.total_steps = 300;
    made.first_loss = 4.61;
    made.last_loss = 2.0125;
    made.samples = 38'400;
    made.wall = Duration::seconds(100);
    made.queued = Duration::millis(40);
    made.account = {{"productive", Duration::seconds(360), 900'000},
                    {"starting", Duration::seconds(30), 75'004},
                    {"redo", Duration::seconds(10), 24'996},
                    {"teardown", Duration{}, 0}};
    RestartView restart;
    restart.attempt = 1;
    restart.generation = 1;
    ExitCause cause;
    cause.reason = {ReasonCode::rank_failed, "2", 137, 0, ""};
    cause.node.text = "n2";
    restart.cause = cause;
    restart.detect = Duration::millis(12);
    restart.teardown = Duration::millis(80);
    restart.restart = Duration::millis(150);
    restart.to_step = Duration::seconds(2);
    restart.redo = Duration::millis(900);
    restart.lost_steps = 7;
    made.restarts = {restart};
    made.notes = {"loss rose for 20 steps"};
    return made;
}

TEST(Report, Snapshot) {
    EXPECT_EQ(
        report_text(report(), {}),
        "Job       charlm\n"
        "State     succeeded (exit code 0)\n"
        "Time      1 min 40 s, 40 ms of it queued\n"
        "Steps     300 of 300\n"
        "Loss      4.61 at first, 2.013 at last\n"
        "Samples   38,400\n"
        "Restarts  1\n"
        "\n"
        "DEVICE TIME     SHARE        TIME\n"
        "productive    90.00 %   6 min 0 s  =====================\n"
        "starting       7.50 %      30.0 s  =\n"
        "redo           2.50 %      10.0 s\n"
        "total        100.00 %  6 min 40 s\n"
        "\n"
        "RESTART  DETECT  TEARDOWN  RESTART  TO STEP    REDO  LOST STEPS  CAUSE\n"
        "1.1       12 ms     80 ms   150 ms    2.0 s  900 ms           7  rank 2 was killed by "
        "signal 9 (node n2)\n"
        "\n"
        "Notes\n"
        "  - loss rose for 20 steps\n");
}

TEST(Report, SaysWhereNothingWasReported) {
    ReportView bare;
    bare.name.text = "x";
    bare.phase = WorkloadPhase::running;
    const std::string text = report_text(bare, {});
    EXPECT_NE(text.find("Steps     not reported"), std::string::npos) << text;
    EXPECT_EQ(text.find("exit code"), std::string::npos);
}

TEST(Report, SharesAreRoundedForTheEyeOnly) {
    EXPECT_EQ(share_text(1'000'000), "100.00 %");
    EXPECT_EQ(share_text(0), "0.00 %");
    EXPECT_EQ(share_text(49), "0.00 %");
    EXPECT_EQ(share_text(50), "0.01 %");
    EXPECT_EQ(share_text(973'149), "97.31 %");
}

TEST(Why, NamesReasonsAndWhatHelps) {
    WhyView why;
    why.name.text = "big";
    why.items = {{{}, "needs 8 devices, 2 are free", "6 more devices become free"},
                 {{}, "submitted", ""}};
    EXPECT_EQ(why_text(why, {}), "big queued:\n"
                                 "  - needs 8 devices, 2 are free\n"
                                 "    what helps: 6 more devices become free\n"
                                 "  - submitted\n");
}

TEST(Cause, ShowsTracebackElseLastLines) {
    ExitCause cause;
    cause.reason = {ReasonCode::rank_failed, "1", 1, 0, "ValueError: boom"};
    cause.node.text = "n1";
    cause.last_lines = {"step 5", "\x1b[2Jbye"};
    cause.consequences = {0, 2};
    const auto lines = cause_lines({}, cause);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0], "first cause: rank 1 ended with exit code 1: ValueError: boom (node n1)");
    EXPECT_EQ(lines[1], "    step 5");
    EXPECT_EQ(lines[2], "    bye");
    EXPECT_EQ(lines[3], "2 other ranks only followed");
    cause.rank = 1;
    cause.exit_code = 137;
    cause.reason.code = ReasonCode::user_error;
    EXPECT_EQ(cause_lines({}, cause)[0], "first cause: rank 1 was killed by signal 9 (node n1)");
    cause.traceback =
        "Traceback (most recent call last):\n  File \"t.py\", line 1\nValueError: boom\n";
    EXPECT_EQ(cause_lines({}, cause)[0], "first cause: rank 1 was killed by signal 9 (node n1)");
    EXPECT_EQ(cause_lines({}, cause)[3], "    ValueError: boom");
}

TEST(Event, Line) {
    EventView event;
    event.sequence = 5;
    event.at = Instant{1'796'061'600'123'000'000};
    event.level = "warning";
    event.subject = "job/charlm";
    event.text = "rank 2 was killed by signal 9";
    EXPECT_EQ(event_line({}, event, true), "18:00:00.123 job/charlm rank 2 was killed by signal 9");
    EXPECT_EQ(event_line({}, event, false), "18:00:00.123 rank 2 was killed by signal 9");
    event.text = "job charlm attempt 1 failed";
    EXPECT_EQ(event_line({}, event, true), "18:00:00.123 job/charlm attempt 1 failed");
}

} // namespace
} // namespace muster::cli
