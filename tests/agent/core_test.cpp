#include "support.hpp"

#include <gtest/gtest.h>

namespace muster::agent::testing {
namespace {

using Out = Decision<AgentRecord, AgentCommand>;

/// An agent in front of a server that the test plays.
class AgentCoreTest : public ::testing::Test {
  protected:
    void SetUp() override { begin(); }

    void begin(AgentLedger ledger = {}, std::uint64_t session = 1) {
        core_.emplace(config_of(session), std::move(ledger));
        begun_ = feed(Begin{});
    }
    Out feed(const AgentEvent& event) {
        Out out = core_->step(now_, event);
        for (const auto& beat : commands_of<SendBeat>(out)) {
            EXPECT_FALSE(in_flight_.contains(beat.lane) && in_flight_[beat.lane] != 0);
            in_flight_[beat.lane] = beat.beat.asked;
            last_beat_ = beat.beat;
        }
        return out;
    }
    AgentOrder order(Lane lane, std::vector<AttemptOrder> run) {
        AgentOrder order;
        order.installation = installation_of(1);
        order.incarnation = 1;
        order.session = session_of(1);
        order.asked = in_flight_[lane];
        order.revision = ++revision_;
        order.run = std::move(run);
        return order;
    }
    Out answer(Lane lane, AgentOrder order) {
        in_flight_[lane] = 0;
        return feed(OrderArrived{lane, std::move(order)});
    }
    Out answer(std::vector<AttemptOrder> run) { return answer(Lane::poll, order(Lane::poll, run)); }
    Out fail(Lane lane, Code code) {
        in_flight_[lane] = 0;
        return feed(BeatFailed{lane, Error{code, "refused", "", ""}});
    }
    Out wait(Duration duration) {
        now_ = now_ + duration;
        return feed(Wake{});
    }
    void run_one(const AttemptKey& key, std::int64_t device = 0) {
        answer({entry_of(key, device)});
        feed(LauncherStarted{key, 100, 7, ""});
        ASSERT_EQ(state(key), HoldState::running);
    }
    HoldState state(const AttemptKey& key) { return core_->ledger().holds.at(key).state; }

