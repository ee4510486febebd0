#pragma once
// BoundedMailbox: messages from many threads to one loop, taken in batches, with a descriptor for
// loops that wait for more than messages. Life: longer than the threads that use it.
//
// Two bounds. What comes from outside is offered, and refused while outside_max of it waits: the
// sender says so to whoever asked. What is posted always gets in, for each answers one thing that
// was let in or begun (acknowledgements, cancellations, ends of threads' work): more than
// posted_max of them is a bug of ours and breaks a REQUIRE. A batch that was taken counts no more:
// at most twice the bound is on its way.

#include "base/require.hpp"
#include "base/time.hpp"
#include "io/posix/fd.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace muster::io {

inline constexpr std::size_t mailbox_posted_max = 1'000'000;
/// Longer waits come around again.
inline constexpr Duration mailbox_wait_max = Duration::hours(1);

template <class Message>
class BoundedMailbox {
  public:
    explicit BoundedMailbox(std::size_t outside_max, std::size_t posted_max = mailbox_posted_max)
        : outside_max_(outside_max), posted_max_(posted_max),
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        REQUIRE(wake_, "no descriptor for a mailbox");
    }

    /// False: full, the message was not taken.
    bool offer(Message message) {
        const std::lock_guard lock(mutex_);
        if (outside_ >= outside_max_) {
            ++refused_;
            return false;
        }
        ++outside_;
        put(std::move(message));
        return true;
    }

    /// Never refused.
    void post(Message message) {
        const std::lock_guard lock(mutex_);
        REQUIRE(waiting_.size() - outside_ < posted_max_, "more answers than there were questions");
        put(std::move(message));
    }

    /// All that waits, oldest first; empty after `limit` without a message.
    std::vector<Message> take(Duration limit) {
        const Duration bounded = std::clamp(limit, Duration{}, mailbox_wait_max);
        constexpr std::int64_t second = Duration::seconds(1).ns;
        const timespec wait{bounded.ns / second, bounded.ns % second};
        pollfd waiter{wake_.get(), POLLIN, 0};
        ::ppoll(&waiter, 1, &wait, nullptr);
        const std::lock_guard lock(mutex_);
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
        outside_ = 0;
        return std::exchange(waiting_, {});
    }

    /// Readable while messages wait.
    int fd() const { return wake_.get(); }

    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }
    std::size_t refused() const {
        const std::lock_guard lock(mutex_);
        return refused_;
    }

  private:
    void put(Message message) {
        waiting_.push_back(std::move(message));
        const std::uint64_t one = 1;
        if (waiting_.size() == 1) (void)!::write(wake_.get(), &one, sizeof one);
    }

    const std::size_t outside_max_;
    const std::size_t posted_max_;
    UniqueFd wake_;
    mutable std::mutex mutex_;
    std::vector<Message> waiting_;
    std::size_t outside_ = 0;
    std::size_t refused_ = 0;
};

} // namespace muster::io
