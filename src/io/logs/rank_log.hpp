#pragma once
// RankLog: everything that one rank prints, from bytes to bounded files. Lines are stamped, made
// valid UTF-8, rate-bounded, echoed to whoever listens, and the newest are remembered for exit
// records. Life: one per rank and launcher, over its generations. Thread-safe.

#include "io/logs/line_splitter.hpp"
#include "io/logs/log_file.hpp"
#include "model/ids.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::io {

enum class LogStream : char { out = 'o', err = 'e', muster = 'm' };

struct RankLogOptions {
    std::string folder; // <node dir>/logs/<workload id>; empty: nothing is stored
    std::int64_t rank = 0;
    AttemptNumber attempt = 0;
    /// Gets every kept line; must not block. May be empty.
    std::function<void(LogStream, std::string_view line, bool first_error)> echo;
};

/// What an exit record tells of a rank's output.
struct OutputEnd {
    std::vector<std::string> last_lines;
    std::string traceback;
};

class RankLog {
  public:
    explicit RankLog(RankLogOptions options);

    /// A new generation begins: what earlier ones printed is no part of its exit record.
    void begin(Generation generation);
    void feed(LogStream stream, std::string_view bytes, Instant now);
    void tick(Instant now);
    /// A line of Muster's own.
    void note(const std::string& text, Instant now);
    /// The rank has ended and its pipes were read empty.
    OutputEnd end(Instant now);

  private:
    void take(LogStream stream, std::string_view line, Instant now);
    void remember(std::string line);
    void watch_errors(std::string_view line, const std::string& stored);
    bool over_rate(std::size_t bytes, Instant now);
    void drop(LogStream stream, std::string_view bytes);
    void leave_flood(Instant now);
    void flush();
    std::string stored_line(LogStream stream, std::string_view line, Instant now) const;

    std::mutex mutex_;
    RankLogOptions options_;
    std::unique_ptr<LogFile> file_;
    Generation generation_ = 0;
    LineSplitter out_;
    LineSplitter err_;
    std::string pending_; // stored lines not written yet

    std::deque<std::string> recent_; // newest lines of this generation
    std::size_t recent_bytes_ = 0;
    std::deque<std::string> before_; // stored lines before a first error
    std::size_t before_bytes_ = 0;
    bool error_seen_ = false;          // in this generation
    std::size_t after_left_ = 0;       // lines of context still to keep
    std::size_t after_bytes_left_ = 0; // and bytes

    std::int64_t tokens_ = 0; // bytes that may be kept now
    Instant tokens_at_;
    bool flooding_ = false;
    std::int64_t dropped_lines_ = 0;
    std::int64_t dropped_bytes_ = 0;
    std::string flood_out_; // newest dropped bytes of each stream
    std::string flood_err_;
    std::int64_t lost_lines_ = 0; // that the disk did not take
};

} // namespace muster::io
