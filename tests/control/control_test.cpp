#include "harness.hpp"
#include <limits>

#include "control/core_state.hpp"

namespace muster::control {
namespace {

LauncherResult success() {
    LauncherResult result;
    result.outcome = AttemptOutcome::succeeded;
    return result;
}

/// Job "train", of one rank, that runs its first generation on n1.
WorkloadView running_job(Harness& h) {
    h.beat("n1");
    auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1);
    return job;
}

TEST(Control, AJobFromSubmitToFinish) {
    Harness h;
    ASSERT_TRUE(h.beat("n1"));
    ASSERT_TRUE(h.beat("n2"));
    const auto job = h.submit(job_spec(4));
    EXPECT_EQ(job.phase, WorkloadPhase::admitted);

    const auto order = *h.beat("n1");
    ASSERT_EQ(order.run.size(), 1U);
    EXPECT_EQ(order.run[0].placement.nodes.size(), 2U);
    h.obey("n1", order);
    h.obey("n2", *h.beat("n2"));

    auto member = h.say(h.launcher(job.id, 1, 1));
    EXPECT_EQ(member.lead_endpoint, "");
    h.say(h.launcher(job.id, 1, 0));
    member = h.say(h.launcher(job.id, 1, 1));
    EXPECT_EQ(member.lead_endpoint, "127.0.0.1:9000");
    h.run_generation(job.id, 1, 1, 4, 10);
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::running);
    EXPECT_EQ(h.get("train").workload.progress.step, 10);
    EXPECT_EQ(h.get("train").ranks.size(), 4U);

    for (auto* beat : {&h.agent("n1"), &h.agent("n2")}) beat->held[0].state = HoldState::released;
    h.agent("n2").held[0].result = LauncherResult{};
    h.beat("n2"); // the member left quietly: its lead will say why
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::running);
    h.agent("n1").held[0].result = success();
    const auto last = *h.beat("n1");
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::succeeded);
    EXPECT_EQ(h.get("train").workload.exit_code, 0);
    EXPECT_EQ(last.forget.size(), 1U);
    EXPECT_TRUE(last.run.empty());
    EXPECT_TRUE(h.core.ledger().nodes.at(NodeName{"n1"}).holders.empty());
    h.obey("n1", last);
    EXPECT_TRUE((*h.beat("n1")).forget.empty());
}

TEST(Control, APollIsAnsweredWhenTheOrderChangesAndNotBefore) {
    Harness h;
    h.obey("n1", *h.beat("n1"));
    const auto first = h.poll("n1");
    EXPECT_FALSE(h.agent_orders.contains(first));
    h.pass(Duration::millis(500));
    EXPECT_FALSE(h.agent_orders.contains(first));
    h.submit(job_spec(1));
    ASSERT_TRUE(h.agent_orders.contains(first));
    EXPECT_EQ(h.agent_orders.at(first)->run.size(), 1U);
    h.obey("n1", *h.agent_orders.at(first));
    const auto second = h.poll("n1");
    h.pass(Duration::millis(999));
    EXPECT_FALSE(h.agent_orders.contains(second));
    h.pass(Duration::millis(2));
    EXPECT_TRUE(h.agent_orders.contains(second));
}

TEST(Control, AClientTokenGivesTheSameAnswerTwice) {
    Harness h;
    h.beat("n1");
    const auto first = h.submit(job_spec(1), "token-1");
    const auto again = h.ask(Submit{job_spec(1), "token-1", false});
    EXPECT_TRUE(std::get<Submitted>(*again).existed);
    EXPECT_EQ(std::get<Submitted>(*again).workload.id, first.id);
    h.restart();
    const auto after = h.ask(Submit{job_spec(1), "token-1", false});
    EXPECT_EQ(std::get<Submitted>(*after).workload.id, first.id);
    const auto other = h.ask(Submit{job_spec(2), "token-1", false});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::already_exists);
    EXPECT_EQ(h.count<WorkloadSubmitted>(), 1U);
}

