#pragma once
// LogFile: the files of one rank's log on one node. Named by the offset of their first byte among
// all bytes ever written, so that a reader needs no index:
//
//     rank-3.00000000000000000000.log   the head, kept
//     rank-3.00000000000007340032.log   tail segments, the newest two are kept
//     rank-3.error.log                  the context of the earliest first errors, kept
//     rank-3.error.new.log              of the newest; when it is full it becomes
//     rank-3.error.old.log              and takes that one's place
//     rank-3.open                       while a launcher writes: "PID START_TICKS"
//
// A full disk loses lines, which are counted and told later; it never stops the rank.
// Life: one per rank and launcher; an earlier attempt's files are continued. Used under RankLog's
// lock.

#include "base/result.hpp"
#include "io/posix/fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::io {

struct LogSegment {
    std::int64_t from = 0; // offset of the first byte
    std::int64_t bytes = 0;
    std::string path;
};
/// Oldest first; empty if the rank never wrote here.
std::vector<LogSegment> log_segments(const std::string& folder, std::int64_t rank);
std::string rank_prefix(std::int64_t rank);
/// The kept contexts of first errors, oldest first, as far as they can be read.
std::string kept_errors(const std::string& folder, std::int64_t rank);

class LogFile {
  public:
    LogFile(std::string folder, std::int64_t rank);
    ~LogFile();
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    /// Whole stored lines. False: nothing was written (disk full, read-only).
    bool append(std::string_view lines);
    /// To the kept files of first errors: the earliest and the newest ones stay.
    void append_error(std::string_view lines);
    /// Why the last append failed; empty after a good one.
    const std::string& trouble() const { return trouble_; }

  private:
    bool open_segment(std::int64_t from);
    bool rotate_if_full();
    std::string error_path(const char* which) const;
    void find_errors();
    bool append_to(const std::string& path, std::string_view lines, std::int64_t& bytes) const;

    std::string folder_;
    std::int64_t rank_ = 0;
    UniqueFd fd_;
    std::int64_t from_ = 0;
    std::int64_t bytes_ = 0;           // of the open segment
    std::int64_t error_bytes_ = 0;     // of the earliest
    std::int64_t new_error_bytes_ = 0; // of the newest
    bool past_head_ = false;           // later ones never go before earlier ones
    std::string trouble_;
};

} // namespace muster::io
