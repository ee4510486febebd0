// Launchers that are stopped or stuck: silent beside an agent that is not.

#include "harness.hpp"

namespace muster::control {
namespace {

/// A job of one rank that runs on n1, its launcher silent from now on.
WorkloadId with_a_silent_launcher(Harness& h) {
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.beat("n1");
    h.run_generation(job.id, 1, 1, 1, 7);
    return job.id;
}

void beats_for(Harness& h, std::int64_t seconds) {
    for (std::int64_t s = 0; s < seconds; ++s) {
        h.pass(Duration::seconds(1));
        h.beat("n1");
    }
}

TEST(Silence, ALauncherThatIsSilentBesideItsAgentLosesTheAttempt) {
    Harness h;
    const auto id = with_a_silent_launcher(h);
    beats_for(h, 19);
    EXPECT_EQ(h.count<AttemptEnded>(), 0U);
    beats_for(h, 2);
    ASSERT_EQ(h.count<AttemptEnded>(), 1U);
    const auto view = h.get("train");
    EXPECT_EQ(view.attempts[0].outcome, AttemptOutcome::lost);
    EXPECT_EQ(view.attempts[0].reason.code, ReasonCode::launcher_lost);
    EXPECT_NE(explain(view.attempts[0].reason).find("no sign for 20s"), std::string::npos)
        << explain(view.attempts[0].reason);
    EXPECT_EQ(view.attempts[0].generations.at(0).last_step, 7);
    EXPECT_TRUE(h.say(h.launcher(id, 1, 0)).fenced);
}

TEST(Silence, ACancelOfASilentLauncherWaitsForNothingElse) {
    Harness h;
    with_a_silent_launcher(h);
    beats_for(h, 10);
    h.ask(Cancel{"train"});
    beats_for(h, 11);
    EXPECT_EQ(h.count<AttemptEnded>(), 1U);
    h.obey("n1", *h.beat("n1"));
    h.beat("n1");
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::cancelled);
    EXPECT_EQ(h.get("train").workload.reason.code, ReasonCode::cancelled_by_user);
}

TEST(Silence, SilenceThatTheAgentSharesSaysNothingAboutTheLauncher) {
    Harness h;
    with_a_silent_launcher(h);
    beats_for(h, 10);
    h.pass(Duration::seconds(8)); // the machine is away
    beats_for(h, 19);
    EXPECT_EQ(h.count<AttemptEnded>(), 0U);
    h.restart(); // the server is away
    beats_for(h, 19);
    EXPECT_EQ(h.count<AttemptEnded>(), 0U);
    beats_for(h, 2); // one that it never saw is judged all the same
    EXPECT_EQ(h.count<AttemptEnded>(), 1U);
}

} // namespace
} // namespace muster::control