TEST(Control, ALostNodeEndsTheAttemptAndKeepsItsDevicesHeld) {
    Harness h;
    h.beat("n1");
    h.obey("n1", *h.beat("n1"));
    const auto job = h.submit(job_spec(2));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 2, 5);
    h.pass(Duration::seconds(14));
    EXPECT_EQ(h.count<NodeLost>(), 0U);
    h.beat("n2");
    h.pass(Duration::seconds(2));
    EXPECT_EQ(h.count<NodeLost>(), 1U);
    EXPECT_EQ(h.core.ledger().nodes.at(NodeName{"n1"}).holders.size(), 2U);
    const auto view = h.get("train");
    EXPECT_EQ(view.workload.phase, WorkloadPhase::admitted); // on n2 now
    EXPECT_EQ(view.workload.nodes[0].text, "n2");
    EXPECT_EQ(view.attempts[0].outcome, AttemptOutcome::lost);
    EXPECT_EQ(view.attempts[0].generations.size(), 1U);
    EXPECT_EQ(view.attempts[0].generations[0].last_step, 5);

    // It comes back in the same incarnation: its old attempt is not listed any more, so it is
    // cleared.
    const auto back = *h.beat("n1");
    EXPECT_EQ(h.count<NodeBack>(), 1U);
    EXPECT_TRUE(back.run.empty());
    h.obey("n1", back, {}, "told to leave");
    h.beat("n1");
    EXPECT_TRUE(h.core.ledger().nodes.at(NodeName{"n1"}).holders.empty());
}

TEST(Control, AfterARestartNobodyIsLostBeforeTheTimeout) {
    Harness h;
    h.beat("n1");
    h.pass(Duration::seconds(10));
    h.restart();
    h.pass(Duration::seconds(14));
    EXPECT_EQ(h.count<NodeLost>(), 0U);
    h.pass(Duration::seconds(2));
    EXPECT_EQ(h.count<NodeLost>(), 1U);
}

TEST(Control, ASilenceInWhichTheServerItselfStoodStillLosesNobody) {
    Harness h;
    h.beat("n1");
    h.pass(Duration::seconds(1));
    h.now = h.now + Duration::seconds(40); // nobody woke the core
    h.step(Wake{});
    EXPECT_EQ(h.count<NodeLost>(), 0U);
    h.pass(Duration::seconds(14));
    EXPECT_EQ(h.count<NodeLost>(), 0U);
    h.pass(Duration::seconds(2));
    EXPECT_EQ(h.count<NodeLost>(), 1U);
}

TEST(Control, AStopOfTheServerIsNoSilenceOfALead) {
    Harness h;
    (void)h.beat("n1", 1);
    (void)h.beat("n2", 1);
    const auto job = h.submit(job_spec(2));
    for (const char* node : {"n1", "n2"}) h.obey(node, *h.beat(node));
    ASSERT_EQ(h.get("train").workload.phase, WorkloadPhase::admitted);
    // The member has left as its lead told it to; the lead's own word is on its way.
    h.agents.at("n2").held[0].state = HoldState::released;
    h.agents.at("n2").held[0].result = LauncherResult{};
    (void)h.beat("n2");
    h.now = h.now + member_gone_limit + Duration::seconds(10); // the server is stopped
    h.step(Wake{});
    EXPECT_EQ(h.count<AttemptEnded>(), 0u);
    h.agents.at("n1").held[0].state = HoldState::released;
    h.agents.at("n1").held[0].result = success();
    (void)h.beat("n1");
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::succeeded);
}

TEST(Control, LaunchersCountAsContactButWithoutItsAgentANodeGetsNoNewWork) {
    Harness h;
    h.beat("n1", 4);
    const auto job = h.submit(job_spec(2));
    h.obey("n1", *h.beat("n1"));
    for (int i = 0; i < 10; ++i) {
        h.run_generation(job.id, 1, 1, 2, i);
        h.pass(Duration::seconds(5));
    }
    EXPECT_EQ(h.count<NodeLost>(), 0U);
    EXPECT_EQ(h.submit(job_spec(1, "second")).phase, WorkloadPhase::queued);
    h.beat("n1");
    EXPECT_EQ(h.get("second").workload.phase, WorkloadPhase::admitted);
}

