#include "io/journal/state_lock.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>

namespace muster::io {

Result<StateLock> StateLock::acquire(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) {
        Error error = errno_error(errno, "open the lock file", path);
        error.hint = "check that the state directory is writable for this user, or choose another "
                     "with --state";
        return fail(std::move(error));
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return fail(errno_error(errno, "lock", path));
        char text[24] = {};
        const auto size = ::pread(fd.get(), text, sizeof text - 1, 0);
        std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
        pid.erase(pid.find_last_not_of(" \n") + 1);
        return fail(Code::failed_precondition,
                    "another server" + (pid.empty() ? "" : " (pid " + pid + ")") +
                        " already runs on this state: it holds " + path,
                    "stop that server first, or choose another directory with --state");
    }
    const std::string pid = std::to_string(::getpid()) + "\n";
    // The pid is for the message above; the lock holds without it (on a full disk, say).
    const bool written =
        ::ftruncate(fd.get(), 0) == 0 && ::pwrite(fd.get(), pid.data(), pid.size(), 0) > 0;
    static_cast<void>(written);
    return StateLock(std::move(fd));
}

} // namespace muster::io
