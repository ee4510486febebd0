#include "io/posix/reserved_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace muster::io {

Result<ReservedFile> ReservedFile::take(const std::string& path, std::size_t bytes) {
    const std::string name = path + ".reserved";
    UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return fail(errno_error(errno, "reserve room in", name));
    ReservedFile file(path, std::move(fd), bytes);
    const int error = ::posix_fallocate(file.fd_.get(), 0, static_cast<off_t>(bytes));
    if (error != 0) return fail(errno_error(error, "reserve room in", name)); // removes it
    return file;
}

ReservedFile::~ReservedFile() {
    if (fd_) ::unlink(temporary().c_str());
}

Status ReservedFile::write(std::string_view text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote =
            ::pwrite(fd_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return fail(errno_error(errno, "write", temporary()));
        done += static_cast<std::size_t>(wrote);
    }
    if (::ftruncate(fd_.get(), static_cast<off_t>(text.size())) != 0 ||
        ::rename(temporary().c_str(), path_.c_str()) != 0)
        return fail(errno_error(errno, "write", path_));
    fd_.reset();
    return ok();
}

} // namespace muster::io
