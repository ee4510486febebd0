#pragma once
// What /proc says of processes. Every reading may be out of date when it arrives: whoever acts on a
// pid opens a pidfd first and looks again (signal_verified).

#include "io/posix/fd.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace muster::io {

struct ProcStat {
    pid_t pid = 0;
    std::string name; // comm, at most 15 bytes
    char state = '?'; // R, S, D, T, Z ...
    pid_t parent = 0;
    pid_t session = 0;
    std::int64_t start_ticks = 0; // field 22: with the pid it names one process for good

    bool dead() const { return state == 'Z' || state == 'X' || state == 'x'; }
};

/// Of a text as /proc/PID/stat has it.
std::optional<ProcStat> parse_proc_stat(std::string_view text);
std::optional<ProcStat> read_proc_stat(pid_t pid);
/// Every process there is, zombies too.
std::vector<ProcStat> all_processes();

/// The value of an environment variable as it was at the process's exec; nothing if it is not there
/// or must not be read.
std::optional<std::string> read_proc_environment(pid_t pid, const std::string& name);
std::optional<std::string> environment_value_in(std::string_view environ, const std::string& name);

/// The path of a process in a cgroup hierarchy: `controller` is "freezer", or empty for version 2.
std::optional<std::string> read_proc_cgroup(pid_t pid, const std::string& controller);
std::optional<std::string> cgroup_path_in(std::string_view text, const std::string& controller);
/// Where a hierarchy is mounted, and which part of it: a container may see the subtree `root` only,
/// while /proc still gives paths from the top of the hierarchy.
struct CgroupMount {
    std::string root; // "" for the whole hierarchy
    std::string point;

    /// The folder here of a path as /proc/PID/cgroup gives it; nothing where it is not visible.
    std::optional<std::string> folder_of(const std::string& path) const;
};
/// From the text of /proc/PID/mountinfo; `controller` as in read_proc_cgroup.
std::optional<CgroupMount> cgroup_mount(std::string_view mountinfo, const std::string& controller);

/// A handle on the process that has the pid now, or an empty one.
UniqueFd open_pidfd(pid_t pid);

/// Signals the process only if `is_ours` holds after its pidfd was opened, so that a reused pid is
/// never hit. False: it is gone or not ours.
bool signal_verified(pid_t pid, int signal, const std::function<bool(pid_t)>& is_ours);

} // namespace muster::io
