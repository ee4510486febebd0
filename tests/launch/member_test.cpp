// How a member ends, event by event (docs/launch.md, "Other ends").

#include "alone.hpp"

#include <gtest/gtest.h>

namespace muster::launch::test {
namespace {

constexpr std::int64_t sigterm = 15;

LauncherOrder server_order(std::int64_t asked) {
    LauncherOrder order;
    order.attempt = 3;
    order.asked = asked;
    order.revision = asked;
    order.lead_endpoint = "127.0.0.1:2";
    return order;
}

MemberOrder lead_order(std::int64_t revision, Generation generation, MemberAction action) {
    MemberOrder order;
    order.attempt = 3;
    order.asked = revision;
    order.revision = revision;
    order.term = 1;
    order.generation = generation;
    order.action = action;
    if (action == MemberAction::run)
        order.table = RankTable{1,    generation, "127.0.0.1",
                                4000, 0,          {RankRow{1, 1, 0, 1, RoleName{"worker"}, {}}}};
    return order;
}

/// Member 1 of two, whose rank runs in generation 1.
Alone running_member() {
    Alone member(2, 1);
    member.say(ServerSaid{Lane::poll, server_order(1)});
    EXPECT_EQ(Alone::count<StartRanks>(
                  member.say(LeadSaid{Lane::push, lead_order(1, 1, MemberAction::run)})),
              1);
    member.say(RanksStarted{1});
    // Both lanes are answered until it has nothing more to tell.
    for (const Lane lane : {Lane::push, Lane::poll, Lane::push})
        member.say(LeadSaid{lane, lead_order(1, 1, MemberAction::run)});
    return member;
}

/// Its rank takes SIGTERM, nothing is left, the lead hears the goodbye: what it leaves with.
Leave last_word(Alone& member) {
    RankExit exit;
    exit.signal = sigterm;
    exit.killed_by_us = true;
    EXPECT_EQ(Alone::count<KillRanks>(member.say(RankExited{1, exit})), 1);
    auto commands = member.say(RanksCleared{1, 0});
    std::optional<Leave> leave = Alone::one<Leave>(commands);
    if (!leave) { // it says goodbye first, and waits for the answer at most goodbye_limit
        member.now = member.now + goodbye_limit;
        leave = Alone::one<Leave>(member.say(Wake{}));
    }
    EXPECT_TRUE(leave);
    return leave.value_or(Leave{});
}

TEST(Member, ThatIsFencedEndsItsRanksAndClaimsNothing) {
    Alone member = running_member();
    LauncherOrder fenced = server_order(5);
    fenced.fenced = true;
    EXPECT_EQ(Alone::count<TerminateRanks>(member.say(ServerSaid{Lane::poll, fenced})), 1);
    const Leave leave = last_word(member);
    EXPECT_EQ(leave.exit_code, exit_lost);
    EXPECT_EQ(leave.result.outcome, AttemptOutcome::none);
}

TEST(Member, ThatHearsACancelTellsTheLeadAtOnce) {
    Alone member = running_member();
    LauncherOrder cancel = server_order(5);
    cancel.stop = StopKind::cancel;
    const auto commands = member.say(ServerSaid{Lane::poll, cancel});
    EXPECT_EQ(Alone::count<TerminateRanks>(commands), 1);
    const auto beat = Alone::one<SendMemberBeat>(commands);
    ASSERT_TRUE(beat) << "its push lane is free";
    EXPECT_EQ(beat->beat.stop, StopKind::cancel);
    EXPECT_EQ(last_word(member).exit_code, exit_lost);
}

TEST(Member, LeavesWithItsSignalWhereItsNodeAsksIt) {
    Alone member = running_member();
    EXPECT_EQ(Alone::count<TerminateRanks>(member.say(LeaveAsked{sigterm})), 1);
    EXPECT_EQ(last_word(member).exit_code, exit_signalled + sigterm);
}

TEST(Member, LeavesWith0WhereItsLeadSaysSo) {
    Alone member = running_member();
    member.say(LeadSaid{Lane::push, lead_order(2, 1, MemberAction::leave)});
    EXPECT_EQ(last_word(member).exit_code, 0);
}

TEST(Member, WhoseLeadIsSilentKeepsItsRanksUntilTheLimit) {
    Alone member = running_member();
    const Instant heard = member.now;
    const Duration woken = stall_limit / 2; // longer sleeps are forgiven
    for (; member.now + woken < heard + lead_silent_limit; member.now = member.now + woken)
        EXPECT_EQ(Alone::count<TerminateRanks>(member.say(Wake{})), 0);
    member.now = heard + lead_silent_limit;
    EXPECT_EQ(Alone::count<TerminateRanks>(member.say(Wake{})), 1);
    EXPECT_EQ(last_word(member).exit_code, exit_lost);
}

/// The lead's word is another process' word: a table that does not fit its order starts nothing.
TEST(Member, StartsNoTableOfAnotherGenerationThanOrdered) {
    Alone member(2, 1);
    member.say(ServerSaid{Lane::poll, server_order(1)});
    MemberOrder order = lead_order(1, 2, MemberAction::run);
    for (const Generation generation : {0, 1, 3, -7}) {
        order.table->generation = generation;
        ++order.revision;
        EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::push, order})), 0)
            << generation;
    }
    order.table->generation = 2;
    ++order.revision;
    EXPECT_EQ(Alone::count<StartRanks>(member.say(LeadSaid{Lane::push, order})), 1);
}

/// A lead that is not named any more after it began ends its ranks and leaves without an outcome.
TEST(Lead, ThatIsDeposedEndsItsRanksAndClaimsNothing) {
    Alone lead;
    lead.say(PortBound{1, 4000, ""});
    lead.say(RanksStarted{1});
    LauncherOrder order = server_order(5);
    order.lead = 1;
    order.term = 2;
    EXPECT_EQ(Alone::count<TerminateRanks>(lead.say(ServerSaid{Lane::poll, order})), 1);
    const Leave leave = last_word(lead);
    EXPECT_EQ(leave.exit_code, exit_lost);
    EXPECT_EQ(leave.result.outcome, AttemptOutcome::none);
}

} // namespace
} // namespace muster::launch::test
