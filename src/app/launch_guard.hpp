#pragma once
// LaunchGuard: a small process beside a standalone launcher that ends what the launcher leaves
// behind when it is killed. It waits for the end of a pipe that the launcher holds; where the
// launcher did not say that it is done, it sends SIGKILL to the launcher's whole group, and gives
// the group and the progress pages back. (A managed launcher needs none: its agent does this.)
//
// It has a process group of its own, so that a signal to the launcher's group spares it. What it
// can find is what the group's backend can find (io/process/group.hpp). Life: as long as the
// launcher. Made before the first thread, since it is a fork.

#include "io/posix/fd.hpp"
#include "io/process/group.hpp"

#include <string>

namespace muster::app {

class LaunchGuard {
  public:
    /// Without a process to spare the launcher goes on without a guard.
    LaunchGuard();
    LaunchGuard(const LaunchGuard&) = delete;
    LaunchGuard& operator=(const LaunchGuard&) = delete;
    ~LaunchGuard() { dismiss(); }

    /// What to end; once, before the first rank starts.
    void watch(const io::GroupAddress& group, const std::string& pages);
    /// Nothing is left to guard. Returns when the guard has gone. Idempotent.
    void dismiss();

  private:
    io::UniqueFd pipe_;
    io::UniqueFd process_;
};

} // namespace muster::app
