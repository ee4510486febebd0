#include "app/lock_file.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>

namespace muster::app {
namespace {

std::string pid_in(const std::string& path) {
    const auto text = io::read_file(path, 64);
    const std::string pid = text ? text->substr(0, text->find_first_of(" \n")) : std::string{};
    return pid.empty() ? "unknown" : pid;
}

} // namespace

Result<LockOutcome> lock_file(const std::string& path) {
    io::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return fail(io::errno_error(errno, "open", path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return fail(io::errno_error(errno, "lock", path));
        return LockOutcome{io::UniqueFd{}, pid_in(path)};
    }
    const std::string text = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return fail(io::errno_error(errno, "write", path));
    return LockOutcome{std::move(fd), {}};
}

std::string lock_owner(const std::string& path) {
    const io::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return {};
    return errno == EWOULDBLOCK ? pid_in(path) : std::string{};
}

} // namespace muster::app
