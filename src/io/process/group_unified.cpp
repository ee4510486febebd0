#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>

namespace muster::io {
namespace {

bool populated(int events) {
    char text[256] = {};
    const ssize_t got = ::pread(events, text, sizeof text - 1, 0);
    // A removed group answers ENODEV: nothing is in it.
    return got > 0 && std::string_view(text).find("populated 1") != std::string_view::npos;
}

} // namespace

std::vector<pid_t> UnifiedGroup::members() const { return cgroup_pids(address().path); }

void UnifiedGroup::signal_all(int signal) const {
    const auto is_ours = [&](pid_t pid) { return in_cgroup(pid, address().path, ""); };
    for (const pid_t pid : members())
        if (signal_verified(pid, signal, is_ours)) signal_verified(pid, SIGCONT, is_ours);
}

std::vector<LeftoverProcess> UnifiedGroup::kill_and_verify(Duration limit) const {
    const Deadline deadline(limit);
    const UniqueFd events(
        ::open((address().path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    if (!events && errno == ENOENT) return {}; // never made, or removed: nothing can be inside
    while (populated(events.get())) {
        // The kernel kills the whole subtree, forks in flight included.
        (void)write_control(address().path + "/cgroup.kill", "1");
        if (!populated(events.get())) break;
        if (deadline.over()) return leftover();
        pollfd waiter{events.get(), POLLPRI, 0};
        ::poll(&waiter, 1, std::min(deadline.left_ms(), 50));
    }
    return {};
}

Status UnifiedGroup::remove() const { return remove_cgroup(address().path); }

Result<ProcessGroup::Entry> UnifiedGroup::entry() const {
    Entry entry;
    entry.clone_into = UniqueFd(::open(address().path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!entry.clone_into) return fail(errno_error(errno, "open the cgroup", address().path));
    return entry;
}

} // namespace muster::io
