#pragma once
// LaunchTerminal: what a standalone launcher shows. One thread writes, so that a terminal or a pipe
// that takes nothing never stops the launcher; what does not fit is counted and told.
//
// Life: as long as the launcher; finish() at its end writes what is left. Thread-safe.

#include "base/time.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace muster::app {

class LaunchTerminal {
  public:
    LaunchTerminal();
    ~LaunchTerminal();

    /// A line of a rank, prefixed "[rank] "; the first error of a generation stands out.
    void rank_line(std::int64_t rank, bool to_stderr, std::string_view line, bool first_error);
    /// A line of Muster's own, to stderr.
    void say(std::string_view line);

    /// Writes what is left. If that takes longer than farewell_limit, because nobody reads, ends
    /// the process with the code at once.
    void finish(int exit_code);

    static constexpr std::size_t queue_bytes_max = 4U * 1024 * 1024;
    static constexpr Duration farewell_limit = Duration::seconds(10);

  private:
    void push(std::string line, bool to_stderr);
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::string out_;
    std::string err_;
    std::int64_t dropped_ = 0;
    bool stopping_ = false;
    bool idle_ = true;
    bool color_ = false;
    std::thread thread_;
};

} // namespace muster::app
