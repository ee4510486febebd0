#include "app/launch.hpp"

#include "app/launcher.hpp"
#include "io/posix/files.hpp"
#include "io/process/clear_group.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr int exit_usage = 2;

int refuse(const Error& error, int code) {
    std::fprintf(stderr, "muster launch: %s\n", to_text(error).c_str());
    return code;
}

/// A second launcher of the same attempt would start every rank twice.
Result<io::UniqueFd> claim_attempt(const std::string& attempt_dir) {
    const std::string path = attempt_dir + "/launcher.lock";
    io::UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!lock) return fail(io::errno_error(errno, "open", path));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        return fail(Code::already_exists, "another launcher runs the attempt in " + attempt_dir);
    if (auto wrote = io::write_launcher_pid(attempt_dir); !wrote) return fail(wrote.error());
    return lock;
}

/// From here on what the launcher says goes to its log.
Status open_launcher_log(const std::string& attempt_dir) {
    const std::string path = attempt_dir + "/launcher.log";
    const io::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!fd || ::dup2(fd.get(), STDERR_FILENO) < 0 || ::dup2(fd.get(), STDOUT_FILENO) < 0)
        return fail(io::errno_error(errno, "write", path));
    return ok();
}

int run_managed(const std::string& attempt_dir) {
    const auto lock = claim_attempt(attempt_dir);
    if (!lock) return refuse(lock.error(), EXIT_FAILURE);
    if (const auto log = open_launcher_log(attempt_dir); !log)
        return refuse(log.error(), EXIT_FAILURE);
    io::SystemClock clock({.not_before = {}, .read = {}, .tell = io::log_clock_news});
    auto setup = managed_setup(attempt_dir);
    if (!setup) return refuse(setup.error(), EXIT_FAILURE);
    return Launcher(std::move(*setup), clock).run();
}

} // namespace

int run_launch(const cli::LaunchFlags& flags) {
    if (!flags.attempt_dir.empty()) return run_managed(flags.attempt_dir);
    io::SystemClock clock({.not_before = {}, .read = {}, .tell = io::log_clock_news});
    auto setup = standalone_setup(flags, clock.now());
    if (!setup) return refuse(setup.error(), exit_usage);
    return Launcher(std::move(*setup), clock).run();
}

} // namespace muster::app
