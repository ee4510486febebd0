#pragma once
// LogReader: reads a job's log through the server, round by round, and hands on merged lines.

#include "cli/api.hpp"
#include "cli/log_lines.hpp"
#include "cli/terminal.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::cli {

inline constexpr std::size_t ranks_per_round_max = 128;
inline constexpr std::int64_t round_bytes_max = 512 * 1024;
inline constexpr std::int64_t tail_line_bytes = 256; // guessed, to know how far to look back
inline constexpr std::int64_t tail_bytes_max = 4 * 1024 * 1024; // per rank
inline constexpr std::int64_t tail_bytes_min = 16 * 1024;

struct LogQuery {
    std::string job;
    std::vector<std::int64_t> ranks;
    std::int64_t tail = -1; // lines over all ranks; negative: all
    Instant since;
    bool follow = false; // else: up to where the logs end at the first round
};

class LogReader {
  public:
    using Sink = std::function<void(const LogLine&)>;
    using Notice = std::function<void(const std::string&)>;

    LogReader(Api& api, LogQuery query, Sink sink, Notice notice);

    /// One request. True if it brought something new.
    Result<bool> round();
    /// The job is over and everything was read.
    bool finished() const { return finished_; }
    /// Everything there is now was read, as far as nodes answer.
    bool caught_up() const { return merge_.caught_up(); }
    /// Some node could not be asked, and its lines are missing. A follow reads them once it
    /// answers.
    bool incomplete() const { return query_.follow ? !errors_.empty() : had_errors_; }
    /// The job was placed anew.
    void start_over();
    /// Hands on what is held back; no more rounds follow.
    void close();

  private:
    std::string target_of(const std::vector<LogPosition>& positions) const;
    Status find_ends();
    void end_tail();
    void hand_on(std::vector<LogLine> lines);
    void tell_errors(const JobLogs& logs);

    Api& api_;
    LogQuery query_;
    Sink sink_;
    Notice notice_;
    LogMerge merge_;
    std::size_t next_batch_ = 0;
    bool finished_ = false;
    bool ends_known_ = false;
    bool in_tail_ = false; // still collecting the last lines
    std::deque<LogLine> tail_;
    std::vector<std::string> errors_; // of the last answer
    bool had_errors_ = false;
    bool told_skipped_ = false;
};

/// Prints merged lines with their ranks; a generation's first error and Muster's notices stand out:
/// by colour, and without colours as "[3!]" and "muster:". A notice that every rank's log holds is
/// shown once.
class LogPrinter {
  public:
    struct Look {
        Terminal terminal;
        int rank_digits = 1;
        bool times = false;
    };
    explicit LogPrinter(Look look) : look_(std::move(look)) {}
    /// Absent for a notice that was shown already.
    std::optional<std::string> print(const LogLine& line);

  private:
    struct Shown {
        std::int64_t attempt = -1;
        std::int64_t generation = -1;
        bool error = false;
        std::set<std::string> notices;
    };
    Look look_;
    Shown shown_; // of the newest generation
};

} // namespace muster::cli
