// cgroup v1: there is no kill for a whole group. Freezing stops forks, so that what is listed while
// frozen is everything; it dies on the thaw.

#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>

namespace muster::io {
namespace {

constexpr Duration freeze_limit = Duration::millis(200); // a task in state D does not freeze
constexpr const char* freezer = "freezer";

bool frozen(const std::string& path) {
    const auto state = read_file(path + "/freezer.state", 64);
    return state && state->starts_with("FROZEN");
}

} // namespace

std::vector<pid_t> FreezerGroup::members() const {
    std::vector<pid_t> alive;
    for (const pid_t pid : cgroup_pids(address().path)) {
        const auto stat = read_proc_stat(pid);
        if (stat && !stat->dead()) alive.push_back(pid);
    }
    return alive;
}

void FreezerGroup::signal_all(int signal) const {
    const auto is_ours = [&](pid_t pid) { return in_cgroup(pid, address().path, freezer); };
    for (const pid_t pid : members())
        if (signal_verified(pid, signal, is_ours)) signal_verified(pid, SIGCONT, is_ours);
}

std::vector<LeftoverProcess> FreezerGroup::kill_and_verify(Duration limit) const {
    const Deadline deadline(limit);
    const std::string& path = address().path;
    const auto is_ours = [&](pid_t pid) { return in_cgroup(pid, path, freezer); };
    while (!members().empty()) {
        (void)write_control(path + "/freezer.state", "FROZEN");
        for (const Deadline freezing(freeze_limit); !frozen(path) && !freezing.over();)
            pause_between_looks();
        for (const pid_t pid : members()) signal_verified(pid, SIGKILL, is_ours);
        (void)write_control(path + "/freezer.state", "THAWED");
        for (const Deadline dying(freeze_limit); !members().empty() && !dying.over();)
            pause_between_looks();
        if (deadline.over()) break;
    }
    return leftover();
}

Status FreezerGroup::remove() const { return remove_cgroup(address().path); }

Result<ProcessGroup::Entry> FreezerGroup::entry() const {
    Entry entry;
    entry.procs =
        UniqueFd(::open((address().path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!entry.procs) return fail(errno_error(errno, "open the cgroup", address().path));
    return entry;
}

} // namespace muster::io
