#pragma once
// Pauses: waits between two tries that end at once when they are stopped, as by Ctrl-C.

#include "base/time.hpp"

#include <condition_variable>
#include <mutex>

namespace muster::cli {

class Pauses {
  public:
    /// False once they are stopped.
    bool pause_for(Duration duration);
    /// From any thread, not from a signal handler. For good.
    void stop();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false;
};

/// The machine's wall clock, for ages and `--since`.
Instant wall_now();

} // namespace muster::cli