    Instant now_{1'000'000'000};
    std::optional<AgentCore> core_;
    Out begun_;
    std::map<Lane, std::int64_t> in_flight_;
    AgentBeat last_beat_;
    std::int64_t revision_ = 0;
};

TEST_F(AgentCoreTest, begins_with_a_beat_that_carries_the_inventory) {
    const auto beats = commands_of<SendBeat>(begun_);
    ASSERT_EQ(beats.size(), 1U);
    EXPECT_EQ(beats[0].lane, Lane::poll);
    EXPECT_TRUE(beats[0].beat.inventory.has_value());
    EXPECT_TRUE(beats[0].beat.installation.empty());
    const auto next = commands_of<SendBeat>(answer({}));
    ASSERT_EQ(next.size(), 1U) << "the poll is armed again at once";
    EXPECT_FALSE(next[0].beat.inventory.has_value());
    EXPECT_EQ(next[0].beat.installation, installation_of(1));
}

TEST_F(AgentCoreTest, starts_what_is_listed_once) {
    const auto key = key_of(1);
    const auto out = answer({entry_of(key, 0)});
    EXPECT_EQ(facts_of<HoldTaken>(out).size(), 1U);
    EXPECT_EQ(commands_of<StartLauncher>(out).size(), 1U);
    EXPECT_TRUE(commands_of<StartLauncher>(answer({entry_of(key, 0)})).empty());
    const auto started = feed(LauncherStarted{key, 100, 7, ""});
    EXPECT_EQ(facts_of<LauncherRuns>(started).size(), 1U);
    ASSERT_EQ(last_beat_.held.size(), 1U);
    EXPECT_EQ(last_beat_.held[0].state, HoldState::running) << "news is pushed at once";
}

TEST_F(AgentCoreTest, released_only_after_the_group_was_seen_empty) {
    const auto key = key_of(1);
    run_one(key);
    LauncherResult result;
    result.outcome = AttemptOutcome::succeeded;
    auto out = feed(LauncherGone{key, result, ""});
    EXPECT_EQ(commands_of<ClearGroup>(out).size(), 1U);
    EXPECT_TRUE(facts_of<HoldReleased>(out).empty());
    out = feed(GroupCleared{key, 2});
    EXPECT_TRUE(facts_of<HoldReleased>(out).empty());
    EXPECT_EQ(state(key), HoldState::stopping);
    EXPECT_EQ(out.wake_at, now_ + clear_retry);
    EXPECT_EQ(commands_of<ClearGroup>(wait(clear_retry)).size(), 1U);
    out = feed(GroupCleared{key, 0});
    ASSERT_EQ(facts_of<HoldReleased>(out).size(), 1U);
    EXPECT_EQ(facts_of<HoldReleased>(out)[0].result, result);
    EXPECT_TRUE(facts_of<HoldReleased>(out)[0].launcher_error.empty());
}

TEST_F(AgentCoreTest, a_released_hold_is_told_until_forgotten_and_not_started_again) {
    const auto key = key_of(1);
    run_one(key);
    feed(LauncherGone{key, std::nullopt, "killed by signal 9"});
    feed(GroupCleared{key, 0});
    const auto out = answer({entry_of(key, 0)});
    EXPECT_TRUE(commands_of<StartLauncher>(out).empty());
    ASSERT_EQ(last_beat_.held.size(), 1U);
    EXPECT_EQ(last_beat_.held[0].state, HoldState::released);
    EXPECT_EQ(last_beat_.held[0].launcher_error, "killed by signal 9");
    auto forget = order(Lane::poll, {});
    forget.forget.push_back(key);
    answer(Lane::poll, forget);
    EXPECT_TRUE(core_->ledger().holds.empty());
}

TEST_F(AgentCoreTest, what_is_not_released_cannot_be_forgotten) {
    const auto key = key_of(1);
    run_one(key);
    auto forget = order(Lane::poll, {entry_of(key, 0)});
    forget.forget.push_back(key);
    EXPECT_TRUE(facts_of<HoldForgotten>(answer(Lane::poll, forget)).empty());
    EXPECT_EQ(state(key), HoldState::running);
}

TEST_F(AgentCoreTest, asks_to_leave_then_kills_after_grace_and_extra) {
    const auto key = key_of(1);
    run_one(key);
    const auto out = answer({});
    EXPECT_EQ(facts_of<HoldStopping>(out).size(), 1U);
    EXPECT_EQ(commands_of<AskLauncherToLeave>(out).size(), 1U);
    const Duration limit = Duration::seconds(15) + leave_extra;
    EXPECT_TRUE(commands_of<ClearGroup>(wait(limit - Duration::millis(1))).empty());
    EXPECT_EQ(commands_of<ClearGroup>(wait(Duration::millis(1))).size(), 1U);
    const auto cleared = feed(GroupCleared{key, 0});
    ASSERT_EQ(facts_of<HoldReleased>(cleared).size(), 1U);
    EXPECT_NE(facts_of<HoldReleased>(cleared)[0].launcher_error, "");
}

TEST_F(AgentCoreTest, a_stop_before_the_launcher_was_seen_reaches_it_when_it_is) {
    const auto key = key_of(1);
    answer({entry_of(key, 0)});
    answer({});
    EXPECT_EQ(state(key), HoldState::stopping);
    const auto out = feed(LauncherStarted{key, 100, 7, ""});
    EXPECT_EQ(commands_of<AskLauncherToLeave>(out).size(), 1U);
    EXPECT_EQ(state(key), HoldState::stopping);
}

TEST_F(AgentCoreTest, an_unanswered_start_keeps_a_cleared_hold) {
    const auto key = key_of(1);
    answer({entry_of(key, 0)});
    answer({});
    EXPECT_EQ(commands_of<ClearGroup>(wait(Duration::seconds(25))).size(), 1U);
    EXPECT_TRUE(facts_of<HoldReleased>(feed(GroupCleared{key, 0})).empty())
        << "the launcher may still appear";
    feed(LauncherStarted{key, 100, 7, ""});
    EXPECT_EQ(commands_of<ClearGroup>(wait(clear_retry)).size(), 1U);
    EXPECT_EQ(facts_of<HoldReleased>(feed(GroupCleared{key, 0})).size(), 1U);
}

TEST_F(AgentCoreTest, a_launcher_that_cannot_be_started_is_released_with_the_reason) {
    const auto key = key_of(1);
    answer({entry_of(key, 0)});
    EXPECT_EQ(commands_of<ClearGroup>(feed(LauncherStarted{key, 0, 0, "disk full"})).size(), 1U);
    const auto out = feed(GroupCleared{key, 0});
    ASSERT_EQ(facts_of<HoldReleased>(out).size(), 1U);
    EXPECT_EQ(facts_of<HoldReleased>(out)[0].launcher_error, "disk full");
}

TEST_F(AgentCoreTest, jobs_go_on_while_the_server_is_away) {
    const auto key = key_of(1);
    run_one(key);
    for (int i = 0; i < 200; ++i) {
        for (const Lane lane : {Lane::poll, Lane::push}) {
            if (in_flight_[lane] == 0) continue;
            const auto out = fail(lane, Code::unavailable);
            EXPECT_TRUE(commands_of<AskLauncherToLeave>(out).empty());
            EXPECT_TRUE(commands_of<ClearGroup>(out).empty());
        }
        wait(Duration::seconds(1));
    }
    EXPECT_EQ(state(key), HoldState::running);
}

TEST_F(AgentCoreTest, backs_off_after_failures_up_to_a_limit) {
    Duration expected = beat_retry_first;
    for (int i = 0; i < 8; ++i) {
        const auto out = fail(Lane::poll, Code::unavailable);
        EXPECT_TRUE(commands_of<SendBeat>(out).empty());
        EXPECT_EQ(out.wake_at, now_ + expected);
        EXPECT_EQ(commands_of<SendBeat>(wait(expected)).size(), 1U);
        expected = std::min(expected * 2, beat_retry_max);
    }
    answer({});
    EXPECT_EQ(fail(Lane::poll, Code::unavailable).wake_at, now_ + beat_retry_first);
}

TEST_F(AgentCoreTest, ignores_orders_behind_the_fences) {
    answer({});
    const auto is_ignored = [&](AgentOrder wrong, const char* what) {
        const auto out = answer(Lane::poll, std::move(wrong));
        EXPECT_TRUE(commands_of<StartLauncher>(out).empty()) << what;
        EXPECT_TRUE(core_->ledger().holds.empty()) << what;
        wait(beat_retry_max);
    };
    const auto entry = entry_of(key_of(1), 0);
    auto wrong = order(Lane::poll, {entry});
    wrong.installation = installation_of(2);
    is_ignored(wrong, "another installation");
    wrong = order(Lane::poll, {entry});
    wrong.session = session_of(2);
    is_ignored(wrong, "another session");
    wrong = order(Lane::poll, {entry});
    wrong.incarnation = 0;
    is_ignored(wrong, "an older incarnation");
    wrong = order(Lane::poll, {entry});
    wrong.asked = 0;
    is_ignored(wrong, "an answer to no beat");
    wrong = order(Lane::poll, {entry_of(key_of(1), 0, 9)});
    is_ignored(wrong, "placed on another boot of the node");
}

TEST_F(AgentCoreTest, an_older_answer_is_not_obeyed) {
    const auto key = key_of(1);
    answer({entry_of(key, 0)});
    feed(LauncherStarted{key, 100, 7, ""}); // pushes, while a poll is held
    const auto older = order(Lane::poll, {});
    ASSERT_LT(older.asked, in_flight_[Lane::push]);
    answer(Lane::push, order(Lane::push, {entry_of(key, 0)}));
    const auto out = answer(Lane::poll, older);
    EXPECT_EQ(state(key), HoldState::running) << "the older answer did not list it yet";
    EXPECT_EQ(commands_of<SendBeat>(out).size(), 1U);
}

TEST_F(AgentCoreTest, an_older_answer_to_a_later_beat_is_not_obeyed) {
    const auto key = key_of(1);
    const auto other = key_of(2);
    answer({entry_of(key, 0)});
    feed(LauncherStarted{key, 100, 7, ""}); // pushes, while a poll is held
    // The push was answered first, but its answer is slow: the poll brings newer truth before it.
    auto newer = order(Lane::poll, {entry_of(key, 0), entry_of(other, 1)});
    auto older = order(Lane::push, {entry_of(key, 0)});
    ASSERT_LT(newer.asked, older.asked);
    newer.revision = 8;
    older.revision = 7;
    answer(Lane::poll, newer);
    ASSERT_TRUE(core_->ledger().holds.contains(other));
    answer(Lane::push, older);
    EXPECT_EQ(state(other), HoldState::starting) << "it was not stopped by the older answer";
}

TEST_F(AgentCoreTest, a_repeated_answer_does_not_free_a_lane) {
    const auto first = order(Lane::poll, {});
    answer(Lane::poll, first);
    EXPECT_TRUE(commands_of<SendBeat>(feed(OrderArrived{Lane::poll, first})).empty());
}

TEST_F(AgentCoreTest, one_holder_for_a_device) {
    const auto old_key = key_of(1, 1);
    const auto new_key = key_of(1, 2);
    run_one(old_key, 0);
    EXPECT_TRUE(commands_of<StartLauncher>(answer({entry_of(new_key, 0)})).empty());
    feed(LauncherGone{old_key, std::nullopt, "gone"});
    feed(GroupCleared{old_key, 0});
    EXPECT_EQ(commands_of<StartLauncher>(answer({entry_of(new_key, 0)})).size(), 1U);
}

TEST_F(AgentCoreTest, a_restart_adopts_and_leaves_jobs_untouched) {
    const auto key = key_of(1);
    run_one(key);
    const AgentLedger ledger = core_->ledger();
    in_flight_.clear();
    begin(ledger, 1);
    const auto adopts = commands_of<AdoptLauncher>(begun_);
    ASSERT_EQ(adopts.size(), 1U);
    EXPECT_EQ(adopts[0].pid, 100);
    EXPECT_EQ(adopts[0].start_ticks, 7);
    EXPECT_TRUE(commands_of<AskLauncherToLeave>(begun_).empty());
    EXPECT_TRUE(feed(LauncherStarted{key, 100, 7, ""}).facts.empty());
    EXPECT_EQ(state(key), HoldState::running);
}

TEST_F(AgentCoreTest, a_stop_goes_on_after_a_restart) {
    const auto key = key_of(1);
    run_one(key);
    answer({});
    const AgentLedger ledger = core_->ledger();
    in_flight_.clear();
    begin(ledger);
    EXPECT_EQ(commands_of<AdoptLauncher>(begun_).size(), 1U);
    const auto out = feed(LauncherStarted{key, 100, 7, ""});
    EXPECT_EQ(commands_of<AskLauncherToLeave>(out).size(), 1U);
    EXPECT_EQ(commands_of<ClearGroup>(wait(Duration::seconds(25))).size(), 1U);
}

TEST_F(AgentCoreTest, gives_up_on_a_refusal_but_not_on_a_late_wrong_token) {
    auto out = fail(Lane::poll, Code::permission_denied);
    ASSERT_EQ(commands_of<GiveUp>(out).size(), 1U);
    EXPECT_TRUE(commands_of<SendBeat>(wait(Duration::seconds(9))).empty());

    in_flight_.clear();
    begin();
    EXPECT_EQ(commands_of<GiveUp>(fail(Lane::poll, Code::unauthenticated)).size(), 1U);
    in_flight_.clear();
    begin();
    answer({});
    EXPECT_TRUE(commands_of<GiveUp>(fail(Lane::poll, Code::unauthenticated)).empty());
}

TEST_F(AgentCoreTest, gives_up_at_once_where_the_journal_is_of_another_installation) {
    AgentLedger ledger;
    ledger.installation = installation_of(2);
    auto config = config_of();
    config.installation = installation_of(1);
    core_.emplace(config, ledger);
    EXPECT_EQ(commands_of<GiveUp>(core_->step(now_, Begin{})).size(), 1U);
}

TEST_F(AgentCoreTest, log_requests_are_read_once_and_answers_dropped_when_answered) {
    LogRequest request;
    request.request = 5;
    auto asking = order(Lane::poll, {});
    asking.log_requests.push_back(request);
    EXPECT_EQ(commands_of<ReadLogs>(answer(Lane::poll, asking)).size(), 1U);
    asking = order(Lane::poll, {});
    asking.log_requests.push_back(request);
    EXPECT_TRUE(commands_of<ReadLogs>(answer(Lane::poll, asking)).empty());

    LogAnswer reply;
    reply.request = 5;
    auto out = feed(LogsRead{reply});
    ASSERT_EQ(commands_of<SendBeat>(out).size(), 1U);
    EXPECT_EQ(commands_of<SendBeat>(out)[0].lane, Lane::push);
    EXPECT_EQ(last_beat_.log_answers.size(), 1U);
    fail(Lane::push, Code::unavailable);
    wait(beat_retry_first);
    EXPECT_EQ(last_beat_.log_answers.size(), 1U) << "a lost answer is sent again";
    answer(Lane::push, order(Lane::push, {}));
    answer({});
    EXPECT_TRUE(last_beat_.log_answers.empty());
}

TEST_F(AgentCoreTest, any_number_of_log_requests_one_after_the_other_is_read) {
    for (std::int64_t number = 1; number < 1000; ++number) {
        LogRequest request;
        request.request = number;
        auto asking = order(Lane::poll, {});
        asking.log_requests.push_back(request);
        ASSERT_EQ(commands_of<ReadLogs>(answer(Lane::poll, asking)).size(), 1U) << number;
        LogAnswer reply;
        reply.request = number;
        feed(LogsRead{reply});
        answer(Lane::push, order(Lane::push, {}));
        answer({}); // the poll that was in flight before: older than what was obeyed
    }
}

TEST(AgentLedger, shortest_records_build_the_same_ledger) {
    AgentLedger ledger;
    const auto put = [&](AgentFact fact) {
        ledger.apply({ledger.last_sequence + 1, Instant{1}, std::move(fact)});
    };
    put(NodeAdmitted{installation_of(1), 3});
    for (std::uint64_t i = 1; i <= 5; ++i) put(HoldTaken{entry_of(key_of(i), 0), 3});
    for (std::uint64_t i = 2; i <= 5; ++i) put(LauncherRuns{key_of(i), 100, 7});
    for (std::uint64_t i = 3; i <= 5; ++i) put(HoldStopping{key_of(i)});
    for (std::uint64_t i = 4; i <= 5; ++i) put(HoldReleased{key_of(i), std::nullopt, "gone"});
    put(HoldForgotten{key_of(5)});
    AgentLedger again;
    for (const auto& record : shortest_records(ledger, Instant{2})) again.apply(record);
    EXPECT_LT(again.last_sequence, ledger.last_sequence);
    again.last_sequence = ledger.last_sequence;
    EXPECT_EQ(again, ledger);
}

} // namespace
} // namespace muster::agent::testing
