#pragma once
// How children ended, exactly attributed: by pidfd for one child, by pid for all of them.

#include "base/result.hpp"
#include "base/time.hpp"

#include <optional>
#include <sys/types.h>
#include <vector>

namespace muster::io {

/// At most one of the two is not zero.
struct ProcessExit {
    int exit_code = 0;
    int signal = 0;
};

/// Takes the child's status; nothing if it still runs after `limit` (zero: looks once), or if
/// somebody else has taken it.
std::optional<ProcessExit> reap(int pidfd, Duration limit);

struct ReapedChild {
    pid_t pid = 0;
    ProcessExit exit;
};

/// Takes every child that has ended, orphans that came to us as a sub-reaper too. For a process
/// whose children are all known to the caller's thread; do not mix with reap().
std::vector<ReapedChild> reap_all();

} // namespace muster::io
