#include "app/down.hpp"

#include "app/agent_launchers.hpp"
#include "app/lock_file.hpp"
#include "app/up.hpp"
#include "io/posix/clock.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/proc.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr Duration leave_limit = Duration::seconds(20); // for launchers to end their ranks
constexpr Duration end_limit = Duration::seconds(5);    // for processes to obey SIGKILL
constexpr Duration down_limit = Duration::seconds(90);  // for a supervisor to end everything

struct RunningLauncher {
    std::string attempt_dir;
    io::UniqueFd pidfd;
};

/// Folders of attempts on this machine whose node has no agent of somebody else's.
std::vector<std::string> attempt_dirs(const std::string& state) {
    std::vector<std::string> dirs;
    std::error_code error;
    for (fs::directory_iterator node(state + "/nodes", error), end; !error && node != end;
         node.increment(error)) {
        const std::string path = node->path().string();
        if (!lock_owner(path + "/agent.lock").empty()) continue;
        std::error_code none;
        for (fs::directory_iterator at(path + "/attempts", none); !none && at != end;
             at.increment(none))
            dirs.push_back(at->path().string());
    }
    return dirs;
}

} // namespace

EndedJobs end_jobs(const std::string& state) {
    EndedJobs ended;
    std::vector<RunningLauncher> running;
    const auto dirs = attempt_dirs(state);
    for (const auto& dir : dirs) {
        const auto launcher = io::read_launcher_pid(dir);
        if (!launcher) continue;
        io::UniqueFd pidfd = io::open_pidfd(launcher->pid);
        if (!pidfd || !io::alive(*launcher)) continue;
        ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0);
        running.push_back({dir, std::move(pidfd)});
    }
    io::SystemClock clock;
    const Instant deadline = clock.now() + leave_limit;
    for (const auto& launcher : running) {
        pollfd wait{launcher.pidfd.get(), POLLIN, 0};
        const Duration left = std::max(deadline - clock.now(), Duration{});
        ::poll(&wait, 1, static_cast<int>(left.whole_millis()));
        ended.leftover += clear_attempt(launcher.attempt_dir, end_limit);
    }
    // Groups whose launcher died before.
    for (const auto& dir : dirs)
        ended.leftover += static_cast<std::int64_t>(io::clear_group(dir, end_limit).size());
    ended.launchers = static_cast<std::int64_t>(running.size());
    return ended;
}

Status run_down(const DownOptions& options) {
    std::error_code error;
    const std::string state = fs::absolute(options.state, error).lexically_normal().string();
    const std::string owner = lock_owner(state + "/up.pid");
    if (owner.empty()) {
        const auto ended = end_jobs(state);
        std::printf("no cluster runs on %s", state.c_str());
        if (ended.launchers > 0)
            std::printf("; ended %lld launchers that were left",
                        static_cast<long long>(ended.launchers));
        std::printf("\n");
        return ok();
    }
    const auto pid = static_cast<pid_t>(std::strtol(owner.c_str(), nullptr, 10));
    const io::UniqueFd pidfd = pid > 1 ? io::open_pidfd(pid) : io::UniqueFd{};
    if (!pidfd || lock_owner(state + "/up.pid") != owner)
        return fail(Code::unavailable, "the cluster on " + state + " is ending already",
                    "run muster down again in a moment");
    if (::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0) != 0)
        return fail(Code::permission_denied,
                    "process " + owner + " of the cluster on " + state + " may not be signalled",
                    "run muster down as the user who ran muster up");
    pollfd wait{pidfd.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(down_limit.whole_millis())) != 1)
        return fail(Code::deadline_exceeded,
                    "the cluster on " + state + " has not ended after " +
                        std::to_string(down_limit.ns / 1'000'000'000) + " s (process " + owner +
                        ")",
                    "look into " + state + "/up.log; run muster down again");
    std::printf("the cluster on %s has ended\n", state.c_str());
    return ok();
}

} // namespace muster::app
