#include "io/posix/mailbox.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace muster::io {
namespace {

constexpr Duration test_limit = Duration::seconds(20);

using Numbers = std::vector<int>;

TEST(BoundedMailbox, GivesAllThatWaitsInOrder) {
    BoundedMailbox<int> mailbox(10);
    EXPECT_TRUE(mailbox.offer(1));
    mailbox.post(2);
    EXPECT_TRUE(mailbox.offer(3));
    EXPECT_EQ(mailbox.waiting(), 3u);
    EXPECT_EQ(mailbox.take(test_limit), (Numbers{1, 2, 3}));
    EXPECT_EQ(mailbox.waiting(), 0u);
}

TEST(BoundedMailbox, RefusesFromOutsideWhenFullAndNeverFromInside) {
    BoundedMailbox<int> mailbox(2);
    EXPECT_TRUE(mailbox.offer(1));
    mailbox.post(2); // counts for no bound
    EXPECT_TRUE(mailbox.offer(3));
    EXPECT_FALSE(mailbox.offer(4));
    mailbox.post(5);
    EXPECT_EQ(mailbox.refused(), 1u);
    EXPECT_EQ(mailbox.take(Duration{}), (Numbers{1, 2, 3, 5}));
    EXPECT_TRUE(mailbox.offer(6)) << "what was taken makes room";
}

TEST(BoundedMailbox, AnEmptyOneReturnsAfterItsLimit) {
    BoundedMailbox<int> mailbox(1);
    EXPECT_TRUE(mailbox.take(Duration{}).empty());
    EXPECT_TRUE(mailbox.take(Duration::seconds(-5)).empty());
    EXPECT_TRUE(mailbox.take(Duration::millis(1)).empty());
}

TEST(BoundedMailbox, AMessageWakesWhoWaits) {
    BoundedMailbox<int> mailbox(1);
    Numbers taken;
    std::thread taker(
        [&] { taken = mailbox.take(Duration::max()); }); // for ever, but for a message
    mailbox.post(7);
    taker.join();
    EXPECT_EQ(taken, Numbers{7});
}

TEST(BoundedMailbox, NothingIsLostBetweenManyThreads) {
    constexpr int senders = 4;
    constexpr int each = 2'000;
    BoundedMailbox<std::unique_ptr<int>> mailbox(50);
    std::vector<std::thread> threads;
    for (int s = 0; s < senders; ++s)
        threads.emplace_back([&, s] {
            for (int i = 0; i < each; ++i)
                while (!mailbox.offer(std::make_unique<int>(s * each + i)))
                    std::this_thread::yield();
        });
    std::vector<int> next(senders); // of each sender, in its order
    for (int got = 0; got < senders * each;) {
        const auto batch = mailbox.take(test_limit);
        ASSERT_FALSE(batch.empty());
        for (const auto& message : batch) {
            const auto sender = static_cast<std::size_t>(*message / each);
            ASSERT_EQ(*message % each, next[sender]++);
            ++got;
        }
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(mailbox.waiting(), 0u);
}

} // namespace
} // namespace muster::io
