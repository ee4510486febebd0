#pragma once
// Follow: stays with one job until it is over or Ctrl-C comes. Up to three threads, each with its
// own connection: the job's state (held requests), its logs, the event stream. Ctrl-C ends the
// follow, never the job. The server may go away meanwhile: the follow waits for it and says so.

#include "cli/api.hpp"
#include "cli/log_reader.hpp"
#include "cli/screen.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace muster::cli {

inline constexpr Duration state_hold = Duration::millis(500); // how old the live line may be
inline constexpr Duration why_every = Duration::seconds(2);   // asked again while it waits
inline constexpr Duration logs_pace_min = Duration::millis(20);
inline constexpr Duration logs_pace_first = Duration::millis(40); // while the job is young
inline constexpr Duration logs_pace_max = Duration::millis(500);
inline constexpr Duration young_max = Duration::seconds(10);
inline constexpr Duration logs_after_end_max = Duration::seconds(10);
inline constexpr Duration events_after_end_max = Duration::seconds(2);

struct FollowOptions {
    CommonFlags common{};
    std::string job{}; // name or id
    bool live = false;
    bool logs = false;
    std::vector<std::int64_t> ranks{}; // of which to read logs; empty: all
    std::string grep{};
    std::int64_t tail = -1;
    Instant since{};
    bool times = false;
    std::optional<Sequence> events_after{}; // absent: no events
};

struct Followed {
    std::optional<WorkloadDetail> job; // as last seen
    int signal = 0;                    // not 0: interrupted
    std::optional<Error> error;        // given up
    bool logs_whole = true;            // false: over, and lines are missing
    bool over() const { return job && is_terminal(job->workload.phase); }
};

/// Blocks. Prints through `screen`.
Followed follow(const FollowOptions& options, const WorkloadDetail& start, Screen& screen);

/// Some lines could not be read, and what to do.
std::string missing_lines(const Terminal& terminal, const std::string& job);

/// What a job's end is for the caller's shell: its own code, at least 1 where it did not succeed.
int job_exit_code(const WorkloadView& job);

/// How the job ended, in a few lines: verdict, first cause with its last lines, where to read more.
std::vector<std::string> verdict_lines(const Terminal& terminal, const WorkloadDetail& detail);

} // namespace muster::cli
