#include "io/posix/files.hpp"

#include "io/posix/fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace muster::io {

std::string errno_text(int error) {
    char buffer[256] = {};
    // The GNU form: returns the text, which may or may not lie in the buffer.
    return strerror_r(error, buffer, sizeof buffer);
}

Error errno_error(int error, std::string_view what, std::string_view path) {
    Code code = Code::internal;
    std::string hint;
    switch (error) {
    case ENOENT:
    case ENOTDIR: code = Code::not_found; break;
    case EACCES:
    case EPERM:
    case EROFS:
        code = Code::permission_denied;
        hint = "check the owner and the mode of the path, and that it is not mounted read-only";
        break;
    case ENOSPC:
    case EDQUOT:
        code = Code::resource_exhausted;
        hint = "free some space";
        break;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM: code = Code::resource_exhausted; break;
    case EEXIST: code = Code::already_exists; break;
    default: break;
    }
    return Error{code,
                 "cannot " + std::string(what) + " " + std::string(path) + ": " + errno_text(error),
                 std::move(hint),
                 {}};
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail(errno_error(errno, "read", path));
    std::string text;
    char buffer[16 * 1024];
    for (;;) {
        const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
        if (got < 0) {
            if (errno == EINTR) continue;
            return fail(errno_error(errno, "read", path));
        }
        if (got == 0) return text;
        if (text.size() + static_cast<std::size_t>(got) > bytes_max)
            return fail(Code::resource_exhausted,
                        path + " is larger than " + std::to_string(bytes_max) + " bytes");
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

Status write_file_atomically(const std::string& path, std::string_view text, unsigned mode) {
    const std::string temporary = path + ".tmp." + std::to_string(::getpid());
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                             static_cast<mode_t>(mode)));
    if (!fd) return fail(errno_error(errno, "write", temporary));
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = ::write(fd.get(), text.data() + done, text.size() - done);
        if (wrote < 0) {
            if (errno == EINTR) continue;
            const int error = errno;
            ::unlink(temporary.c_str());
            return fail(errno_error(error, "write", temporary));
        }
        done += static_cast<std::size_t>(wrote);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(temporary.c_str());
        return fail(errno_error(error, "write", path));
    }
    return ok();
}

Status make_directories(const std::string& path, unsigned mode) {
    for (std::size_t end = 1; end <= path.size(); ++end) {
        if (end != path.size() && path[end] != '/') continue;
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), static_cast<mode_t>(mode)) == 0 || errno == EEXIST) continue;
        // A read-only or foreign parent answers with another error although the folder is there.
        const int error = errno;
        struct stat info{};
        if (::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
        return fail(errno_error(error, "make the folder", part));
    }
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return fail(errno_error(errno, "open the folder", path));
    if (!S_ISDIR(info.st_mode)) return fail(errno_error(ENOTDIR, "use as a folder", path));
    return ok();
}

} // namespace muster::io
