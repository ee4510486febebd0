#pragma once
// spawn(): starts a program in a group, or says exactly why it could not.

#include "base/result.hpp"
#include "base/time.hpp"
#include "io/posix/fd.hpp"
#include "io/process/group.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace muster::io {

/// A working directory or program on a file system that does not answer holds up the exec; the
/// caller's thread has other things to do. Below the time after which peers miss a launcher.
inline constexpr Duration exec_limit = Duration::seconds(10);

struct SpawnSpec {
    std::vector<std::string> argv;
    std::vector<std::string> env; // "NAME=value", the whole environment
    std::string cwd;
    int stdout_fd = -1; // -1: /dev/null; stdin always is
    int stderr_fd = -1;
    const ProcessGroup* group = nullptr; // none: the caller's
    bool die_with_parent = false;        // SIGKILL when the thread that called spawn() ends
    Duration limit = exec_limit;         // then the child is killed
};

struct SpawnedProcess {
    pid_t pid = 0;
    UniqueFd pidfd;
    std::int64_t start_ticks = 0;
};

/// The child has a session of its own, default signal dispositions, an empty mask, a neutral OOM
/// score, no descriptor but 0 to 2, and is in its group before its first instruction. Returns after
/// the exec has succeeded or failed; argv[0] is looked up in the PATH of `env`. Errors: not_found,
/// permission_denied, invalid_argument (no program), resource_exhausted; no child is left then.
/// deadline_exceeded: no exec within the limit; the child got SIGKILL, which waits with it in the
/// kernel: end the group before the next use of what it holds.
Result<SpawnedProcess> spawn(const SpawnSpec& spec);

} // namespace muster::io
