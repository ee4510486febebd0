#include "io/logs/log_file.hpp"

#include "io/logs/log_limits.hpp"
#include "io/posix/files.hpp"
#include "io/process/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace muster::io {
namespace {

constexpr std::size_t offset_digits = 20;
constexpr const char* earliest_errors = "error.log";
constexpr const char* older_errors = "error.old.log";
constexpr const char* newest_errors = "error.new.log";

std::string segment_path(const std::string& folder, std::int64_t rank, std::int64_t from) {
    std::string digits = std::to_string(from);
    digits.insert(0, offset_digits - digits.size(), '0');
    return folder + "/" + rank_prefix(rank) + digits + ".log";
}

/// All or nothing: a part is taken back, so that the file holds whole lines only.
int append_whole(int fd, std::string_view text, std::int64_t at) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t wrote = ::pwrite(fd, text.data() + done, text.size() - done,
                                       at + static_cast<std::int64_t>(done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            const int error = wrote < 0 ? errno : EIO;
            (void)!::ftruncate(fd, at);
            return error;
        }
        done += static_cast<std::size_t>(wrote);
    }
    return 0;
}

} // namespace

std::string rank_prefix(std::int64_t rank) { return "rank-" + std::to_string(rank) + "."; }

std::vector<LogSegment> log_segments(const std::string& folder, std::int64_t rank) {
    std::vector<LogSegment> segments;
    DIR* entries = ::opendir(folder.c_str());
    if (entries == nullptr) return segments;
    const std::string prefix = rank_prefix(rank);
    while (const dirent* entry = ::readdir(entries)) {
        const std::string_view name = entry->d_name;
        if (name.size() != prefix.size() + offset_digits + 4 || !name.starts_with(prefix) ||
            !name.ends_with(".log"))
            continue;
        LogSegment segment;
        const char* digits = name.data() + prefix.size();
        const auto parsed = std::from_chars(digits, digits + offset_digits, segment.from);
        if (parsed.ec != std::errc{} || parsed.ptr != digits + offset_digits) continue;
        segment.path = folder + "/" + std::string(name);
        struct stat info{};
        if (::stat(segment.path.c_str(), &info) != 0) continue; // rotated away just now
        segment.bytes = info.st_size;
        segments.push_back(std::move(segment));
    }
    ::closedir(entries);
    std::sort(segments.begin(), segments.end(),
              [](const LogSegment& a, const LogSegment& b) { return a.from < b.from; });
    return segments;
}

LogFile::LogFile(std::string folder, std::int64_t rank) : folder_(std::move(folder)), rank_(rank) {
    if (const auto made = make_directories(folder_); !made) trouble_ = made.error().message;
    const auto segments = log_segments(folder_, rank_);
    open_segment(segments.empty() ? 0 : segments.back().from);
    find_errors();
    if (const auto self = read_proc_stat(::getpid()))
        (void)write_file_atomically(folder_ + "/" + rank_prefix(rank_) + "open",
                                    std::to_string(self->pid) + " " +
                                        std::to_string(self->start_ticks) + "\n");
}

LogFile::~LogFile() { ::unlink((folder_ + "/" + rank_prefix(rank_) + "open").c_str()); }

bool LogFile::open_segment(std::int64_t from) {
    const std::string path = segment_path(folder_, rank_, from);
    fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    from_ = from;
    bytes_ = 0;
    struct stat info{};
    if (!fd_ || ::fstat(fd_.get(), &info) != 0) {
        trouble_ = errno_error(errno, "write the log", path).message;
        fd_.reset();
        return false;
    }
    bytes_ = info.st_size;
    return true;
}

bool LogFile::rotate_if_full() {
    if (bytes_ < (from_ == 0 ? head_bytes : segment_bytes)) return true;
    if (!open_segment(from_ + bytes_)) return false;
    const auto segments = log_segments(folder_, rank_);
    // The first is the head; of the others the newest stay.
    for (std::size_t i = 1; i + tail_segments < segments.size(); ++i)
        ::unlink(segments[i].path.c_str());
    return true;
}

bool LogFile::append(std::string_view lines) {
    if (!fd_ && !open_segment(from_)) return false;
    if (!rotate_if_full()) return false;
    const int error = append_whole(fd_.get(), lines, bytes_);
    if (error != 0) {
        trouble_ = errno_error(error, "write the log", segment_path(folder_, rank_, from_)).message;
        return false;
    }
    bytes_ += static_cast<std::int64_t>(lines.size());
    trouble_.clear();
    return true;
}

std::string LogFile::error_path(const char* which) const {
    return folder_ + "/" + rank_prefix(rank_) + which;
}

/// An earlier attempt's files are continued.
void LogFile::find_errors() {
    struct stat info{};
    if (::stat(error_path(earliest_errors).c_str(), &info) == 0) error_bytes_ = info.st_size;
    past_head_ = ::stat(error_path(older_errors).c_str(), &info) == 0;
    if (::stat(error_path(newest_errors).c_str(), &info) != 0) return;
    past_head_ = true;
    new_error_bytes_ = info.st_size;
}

bool LogFile::append_to(const std::string& path, std::string_view lines,
                        std::int64_t& bytes) const {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!fd || append_whole(fd.get(), lines, bytes) != 0) return false;
    bytes += static_cast<std::int64_t>(lines.size());
    return true;
}

void LogFile::append_error(std::string_view lines) {
    const auto size = static_cast<std::int64_t>(lines.size());
    if (!past_head_ && error_bytes_ + size <= error_head_bytes) {
        append_to(error_path(earliest_errors), lines, error_bytes_);
        return;
    }
    past_head_ = true;
    if (new_error_bytes_ + size > error_newest_bytes) {
        if (::rename(error_path(newest_errors).c_str(), error_path(older_errors).c_str()) != 0 &&
            errno != ENOENT)
            return;
        new_error_bytes_ = 0;
    }
    append_to(error_path(newest_errors), lines, new_error_bytes_);
}

std::string kept_errors(const std::string& folder, std::int64_t rank) {
    std::string all;
    for (const char* which : {earliest_errors, older_errors, newest_errors})
        if (const auto text = read_file(folder + "/" + rank_prefix(rank) + which)) all += *text;
    return all;
}

} // namespace muster::io
