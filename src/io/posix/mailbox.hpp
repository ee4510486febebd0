#pragma once
// BoundedMailbox: messages from many threads to one, taken in batches. Outside messages are
// bounded; internal ones (acknowledgements, cancellations) always get in: each answers one that was
// let in. Life: longer than the threads that use it. The bound holds for what waits, and a batch
// that was taken counts no more: at most twice the bound is on its way.

#include "base/time.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace muster::io {

template <class Message>
class BoundedMailbox {
  public:
    explicit BoundedMailbox(std::size_t outside_max) : outside_max_(outside_max) {}

    /// False: full, the message was not taken.
    bool offer(Message message) {
        bool first = false;
        {
            const std::lock_guard lock(mutex_);
            if (outside_ >= outside_max_) {
                ++refused_;
                return false;
            }
            ++outside_;
            first = waiting_.empty();
            waiting_.push_back(std::move(message));
        }
        if (first) wake_.notify_one();
        return true;
    }

    /// Never refused.
    void post(Message message) {
        bool first = false;
        {
            const std::lock_guard lock(mutex_);
            first = waiting_.empty();
            waiting_.push_back(std::move(message));
        }
        if (first) wake_.notify_one();
    }

    /// All that waits, oldest first; empty after `limit` without a message.
    std::vector<Message> take(Duration limit) {
        std::unique_lock lock(mutex_);
        const auto there = [this] { return !waiting_.empty(); };
        // Longer waits come around again: a duration near the maximum overflows inside wait_for().
        const Duration bounded = std::min(limit, Duration::hours(1));
        if (bounded.ns > 0) wake_.wait_for(lock, std::chrono::nanoseconds(bounded.ns), there);
        outside_ = 0;
        return std::exchange(waiting_, {});
    }

    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }
    std::size_t refused() const {
        const std::lock_guard lock(mutex_);
        return refused_;
    }

  private:
    const std::size_t outside_max_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<Message> waiting_;
    std::size_t outside_ = 0;
    std::size_t refused_ = 0;
};

} // namespace muster::io
