#include "io/journal/record_file.hpp"

#include "io/posix/files.hpp"

#include <boost/crc.hpp>

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/stat.h>

namespace muster::io {
namespace {

constexpr std::string_view format_line = "muster-journal 1 ";
constexpr std::size_t file_journal_bytes_max = std::size_t{256} * 1024 * 1024;

std::uint32_t checksum(std::string_view text) {
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    return crc.checksum();
}

std::string header(const std::string& boot_id) { return std::string(format_line) + boot_id + "\n"; }

/// Writes at the file's end; nothing of it stays there after an error.
Status write_all(int fd, std::string_view bytes, std::int64_t at, const std::string& path) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                   at + static_cast<std::int64_t>(done));
        if (n > 0) {
            done += static_cast<std::size_t>(n);
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        Error error = errno_error(n == 0 ? ENOSPC : errno, "write", path);
        // A remnant that cannot be cut is a torn tail to the next reader.
        if (::ftruncate(fd, at) != 0) error.message += "; the torn end could not be cut off";
        return fail(std::move(error));
    }
    return ok();
}

struct Scan {
    std::vector<std::string> texts;
    std::size_t good = 0; // bytes up to the end of the last whole line
};

/// Lines behind the header. A broken line is the torn tail only if no whole one follows.
Result<Scan> scan(std::string_view text, std::size_t from, const std::string& path) {
    Scan found;
    found.good = from;
    std::string problem;
    std::size_t problem_at = 0;
    for (std::size_t at = from; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const bool whole_line = end != std::string_view::npos;
        auto record = whole_line ? record_text(text.substr(at, end - at))
                                 : Result<std::string_view>(fail(Code::data_loss, "is torn"));
        if (record && problem.empty()) {
            found.texts.emplace_back(*record);
            found.good = end + 1;
        } else if (record) {
            return fail(Code::data_loss,
                        "the journal " + path + " is broken at byte " + std::to_string(problem_at) +
                            ": a line " + problem,
                        "move the file away and start again: what it held is found by looking");
        } else if (problem.empty()) {
            problem = record.error().message;
            problem_at = at;
        }
        if (!whole_line) break;
        at = end + 1;
    }
    return found;
}

} // namespace

std::string record_line(std::string_view text) {
    char crc[16];
    std::snprintf(crc, sizeof crc, "%08x", static_cast<unsigned>(checksum(text)));
    return std::to_string(text.size()) + " " + crc + " " + std::string(text) + "\n";
}

Result<std::string_view> record_text(std::string_view line) {
    const auto wrong = [](const char* what) { return fail(Code::data_loss, what); };
    std::size_t length = 0;
    const char* end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data(), end, length);
    if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != ' ')
        return wrong("has no length");
    line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()) + 1);
    constexpr std::size_t crc_length = 8;
    if (line.size() < crc_length + 1 || line[crc_length] != ' ') return wrong("has no checksum");
    std::uint32_t crc = 0;
    const auto hex = std::from_chars(line.data(), line.data() + crc_length, crc, 16);
    if (hex.ec != std::errc{} || hex.ptr != line.data() + crc_length)
        return wrong("has no checksum");
    line.remove_prefix(crc_length + 1);
    if (line.size() != length) return wrong("has another length than it says");
    if (checksum(line) != crc) return wrong("does not match its checksum");
    return line;
}

Result<RecordFile::Opened> RecordFile::open(const std::string& path, const std::string& boot_id) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return fail(errno_error(errno, "open the journal", path));
    auto text = read_file(path, file_journal_bytes_max);
    if (!text) return fail(text.error());
    Opened opened{RecordFile(path, boot_id, std::move(fd)), {}, false, 0};
    const std::string first = header(boot_id);
    if (!text->starts_with(first)) {
        // Another boot's, or a first line that was torn: before any record in either case.
        opened.voided = !text->empty();
        if (opened.voided && !text->starts_with(format_line.substr(0, text->size())))
            return fail(Code::failed_precondition, path + " is not a journal of Muster",
                        "move it away, or choose another directory");
        if (auto status = opened.file.start_over(); !status) return fail(status.error());
        return opened;
    }
    auto found = scan(*text, first.size(), path);
    if (!found) return fail(found.error());
    opened.torn_bytes = static_cast<std::int64_t>(text->size() - found->good);
    opened.file.bytes_ = static_cast<std::int64_t>(found->good);
    opened.texts = std::move(found->texts);
    if (opened.torn_bytes != 0 && ::ftruncate(opened.file.fd_.get(), opened.file.bytes_) != 0)
        return fail(errno_error(errno, "cut the torn end of", path));
    return opened;
}

Status RecordFile::start_over() {
    if (::ftruncate(fd_.get(), 0) != 0) return fail(errno_error(errno, "empty", path_));
    const std::string first = header(boot_id_);
    if (auto status = write_all(fd_.get(), first, 0, path_); !status) return status;
    bytes_ = static_cast<std::int64_t>(first.size());
    return ok();
}

Status RecordFile::append(const std::vector<std::string>& texts) {
    std::string lines;
    for (const auto& text : texts) lines += record_line(text);
    if (auto status = write_all(fd_.get(), lines, bytes_, path_); !status) return status;
    bytes_ += static_cast<std::int64_t>(lines.size());
    return ok();
}

Status RecordFile::rewrite(const std::vector<std::string>& texts) {
    std::string content = header(boot_id_);
    for (const auto& text : texts) content += record_line(text);
    if (auto status = write_file_atomically(path_, content, 0600); !status) return status;
    UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) return fail(errno_error(errno, "open the journal", path_));
    fd_ = std::move(fd);
    bytes_ = static_cast<std::int64_t>(content.size());
    return ok();
}

} // namespace muster::io
