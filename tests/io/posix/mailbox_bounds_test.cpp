// The two bounds of a mailbox, and its descriptor.

#include "io/posix/mailbox.hpp"

#include <gtest/gtest.h>

namespace muster::io {
namespace {

using Numbers = std::vector<int>;

TEST(MailboxBounds, WhatComesFromOutsideIsRefusedAndWhatIsPostedGetsIn) {
    BoundedMailbox<int> mailbox(1);
    EXPECT_TRUE(mailbox.offer(1));
    EXPECT_FALSE(mailbox.offer(2));
    mailbox.post(3);
    EXPECT_EQ(mailbox.refused(), 1u);
    EXPECT_EQ(mailbox.take({}), (Numbers{1, 3}));
    EXPECT_TRUE(mailbox.offer(4));
}

TEST(MailboxBoundsDeathTest, MoreAnswersThanThereWereQuestionsAreABug) {
    BoundedMailbox<int> mailbox(1, 2);
    EXPECT_TRUE(mailbox.offer(1));
    mailbox.post(2);
    mailbox.post(3);
    EXPECT_DEATH(mailbox.post(4), "more answers than there were questions");
    EXPECT_EQ(mailbox.take({}), (Numbers{1, 2, 3}));
    mailbox.post(4);
}

TEST(MailboxBounds, TheDescriptorIsReadableWhileMessagesWait) {
    BoundedMailbox<int> mailbox(2);
    const auto readable = [&] {
        pollfd waiter{mailbox.fd(), POLLIN, 0};
        return ::poll(&waiter, 1, 0) == 1;
    };
    EXPECT_FALSE(readable());
    EXPECT_TRUE(mailbox.offer(1));
    mailbox.post(2);
    EXPECT_TRUE(readable());
    EXPECT_EQ(mailbox.take({}), (Numbers{1, 2}));
    EXPECT_FALSE(readable());
    mailbox.post(3);
    EXPECT_TRUE(readable());
}

} // namespace
} // namespace muster::io
