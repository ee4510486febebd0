#include "io/process/reap.hpp"

#include "io/process/group_backends.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>

namespace muster::io {
namespace {

// From linux/wait.h; glibc 2.36 has it as an enumerator.
constexpr idtype_t by_pidfd = P_PIDFD;

ProcessExit exit_of(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return {info.si_status, 0};
    return {0, info.si_status};
}

} // namespace

std::optional<ProcessExit> reap(int pidfd, Duration limit) {
    const Deadline deadline(limit);
    for (;;) {
        siginfo_t info{};
        if (::waitid(by_pidfd, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0) {
            if (errno == EINTR) continue;
            return std::nullopt;
        }
        if (info.si_pid != 0) return exit_of(info);
        if (deadline.over()) return std::nullopt;
        pollfd waiter{pidfd, POLLIN, 0};
        ::poll(&waiter, 1, deadline.left_ms());
    }
}

std::vector<ReapedChild> reap_all() {
    std::vector<ReapedChild> children;
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0) {
            if (errno == EINTR) continue;
            return children; // ECHILD
        }
        if (info.si_pid == 0) return children;
        children.push_back({info.si_pid, exit_of(info)});
    }
}

} // namespace muster::io