TEST(Control, ARebootFreesWhatTheNodeHeld) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(2));
    h.obey("n1", *h.beat("n1"));
    h.pass(Duration::seconds(6));
    auto& beat = h.agent("n1");
    beat.boot_id = "boot-2";
    beat.session = AgentSessionId{RawId{9, 9}};
    beat.held.clear();
    const auto order = *h.beat("n1");
    EXPECT_EQ(order.incarnation, 2);
    const auto view = h.get("train");
    EXPECT_EQ(view.attempts[0].outcome, AttemptOutcome::lost);
    EXPECT_EQ(view.attempts[0].reason.code, ReasonCode::node_rebooted);
    ASSERT_EQ(view.attempts.size(), 2U);
    EXPECT_EQ(view.attempts[1].placement.nodes[0].incarnation, 2);
    // A launcher of the boot before is fenced.
    EXPECT_TRUE(h.say(h.launcher(job.id, 1, 0)).fenced);
}

TEST(Control, AMemberThatLeftBeforeAServerRestartStillBoundsTheWaitForItsLead) {
    Harness h;
    for (const std::string node : {"n1", "n2"}) h.beat(node);
    const auto job = h.submit(job_spec(4));
    for (const std::string node : {"n1", "n2"}) h.obey(node, *h.beat(node));
    h.run_generation(job.id, 1, 1, 4, 5);
    auto& member = h.agent("n2").held.at(0); // its lead went silent, so it left
    member.state = HoldState::released;
    member.result.emplace();
    h.beat("n2");
    h.restart();
    for (int second = 0; second < 60; ++second) {
        for (const std::string node : {"n1", "n2"}) h.beat(node);
        h.pass(Duration::seconds(1));
    }
    EXPECT_EQ(h.count<AttemptEnded>(), 1U);
}

TEST(Control, NumbersThatNoOrderNamedDoNoHarm) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    h.run_generation(job.id, 1, huge, 1, 5);
    EXPECT_EQ(h.get("train").workload.restarts, 0);
    auto& held = h.agent("n1").held.at(0);
    held.state = HoldState::released;
    held.launcher_index = huge;
    held.result.emplace();
    held.result->generations.emplace_back().generation = huge;
    h.beat("n1");
    h.pass(Duration::minutes(1));
    EXPECT_EQ(h.count<DevicesReleased>(), 1U);
    EXPECT_LE(h.get("train").workload.restarts, 1);
}

TEST(Control, CancelReachesTheLeadAndIsEnforcedWhenItDoesNotAnswer) {
    Harness h;
    const auto job = running_job(h);
    h.ask(Cancel{"train"});
    EXPECT_EQ(h.say(h.launcher(job.id, 1, 0)).stop, StopKind::cancel);
    for (int i = 0; i < 44; ++i) {
        h.pass(Duration::seconds(1));
        h.say(h.launcher(job.id, 1, 0)); // it hears and does nothing
        EXPECT_EQ((*h.beat("n1")).run.size(), 1U);
    }
    h.pass(Duration::seconds(2));
    const auto order = *h.beat("n1");
    EXPECT_TRUE(order.run.empty());
    h.obey("n1", order);
    h.beat("n1");
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::cancelled);
    EXPECT_EQ(h.get("train").workload.exit_code, 143);
    // What it ran until then stays in the account though the lead never said so.
    ASSERT_EQ(h.get("train").attempts[0].generations.size(), 1U);
    EXPECT_EQ(h.get("train").attempts[0].generations[0].cause->reason.code,
              ReasonCode::cancelled_by_user);
}

TEST(Control, ACancelledJobWhoseNodeIsLostWasCancelledBySomebody) {
    Harness h;
    running_job(h);
    h.ask(Cancel{"train"});
    h.pass(Duration::seconds(20)); // the node is lost before the job has ended
    const auto detail = h.get("train");
    EXPECT_EQ(detail.workload.phase, WorkloadPhase::cancelled);
    EXPECT_EQ(detail.workload.reason.code, ReasonCode::cancelled_by_user);
    EXPECT_EQ(detail.workload.reason.subject, "user:root");
    EXPECT_EQ(detail.workload.exit_code, exit_cancelled);
    EXPECT_EQ(detail.attempts.at(0).reason.code, ReasonCode::node_lost);
    h.restart();
}

TEST(Control, ACancelledQueuedJobNeverStarts) {
    Harness h;
    h.submit(job_spec(1));
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::queued);
    const auto why = std::get<WhyView>(*h.ask(Why{"train"}));
    EXPECT_EQ(why.items[0].reason.code, ReasonCode::no_nodes);
    h.ask(Cancel{"train"});
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::cancelled);
    EXPECT_TRUE((*h.beat("n1")).run.empty());
}

