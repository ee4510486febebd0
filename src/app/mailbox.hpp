#pragma once
// Mailbox: events from many threads to one loop, with a descriptor that the loop can wait on.
// Life: as long as its loop. push() is thread-safe; the rest belongs to the loop's thread.

#include "base/require.hpp"
#include "io/posix/fd.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <sys/eventfd.h>

namespace muster::app {

template <class Event>
class Mailbox {
  public:
    Mailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        REQUIRE(wake_, "no descriptor for a mailbox");
    }

    void push(Event event) {
        {
            const std::lock_guard lock(mutex_);
            events_.push_back(std::move(event));
        }
        const std::uint64_t one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
    }

    std::optional<Event> pop() {
        const std::lock_guard lock(mutex_);
        if (events_.empty()) return std::nullopt;
        Event event = std::move(events_.front());
        events_.pop_front();
        return event;
    }

    /// Readable while there may be events; clear() before popping until empty.
    int fd() const { return wake_.get(); }
    void clear() {
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
    }

  private:
    io::UniqueFd wake_;
    std::mutex mutex_;
    std::deque<Event> events_;
};

} // namespace muster::app
