#pragma once
// RecordFile: lines in a file, each with its length and checksum, behind a first line that names
// the format and the boot of the machine. No fsync: it survives the process, not the machine.
//
//     muster-journal 1 <boot id>
//     <bytes of text> <crc32 in hex> <text>
//
// Life: as long as its journal. One thread.

#include "base/result.hpp"
#include "io/posix/fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::io {

/// The stored form of a text, with its line break.
std::string record_line(std::string_view text);
/// The text of a stored line (without line break); an error says what is wrong with it.
Result<std::string_view> record_text(std::string_view line);

class RecordFile {
  public:
    struct Opened;
    /// Texts of this boot in their order. A torn last line is cut off; a broken line before whole
    /// ones is data_loss. A file of another boot is emptied.
    static Result<Opened> open(const std::string& path, const std::string& boot_id);

    /// All lines or none: a short write is taken back.
    Status append(const std::vector<std::string>& texts);
    /// Replaces the whole file at once.
    Status rewrite(const std::vector<std::string>& texts);
    std::int64_t bytes() const { return bytes_; }

  private:
    RecordFile(std::string path, std::string boot_id, UniqueFd fd)
        : path_(std::move(path)), boot_id_(std::move(boot_id)), fd_(std::move(fd)) {}
    Status start_over();

    std::string path_;
    std::string boot_id_;
    UniqueFd fd_;
    std::int64_t bytes_ = 0;
};

struct RecordFile::Opened {
    RecordFile file;
    std::vector<std::string> texts;
    bool voided = false;         // there was a file of another boot
    std::int64_t torn_bytes = 0; // cut off at the end
};

} // namespace muster::io
