#include "io/logs/log_reader.hpp"

#include "io/logs/log_file.hpp"
#include "io/logs/log_limits.hpp"
#include "io/posix/files.hpp"
#include "io/process/clear_group.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <sstream>

namespace muster::io {
namespace {

// A stored line is at most a piece, its mark and its stamp; invalid bytes grow threefold.
constexpr std::int64_t stored_line_max = 3 * static_cast<std::int64_t>(line_bytes_max) + 256;
constexpr int rotated_tries = 3;

std::set<std::int64_t> known_ranks(const std::string& folder) {
    std::set<std::int64_t> ranks;
    DIR* entries = ::opendir(folder.c_str());
    if (entries == nullptr) return ranks;
    while (const dirent* entry = ::readdir(entries)) {
        std::string_view name = entry->d_name;
        if (!name.starts_with("rank-") || !name.ends_with(".log")) continue;
        name.remove_prefix(5);
        std::int64_t rank = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), rank);
        if (parsed.ec == std::errc{} && *parsed.ptr == '.') ranks.insert(rank);
    }
    ::closedir(entries);
    return ranks;
}

bool being_written(const std::string& folder, std::int64_t rank) {
    const auto text = read_file(folder + "/" + rank_prefix(rank) + "open", 4096);
    if (!text) return false;
    std::istringstream words(*text);
    LauncherPid launcher;
    return words >> launcher.pid >> launcher.start_ticks && alive(launcher);
}

