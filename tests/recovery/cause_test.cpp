// Who failed first, and who only followed.

#include "ends.hpp"

#include <gtest/gtest.h>

namespace muster::recovery::test {
namespace {

constexpr Duration window = Duration::millis(200);

struct Said {
    const char* words;
    Evidence evidence;
};

TEST(Evidence, words_of_lost_peers) {
    const Said table[] = {
        {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by "
         "peer [127.0.1.1]:4711",
         Evidence::consequence},
        {"RuntimeError: [pair.cc:799] connect [127.0.0.1]:1: Connection refused",
         Evidence::consequence},
        {"ConnectionResetError: [Errno 104] Connection reset by peer", Evidence::consequence},
        {"torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, remote "
         "process exited or there was a network error, NCCL version 2.20.5\nncclRemoteError: A "
         "call "
         "failed possibly due to a network error or a remote process exiting prematurely.",
         Evidence::consequence},
        {"torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely "
         "closed. Did the remote server shutdown or crash?",
         Evidence::consequence},
        {"torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 "
         "clients joined.",
         Evidence::consequence},
        {"RuntimeError: Timed out waiting 1800000ms for recv operation to complete",
         Evidence::consequence},
        {"RuntimeError: Socket Timeout", Evidence::consequence},
        {"BrokenPipeError: [Errno 32] Broken pipe", Evidence::consequence},
        {"ValueError: expected 3 dimensions, got 2", Evidence::own},
        {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
         Evidence::own},
        {"RuntimeError: CUDA error: an illegal memory access was encountered", Evidence::own},
        {"KeyError: 'loss'", Evidence::own},
    };
    for (const auto& [words, evidence] : table) {
        EXPECT_EQ(evidence_of(by_traceback(words)), evidence) << words;
        const Evidence without = evidence == Evidence::own ? Evidence::plain : evidence;
        EXPECT_EQ(evidence_of(by_code(1, {words})), without) << words;
    }
}

TEST(Evidence, signals_speak_for_themselves_but_abort_may_follow_a_lost_peer) {
    EXPECT_EQ(evidence_of(by_signal(9, {"Connection reset by peer"})), Evidence::own);
    EXPECT_EQ(evidence_of(by_signal(11)), Evidence::own);
    EXPECT_EQ(evidence_of(by_signal(6)), Evidence::own);
    EXPECT_EQ(evidence_of(by_signal(6, {"terminate called after throwing an instance of "
                                        "'gloo::IoException'",
                                        "what(): Connection closed by peer"})),
              Evidence::consequence);
    EXPECT_EQ(evidence_of(by_code(139)), Evidence::own); // a shell around a rank that crashed
    EXPECT_EQ(evidence_of(by_code(134, {"Connection closed by peer"})), Evidence::consequence);
    EXPECT_EQ(evidence_of(by_code(1)), Evidence::plain);
    EXPECT_EQ(evidence_of(by_code(0)), Evidence::none);
    EXPECT_EQ(evidence_of(by_us(15)), Evidence::none);
    EXPECT_EQ(exit_code_of(by_signal(9)), 137);
}

TEST(Evidence, a_chain_that_began_with_a_lost_peer_is_a_consequence) {
    const RankExit chained = by_traceback(
        "RuntimeError: training failed",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nRuntimeError: Connection "
        "reset "
        "by peer\n\nThe above exception was the direct cause of the following exception:\n\n");
    EXPECT_EQ(evidence_of(chained), Evidence::consequence);
    // Words in quoted source lines do not count.
    EXPECT_EQ(evidence_of(by_traceback("AssertionError")), Evidence::own);
}

TEST(FirstCause, the_killed_rank_wins_over_peers_that_ended_sooner) {
    const auto cause = first_cause({end_of(0, 0, lost_peer()), end_of(2, 3, lost_peer()),
                                    end_of(1, 150, by_signal(9)), end_of(3, 160, by_us(15))},
                                   window);
    EXPECT_EQ(cause.rank, 1);
    EXPECT_EQ(cause.exit_code, 137);
    EXPECT_EQ(cause.node.text, "n0");
    EXPECT_EQ(cause.reason.code, ReasonCode::rank_failed);
    EXPECT_EQ(cause.reason.subject, "1");
    EXPECT_EQ(cause.consequences, (std::vector<std::int64_t>{0, 2, 3}));
}

TEST(FirstCause, order_in_the_list_does_not_matter_time_does) {
    const auto cause = first_cause({end_of(3, 9, by_traceback("ValueError: late")),
                                    end_of(2, 4, by_traceback("ValueError: first"))},
                                   window);
    EXPECT_EQ(cause.rank, 2);
    EXPECT_EQ(cause.reason.detail, "ValueError: first");
    EXPECT_FALSE(cause.traceback.empty());
}

TEST(FirstCause, an_own_failure_beats_a_plain_one_within_the_window_only) {
    EXPECT_EQ(first_cause({end_of(0, 0, by_code(1)), end_of(1, 199, by_signal(11))}, window).rank,
              1);
    EXPECT_EQ(first_cause({end_of(0, 0, by_code(1)), end_of(1, 300, by_signal(11))}, window).rank,
              0);
    // Lost peers prove that somebody else failed, however long that took to end.
    EXPECT_EQ(first_cause({end_of(0, 0, lost_peer()), end_of(1, 9000, by_signal(11))}, window).rank,
              1);
    EXPECT_EQ(first_cause({end_of(0, 5, lost_peer()), end_of(1, 0, lost_peer())}, window).rank, 1);
}

TEST(FirstCause, a_rank_that_left_early_with_0_is_the_cause_of_its_peers_loss) {
    const auto cause = first_cause({end_of(2, 0, by_code(0)), end_of(0, 30'000, lost_peer()),
                                    end_of(1, 30'001, lost_peer()), end_of(3, 30'002, by_us(9))},
                                   window);
    EXPECT_EQ(cause.reason.code, ReasonCode::early_exit);
    EXPECT_EQ(cause.rank, 2);
    EXPECT_EQ(cause.reason.have, 30);
    EXPECT_EQ(cause.exit_code, 1); // the job did not succeed
    EXPECT_EQ(cause.consequences, (std::vector<std::int64_t>{0, 1, 3}));
    // Not where somebody failed of himself, and not where it left after the failure.
    EXPECT_EQ(first_cause({end_of(2, 0, by_code(0)), end_of(0, 10, by_signal(11))}, window).rank,
              0);
    EXPECT_EQ(first_cause({end_of(0, 0, lost_peer()), end_of(2, 10, by_code(0))}, window).rank, 0);
}

TEST(FirstCause, ends_by_us_are_never_causes) {
    EXPECT_EQ(first_cause({end_of(0, 0, by_us(9)), end_of(1, 1, by_us(15))}, window).reason.code,
              ReasonCode::none);
    EXPECT_EQ(first_cause({end_of(0, 0, by_us(9)), end_of(1, 900, lost_peer())}, window).rank, 1);
    EXPECT_EQ(first_cause({}, window).reason.code, ReasonCode::none);
}

TEST(FirstCause, what_cannot_be_executed_says_so) {
    RankExit exit;
    exit.cannot_execute = true;
    exit.start_error = "/usr/bin/pyton: No such file or directory";
    const auto cause = first_cause({end_of(1, 0, exit)}, window);
    EXPECT_EQ(cause.reason.code, ReasonCode::cannot_start);
    EXPECT_EQ(explain(cause.reason),
              "cannot start rank 1 on n0: /usr/bin/pyton: No such file or directory");
    EXPECT_EQ(cause.exit_code, 127);
}

TEST(FirstCause, long_words_are_cut) {
    const auto cause = first_cause({end_of(0, 0, by_code(1, {std::string(100'000, 'x')}))}, window);
    EXPECT_LT(cause.reason.detail.size(), 400u);
}

} // namespace
} // namespace muster::recovery::test