TEST(Control, ForeignAgentsAndTakenNamesAreRefused) {
    Harness h;
    h.beat("n1");
    h.agent("n2").installation = InstallationId{RawId{1, 1}};
    auto refused = h.beat("n2");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::failed_precondition);
    auto other = h.agent("n1");
    h.agent("n1").boot_id = "another machine";
    refused = h.beat("n1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::already_exists);
    h.agent("n1") = other;
    EXPECT_TRUE(h.beat("n1"));
}

TEST(Control, BeatsThatCannotBeTrueAreRefused) {
    Harness h;
    const AgentBeat fine = h.agent("n1");
    const auto refused = [&](const std::function<void(AgentBeat&)>& spoil) {
        h.agents.at("n1") = fine;
        spoil(h.agents.at("n1"));
        const auto order = h.beat("n1");
        return !order && order.error().code == Code::invalid_argument;
    };
    EXPECT_TRUE(refused([](AgentBeat& beat) { beat.node = NodeName{}; }));
    EXPECT_TRUE(refused([](AgentBeat& beat) { beat.boot_id.clear(); }));
    EXPECT_TRUE(refused([](AgentBeat& beat) { beat.session = AgentSessionId{}; }));
    EXPECT_TRUE(refused([](AgentBeat& beat) { beat.inventory->devices[1].index = -1; }));
    // Placing a rank on each of two devices that are one would end the server, and each next one.
    EXPECT_TRUE(refused([](AgentBeat& beat) { beat.inventory->devices[1].index = 0; }));
    EXPECT_TRUE(h.core.ledger().nodes.empty());
    h.agents.at("n1") = fine;
    EXPECT_TRUE(h.beat("n1"));
}

TEST(Control, TheLedgerSaysWhichLauncherWasOnANodeNotItsAgent) {
    Harness h;
    for (const char* node : {"n1", "n2"}) (void)h.beat(node, 1);
    (void)h.submit(job_spec(2));
    for (const char* node : {"n1", "n2"}) h.obey(node, *h.beat(node, 1));
    for (const char* node : {"n1", "n2"}) (void)h.beat(node, 1); // tells what it holds
    auto& held = h.agents.at("n2").held.at(0);
    held.launcher_index = 1'000'000;
    held.state = HoldState::released;
    held.result = LauncherResult{};
    (void)h.beat("n2", 1);
    for (Duration passed; passed <= member_gone_limit; passed += Duration::seconds(5)) {
        h.pass(Duration::seconds(5));
        for (const char* node : {"n1", "n2"}) (void)h.beat(node, 1);
    }
    ASSERT_EQ(h.count<AttemptEnded>(), 1u);
    for (const auto& record : h.facts)
        if (const auto* ended = std::get_if<AttemptEnded>(&record.fact)) {
            EXPECT_NE(ended->reason.detail.find("the one on n2"), std::string::npos);
        }
}

TEST(Control, CordonedNodesTakeNoWorkAndKeepWhatRuns) {
    Harness h;
    h.beat("n1", 4);
    h.submit(job_spec(1));
    h.ask(CordonNode{NodeName{"n1"}, "disk"});
    EXPECT_EQ(h.submit(job_spec(1, "second")).phase, WorkloadPhase::queued);
    EXPECT_EQ((*h.beat("n1")).run.size(), 1U);
    h.ask(UncordonNode{NodeName{"n1"}});
    EXPECT_EQ(h.get("second").workload.phase, WorkloadPhase::admitted);
}

TEST(Control, WhatNoNodeCouldEverRunIsRefusedWithNumbers) {
    Harness h;
    h.beat("n1");
    h.beat("n2");
    auto refused = h.ask(Submit{job_spec(5), "", false});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::failed_precondition);
    EXPECT_NE(refused.error().message.find("all nodes together have 4"), std::string::npos);
    EXPECT_EQ(h.count<WorkloadSubmitted>(), 0U);
}

