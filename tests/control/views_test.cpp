// What people are told: reasons without repeats, phases and plans that are true.

#include "harness.hpp"

namespace muster::control {
namespace {

WhyView why(Harness& h, const std::string& job) { return std::get<WhyView>(*h.ask(Why{job})); }

std::vector<std::string> texts(const WhyView& view) {
    std::vector<std::string> found;
    for (const auto& item : view.items) found.push_back(item.text);
    return found;
}

const WhyItem* item_of(const WhyView& view, ReasonCode code) {
    for (const auto& item : view.items)
        if (item.reason.code == code) return &item;
    return nullptr;
}

TEST(Views, WhyTellsACauseOnceThoughAttemptAndGenerationHaveIt) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1, 5);
    h.agent("n1").held[0].state = HoldState::released;
    h.agent("n1").held[0].launcher_error = "killed by signal 9";
    h.beat("n1");
    auto lines = texts(why(h, "train"));
    EXPECT_EQ(std::ranges::count(lines, "the launcher on n1 was lost: killed by signal 9"), 1);
    std::ranges::sort(lines);
    EXPECT_EQ(std::ranges::adjacent_find(lines), lines.end());
}

TEST(Views, ACancelledJobIsToldToBeStopping) {
    Harness h;
    h.beat("n1");
    const auto job = h.submit(job_spec(1));
    h.obey("n1", *h.beat("n1"));
    h.run_generation(job.id, 1, 1, 1);
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::running);
    const auto answer = std::get<WorkloadDetail>(*h.ask(Cancel{"train"}));
    EXPECT_EQ(answer.workload.phase, WorkloadPhase::stopping);
    EXPECT_EQ(answer.workload.reason.code, ReasonCode::cancelled_by_user);
    EXPECT_EQ(why(h, "train").phase, WorkloadPhase::stopping);
}

TEST(Views, ADryRunSaysThatItIsOne) {
    Harness h;
    h.beat("n1");
    EXPECT_TRUE(std::get<Submitted>(*h.ask(Submit{job_spec(1), "", true})).dry_run);
    EXPECT_FALSE(std::get<Submitted>(*h.ask(Submit{job_spec(1), "", false})).dry_run);
}

TEST(Views, ACordonThatBlocksIsNamedWithItsRemedy) {
    Harness h;
    h.beat("n1");
    h.beat("n2");
    h.ask(CordonNode{NodeName{"n2"}, "new cables"});
    h.submit(job_spec(4));
    const auto told = why(h, "train");
    EXPECT_EQ(told.items.at(0).text, "needs 4 devices, 2 are free");
    const auto* cordon = item_of(told, ReasonCode::cordoned_devices);
    ASSERT_NE(cordon, nullptr);
    EXPECT_EQ(cordon->text, "node n2 with 2 devices is cordoned: new cables");
    EXPECT_NE(cordon->unblocks_when.find("muster node uncordon n2"), std::string::npos);
    for (const auto& item : told.items)
        EXPECT_EQ(item.unblocks_when.find("join"), std::string::npos) << item.unblocks_when;
    // What waits for a cordoned node holds nobody up.
    EXPECT_EQ(h.submit(job_spec(2, "small")).phase, WorkloadPhase::admitted);
    EXPECT_NE(item_of(why(h, "train"), ReasonCode::cordoned_devices), nullptr);
}

TEST(Views, ANodeWithoutItsAgentIsNamedToo) {
    Harness h;
    h.beat("n1");
    h.beat("n2");
    h.pass(Duration::seconds(6));
    h.beat("n1");
    h.submit(job_spec(4));
    const auto told = why(h, "train");
    const auto* silent = item_of(told, ReasonCode::silent_devices);
    ASSERT_NE(silent, nullptr);
    EXPECT_EQ(silent->text, "node n2 with 2 devices gives no sign");
    h.pass(Duration::seconds(10)); // lost by now
    h.beat("n1");
    EXPECT_NE(item_of(why(h, "train"), ReasonCode::silent_devices), nullptr);
    h.beat("n2");
    EXPECT_EQ(h.get("train").workload.phase, WorkloadPhase::admitted);
}

TEST(Views, WithoutAnyNodeACordonIsNamedBesideTheLack) {
    Harness h;
    h.beat("n1");
    h.ask(CordonNode{NodeName{"n1"}, ""});
    h.submit(job_spec(1));
    const auto told = why(h, "train");
    EXPECT_NE(item_of(told, ReasonCode::no_nodes), nullptr);
    EXPECT_NE(item_of(told, ReasonCode::cordoned_devices), nullptr);
}

TEST(Views, HeldDevicesAreFreedByWhatExists) {
    const Reason held{ReasonCode::held_devices, "n1", 2, 0, ""};
    EXPECT_EQ(explain(held), "2 devices of n1 are not reported free yet");
    EXPECT_EQ(unblocks_when(held), "n1 reports them free or reboots");
}

TEST(Views, AnAdmissionSpeaksOfThePast) {
    EXPECT_EQ(explain({ReasonCode::fits, "", 4, 4, ""}), "asked for 4 devices when 4 were free");
}

} // namespace
} // namespace muster::control
