#pragma once
// spawn(): starts a program in a group, or says exactly why it could not.

#include "base/result.hpp"
#include "io/posix/fd.hpp"
#include "io/process/group.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace muster::io {

struct SpawnSpec {
    std::vector<std::string> argv;
    std::vector<std::string> env; // "NAME=value", the whole environment
    std::string cwd;
    int stdout_fd = -1; // -1: /dev/null; stdin always is
    int stderr_fd = -1;
    const ProcessGroup* group = nullptr; // none: the caller's
    bool die_with_parent = false;        // SIGKILL when the thread that called spawn() ends
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
Result<SpawnedProcess> spawn(const SpawnSpec& spec);

} // namespace muster::io