TEST(Control, DryRunTellsThePlanAndChangesNothing) {
    Harness h;
    h.beat("n1");
    auto spec = job_spec(2);
    const auto answer = std::get<Submitted>(*h.ask(Submit{spec, "t", true}));
    ASSERT_EQ(answer.plan.size(), 1U);
    EXPECT_EQ(answer.plan[0].reason.code, ReasonCode::fits);
    EXPECT_NE(answer.plan[0].text.find("n1 (2 ranks)"), std::string::npos);
    EXPECT_EQ(h.count<WorkloadSubmitted>(), 0U);
    EXPECT_EQ(h.submit(spec, "t").phase, WorkloadPhase::admitted);
}

TEST(Control, AnAwaitIsAnsweredAtTheEndOrWhenItsHoldEnds) {
    Harness h;
    h.submit(job_spec(1));
    const auto reply = ++h.last_reply;
    h.step(RequestAsked{reply, "user:root", 1, 1, AwaitWorkload{"train", Duration::seconds(30)}});
    h.pass(Duration::seconds(29));
    EXPECT_FALSE(h.responses.contains(reply));
    h.pass(Duration::seconds(2));
    EXPECT_TRUE(h.responses.contains(reply));
    const auto second = ++h.last_reply;
    h.step(RequestAsked{second, "user:root", 1, 1, AwaitWorkload{"train", Duration::seconds(30)}});
    h.ask(Cancel{"train"});
    ASSERT_TRUE(h.responses.contains(second));
    EXPECT_EQ(std::get<WorkloadDetail>(*h.responses.at(second)).workload.phase,
              WorkloadPhase::cancelled);
}

TEST(Control, LogsAreAskedOfTheNodesThatRanTheJob) {
    Harness h;
    h.beat("n1", 1);
    h.beat("n2", 1);
    h.submit(job_spec(2));
    h.obey("n1", *h.beat("n1"));
    h.obey("n2", *h.beat("n2"));
    const auto reply = ++h.last_reply;
    h.step(RequestAsked{reply, "user:root", 1, 1, ReadJobLogs{"train", {}, 1000}});
    for (const char* node : {"n1", "n2"}) {
        const auto order = *h.beat(node);
        ASSERT_EQ(order.log_requests.size(), 1U);
        EXPECT_FALSE(h.responses.contains(reply));
        h.agent(node).log_answers = {
            {order.log_requests[0].request, "", {{0, {}, 0, 5, false, "hello"}}}};
        EXPECT_TRUE((*h.beat(node)).log_requests.empty());
        h.agent(node).log_answers.clear();
    }
    ASSERT_TRUE(h.responses.contains(reply));
    const auto logs = std::get<JobLogs>(*h.responses.at(reply));
    ASSERT_EQ(logs.chunks.size(), 2U);
    EXPECT_EQ(logs.chunks[0].node.text, "n1");
    EXPECT_FALSE(logs.finished);
    // A silent node: the wait has an end and the answer says so.
    const auto second = ++h.last_reply;
    h.step(RequestAsked{second, "user:root", 1, 1,
                        ReadJobLogs{"train", {{0, NodeName{"n2"}, 5}}, 1000}});
    h.pass(Duration::seconds(6));
    ASSERT_TRUE(h.responses.contains(second));
    EXPECT_EQ(std::get<JobLogs>(*h.responses.at(second)).errors.size(), 1U);
}

TEST(Control, FinishedJobsAreForgottenBeyondTheLimit) {
    Harness h;
    for (std::size_t i = 0; i < finished_kept_max + 5; ++i) {
        h.submit(job_spec(1, "j" + std::to_string(i)), "t" + std::to_string(i));
        h.ask(Cancel{"j" + std::to_string(i)});
    }
    EXPECT_EQ(h.core.ledger().workloads.size(), finished_kept_max);
    EXPECT_EQ(h.core.ledger().tokens.size(), finished_kept_max);
    EXPECT_FALSE(h.ask(GetWorkload{"j0"}));
    h.restart();
}

TEST(Control, NothingHappensWithoutAnEvent) {
    Harness h;
    h.beat("n1");
    h.submit(job_spec(2));
    h.submit(job_spec(2, "waits"));
    const auto before = h.facts.size();
    h.step(Wake{});
    h.pass(Duration::seconds(4));
    EXPECT_EQ(h.facts.size(), before);
}

} // namespace
} // namespace muster::control