/// Bytes [from, from + bytes) of a segment; nothing where it was rotated away.
std::string read_part(const LogSegment& segment, std::int64_t from, std::int64_t bytes) {
    const UniqueFd fd(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    std::string text(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = ::pread(fd.get(), text.data(), text.size(), from - segment.from);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// Where to begin for a wish that may be negative, gone already, or beyond the end.
std::int64_t begin_of(const std::vector<LogSegment>& segments, std::int64_t wish) {
    const std::int64_t end = segments.back().from + segments.back().bytes;
    if (wish < 0) wish = std::max<std::int64_t>(0, end + wish);
    wish = std::min(wish, end);
    for (const auto& segment : segments) {
        if (wish < segment.from) return segment.from;
        if (wish < segment.from + segment.bytes) return wish;
    }
    return end;
}

/// The next start of a line at or after `from`: an asker may have named any byte.
std::int64_t line_start(const LogSegment& segment, std::int64_t from) {
    if (from == segment.from) return from;
    const std::string text = read_part(segment, from - 1, stored_line_max + 1);
    const auto end = text.find('\n');
    if (end == std::string::npos) return segment.from + segment.bytes;
    return from + static_cast<std::int64_t>(end);
}

/// The stamp of a stored line ("TIME ATTEMPT.GENERATION ..."); 0 where there is none.
std::int64_t stamp_of(std::string_view line) {
    std::int64_t stamp = 0;
    std::from_chars(line.data(), line.data() + line.size(), stamp);
    return stamp;
}

/// The end of a segment: enough of it to hold the context that a first error keeps.
std::string tail_of(const LogSegment& segment) {
    const std::int64_t bytes =
        std::min(segment.bytes, stored_line_max + 2 * static_cast<std::int64_t>(context_bytes));
    return read_part(segment, segment.from + segment.bytes - bytes, bytes);
}

std::int64_t last_stamp(std::string_view text) {
    if (text.size() < 2) return 0;
    const auto before = text.rfind('\n', text.size() - 2);
    return stamp_of(text.substr(before == std::string_view::npos ? 0 : before + 1));
}

/// Where the asker stood in front of a gap that rotation left, the chunk begins with the lines of
/// first errors from within the gap. They count for no offset.
void fill_gap(LogChunk& chunk, const std::string& folder, const LogPosition& position,
              const std::vector<LogSegment>& segments) {
    if (position.from < 0 || chunk.from <= position.from || chunk.text.empty()) return;
    const std::string errors = kept_errors(folder, position.rank);
    if (errors.empty()) return;
    std::string served; // what came before the gap
    for (const auto& segment : segments)
        if (segment.from + segment.bytes <= position.from && segment.bytes > 0)
            served = tail_of(segment);
    const std::int64_t after = last_stamp(served);
    const std::int64_t before = stamp_of(chunk.text);
    std::string kept;
    std::istringstream lines(errors);
    for (std::string line; std::getline(lines, line);) {
        line += '\n';
        const std::int64_t stamp = stamp_of(line);
        if (stamp < after || stamp > before) continue;
        const bool twice = served.find(line) != std::string::npos ||
                           (stamp == before && chunk.text.find(line) != std::string::npos);
        if (!twice) kept += line;
    }
    chunk.text = kept + chunk.text;
}

/// One look at the files; empty text with from < end: rotated meanwhile, look again.
LogChunk read_rank(const std::string& folder, const LogPosition& position, std::int64_t bytes_max) {
    LogChunk chunk;
    chunk.rank = position.rank;
    const bool open =
        being_written(folder, position.rank); // before the sizes: else a last line is lost
    const auto segments = log_segments(folder, position.rank);
    if (segments.empty()) {
        chunk.from = chunk.next = std::max<std::int64_t>(0, position.from);
        chunk.end_of_log = !open;
        return chunk;
    }
    const std::int64_t end = segments.back().from + segments.back().bytes;
    std::int64_t at = begin_of(segments, position.from);
    chunk.from = chunk.next = at;
    for (const auto& segment : segments) {
        const std::int64_t segment_end = segment.from + segment.bytes;
        if (at >= segment_end) continue;
        if (at < segment.from) {
            if (!chunk.text.empty()) break; // a gap: the next chunk begins behind it
            at = chunk.from = chunk.next = segment.from;
        }
        if (chunk.text.empty()) at = chunk.from = chunk.next = line_start(segment, at);
        const auto room = bytes_max - static_cast<std::int64_t>(chunk.text.size());
        if (room <= 0 && !chunk.text.empty()) break;
        const auto wanted = std::max(room, chunk.text.empty() ? stored_line_max : 0);
        std::string text = read_part(segment, at, std::min(wanted, segment_end - at));
        text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
        if (static_cast<std::int64_t>(text.size()) > room) {
            // Too little was asked for: one whole line at least, or it would never go on.
            auto cut =
                text.rfind('\n', static_cast<std::size_t>(std::max<std::int64_t>(room, 1)) - 1);
            if (cut == std::string::npos) cut = text.find('\n');
            text.resize(chunk.text.empty() ? cut + 1 : 0);
        }
        at += static_cast<std::int64_t>(text.size());
        chunk.text += text;
        chunk.next = at;
        if (at < segment_end) break;
    }
    chunk.end_of_log = !open && chunk.next >= end;
    fill_gap(chunk, folder, position, segments);
    return chunk;
}

} // namespace

LogAnswer read_logs(const std::string& node_dir, const LogRequest& request) {
    LogAnswer answer;
    answer.request = request.request;
    const std::string folder = node_dir + "/logs/" + to_text(request.workload);
    std::vector<LogPosition> positions = request.positions;
    if (positions.empty())
        for (const std::int64_t rank : known_ranks(folder))
            positions.push_back({.rank = rank, .node = {}, .from = 0});
    std::int64_t left = request.bytes_max > 0 ? std::min(request.bytes_max, log_answer_bytes_max)
                                              : log_answer_bytes_max;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        // An equal share of what is left: what one rank does not need, the next may use.
        const std::int64_t share = left / static_cast<std::int64_t>(positions.size() - i);
        LogChunk chunk = read_rank(folder, positions[i], share);
        for (int tries = 1; tries < rotated_tries && chunk.text.empty() && !chunk.end_of_log;
             ++tries)
            chunk = read_rank(folder, positions[i], share);
        left = std::max<std::int64_t>(0, left - static_cast<std::int64_t>(chunk.text.size()));
        answer.chunks.push_back(std::move(chunk));
    }
    return answer;
}

} // namespace muster::io
