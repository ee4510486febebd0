#pragma once
// Screen: what a follow prints. Output of the job goes to standard output, Muster's own words and
// the one live line to standard error; on a terminal the live line stays below everything else.
// Without a terminal it becomes a plain line now and then. Thread-safe.

#include "base/time.hpp"
#include "cli/terminal.hpp"

#include <mutex>
#include <string>
#include <string_view>

namespace muster::cli {

inline constexpr Duration plain_progress_every = Duration::seconds(30);

class Screen {
  public:
    explicit Screen(bool no_color);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    /// A line of the job, to standard output.
    void job_line(std::string_view text);
    /// A line of Muster, to standard error.
    void own_line(std::string_view text);
    /// The newest state of the live line. `milestone`: worth a plain line without a terminal.
    void live(std::string text, bool milestone, Instant now);
    /// Takes the live line away. `typed`: Ctrl-C has left its mark on the line, too.
    void end_live(bool typed = false);
    void flush();

    const Terminal& out() const { return out_; }
    const Terminal& err() const { return err_; }
    /// The size of the terminal now.
    Terminal err_now() const;

  private:
    void erase();
    void draw();

    Terminal out_;
    Terminal err_;
    bool no_color_ = false;
    std::mutex mutex_;
    std::string live_;
    bool drawn_ = false;
    Instant plain_at_;
    std::string plain_last_;
};

} // namespace muster::cli
