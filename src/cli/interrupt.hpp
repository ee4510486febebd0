#pragma once
// Interrupt: Ctrl-C as a value. While one lives, SIGINT, SIGTERM and SIGHUP do not end the process;
// the main thread waits here for them or for the work to be done.
// Life: made on the main thread before any other thread starts.

#include "base/time.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <pthread.h>

namespace muster::cli {

class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Blocks the main thread: the signal that came, or 0 once done() was called. A second signal
    /// then ends the process: whoever types Ctrl-C twice does not want to wait.
    int wait();
    /// From any thread, once.
    void done();

  private:
    sigset_t signals_{};
    sigset_t before_{};
    pthread_t owner_;
    std::atomic<bool> done_{false};
};

/// Does `work` on a thread of its own until it is done or a signal comes; then `cancel` shall end
/// it. The signal, or 0.
int until_interrupted(const std::function<void()>& work, const std::function<void()>& cancel);

} // namespace muster::cli
