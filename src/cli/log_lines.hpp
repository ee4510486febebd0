#pragma once
// Stored log lines (docs/logs.md) and their merge over ranks by time, in bounded memory: the caller
// asks only for the ranks that wants() names, so a rank's queue is never filled twice.

#include "model/orders.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

enum class LogSource { out, err, muster };

struct LogLine {
    std::int64_t rank = 0;
    Instant at;
    std::int64_t attempt = 0;
    std::int64_t generation = 0;
    LogSource source = LogSource::out;
    std::string text;
};

/// Absent for a line that is not in the stored form.
std::optional<LogLine> parse_log_line(std::int64_t rank, std::string_view line);

/// What a terminal would show of a line with carriage returns: the last rewrite.
std::string_view folded(std::string_view text);

/// "0,2-3" -> 0, 2, 3.
Result<std::vector<std::int64_t>> parse_ranks(std::string_view text);

/// A rank's log may lie on several nodes, one for each place where an attempt put it; each is a
/// source with offsets of its own. Until some node has shown a rank, it is asked for without a
/// node.
class LogMerge {
  public:
    /// The ranks are known from the start. `from` as in LogPosition.
    void add_rank(std::int64_t rank, std::int64_t from);
    /// What to ask for next: every source without lines in its queue. One that has ended is asked
    /// again, for its rank may be started again; the server says when the job's log is over.
    std::vector<LogPosition> wants() const;
    void take(const LogChunk& chunk);
    /// The answer to `asked` was taken whole: what it did not hold is not there now. A source that
    /// gave no chunk is silent, and nobody waits for it until it gives one again.
    void answered(const std::vector<LogPosition>& asked);
    /// From now on a source is read up to where its log ended when limit() was told of it, or when
    /// it was seen first; however much is written meanwhile.
    void limit_to_ends() { limited_ = true; }
    /// Where a log ends now: the answer to a position that is negative.
    void limit(const LogChunk& at_end);
    void unlimited();
    /// Lines that can be printed: none older can come from a source that still has some to read,
    /// silent ones left out.
    std::vector<LogLine> ready();
    /// The job was placed anew, maybe on other nodes: read from the start, drop what was seen.
    void start_over();
    /// Everything left, in order; after the last chunk.
    std::vector<LogLine> rest();
    /// True once everything that there is now was read and handed out, as far as nodes answer.
    bool caught_up() const;
    std::int64_t bytes_skipped() const { return bytes_skipped_; }

  private:
    struct Key {
        NodeName node;
        std::int64_t rank = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Source {
        std::int64_t next = 0;
        std::optional<std::int64_t> end{}; // nothing is read beyond
        bool caught_up = false;            // the last answer held nothing new
        bool silent = false;               // the last answer held no chunk of it
        bool fresh = false;                // taken since the last answered()
        std::deque<LogLine> lines;
    };
    struct Rank {
        std::int64_t from = 0;
        bool found = false; // some node has shown it
        bool heard = false; // it was asked for, and answered or not there
        Instant newest;     // of the lines taken so far
        Instant seen;       // lines up to here were taken before start_over()
    };
    std::optional<LogLine> pop_oldest();
    static bool at_end(const Source& source) {
        return source.caught_up || source.silent || (source.end && source.next >= *source.end);
    }

    std::map<std::int64_t, Rank> ranks_;
    std::map<Key, Source> sources_;
    std::map<Key, std::int64_t> ends_; // as limit() was told
    bool limited_ = false;
    std::int64_t bytes_skipped_ = 0; // older than what the node keeps
};

} // namespace muster::cli
