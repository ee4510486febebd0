#pragma once
// Children: the processes that a supervisor keeps running. One that ends is started again, at once
// the first time, later when it ends again and again.
//
// Life: as long as the supervisor; children die with the thread that started them. One thread.

#include "base/result.hpp"
#include "io/posix/clock.hpp"
#include "io/posix/fd.hpp"
#include "io/process/reap.hpp"

#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace muster::app {

inline constexpr Duration restart_first = Duration::millis(100); // doubles up to
inline constexpr Duration restart_max = Duration::seconds(5);
inline constexpr Duration settled_after = Duration::seconds(30); // then it counts as a first end
inline constexpr std::int64_t child_log_bytes_max =
    16 * 1024 * 1024; // then a new file, one is kept

struct ChildSpec {
    std::string name; // "server", "agent n1"
    std::vector<std::string> argv;
    std::string log; // file for its output
};

struct ChildEnd {
    std::string name;
    std::string how;       // "killed by signal 9"
    std::string last_line; // of what it wrote this time
    std::string log;
};

class Children {
  public:
    Status start(ChildSpec spec);
    /// For its next start.
    void change_arguments(const std::string& name, std::vector<std::string> argv);
    /// For poll(), beside the caller's own descriptors.
    std::vector<pollfd> descriptors() const;
    /// Children that have ended since the last call; each is started again when its time comes.
    std::vector<ChildEnd> take_ends();
    /// Starts those whose time has come; how many.
    std::size_t restart_due();
    Instant next_restart() const;
    /// SIGTERM to children whose name begins so, SIGKILL after `limit`; they are not started again.
    void stop(const std::string& prefix, Duration limit);
    bool runs(const std::string& name) const;

  private:
    struct Child {
        ChildSpec spec;
        io::UniqueFd pidfd; // empty: waits for restart_at
        Instant started_at;
        Instant restart_at = Instant::never();
        Duration delay;
        std::int64_t log_from = 0; // bytes in its log when it was started
    };
    Status launch(Child& child);
    ChildEnd end_of(Child& child, const std::optional<io::ProcessExit>& exit) const;

    mutable io::SystemClock clock_;
    std::map<std::string, Child> children_;
};

} // namespace muster::app
