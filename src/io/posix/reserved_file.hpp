#pragma once
// ReservedFile: a file that can still be written when the disk is full. Its room is taken before
// its content is known, under a name of its own; write() fills it in place and gives it its name,
// so that a reader sees it whole or not at all. No fsync: it survives the process, not the machine.
//
// Life: take() to write(); one that is not written is removed. Used by one thread.

#include "io/posix/fd.hpp"
#include "io/posix/files.hpp"

namespace muster::io {

class ReservedFile {
  public:
    /// Takes `bytes` beside `path`. Where there is no room the error says so.
    static Result<ReservedFile> take(const std::string& path, std::size_t bytes);
    ReservedFile(ReservedFile&&) = default;
    ReservedFile& operator=(ReservedFile&&) = default;
    ~ReservedFile();

    /// Text up to bytes() needs no room; more is tried. After an error it may be called again.
    Status write(std::string_view text);
    std::size_t bytes() const { return bytes_; }

  private:
    ReservedFile(std::string path, UniqueFd fd, std::size_t bytes)
        : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}
    std::string temporary() const { return path_ + ".reserved"; }

    std::string path_;
    UniqueFd fd_;
    std::size_t bytes_ = 0;
};

} // namespace muster::io
