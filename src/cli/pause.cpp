#include "cli/pause.hpp"

#include <chrono>

namespace muster::cli {
bool Pauses::pause_for(Duration duration) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(duration.ns), [this] { return stopped_; });
    return !stopped_;
}

void Pauses::stop() {
    {
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
}

Instant wall_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

} // namespace muster::cli
