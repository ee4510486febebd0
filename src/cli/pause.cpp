#include "cli/pause.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace muster::cli {
namespace {

struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopped = false;
};

// One for the process, as the signal that stops it is one for the process.
Gate& gate() {
    static Gate instance;
    return instance;
}

void set_stopped(bool stopped) {
    {
        const std::scoped_lock lock(gate().mutex);
        gate().stopped = stopped;
    }
    gate().changed.notify_all();
}

} // namespace

bool pause_for(Duration duration) {
    std::unique_lock lock(gate().mutex);
    gate().changed.wait_for(lock, std::chrono::nanoseconds(duration.ns),
                            [] { return gate().stopped; });
    return !gate().stopped;
}

void stop_pauses() { set_stopped(true); }
void allow_pauses() { set_stopped(false); }

Instant wall_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

} // namespace muster::cli
