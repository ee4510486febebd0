#pragma once
// SystemClock: the one non-decreasing Instant of a process. It begins at max(wall, `not_before`),
// is carried by CLOCK_BOOTTIME (which nobody sets, and which counts while the machine sleeps), and
// comes nearer to the wall clock by at most `clock_slew_ppm`. So a wall clock that is set forward
// or back never shows as a jump: time-outs stay right within the slew, and order stays order.
//
// A jump of the wall clock is told once, and so is its end. Life: one per process. Thread-safe.

#include "runtime/ports.hpp"

#include <functional>
#include <mutex>
#include <optional>

namespace muster::io {

/// How fast an Instant may come nearer to the wall clock: 10 ms a second, so an hour takes about
/// four days. More would be felt in time-outs and in measured durations.
inline constexpr std::int64_t clock_slew_ppm = 10'000;
/// Nearer than this is as good as equal: between two readings a thread may have been held up.
inline constexpr Duration clock_slack = Duration::millis(2);
/// A change of the wall clock from here on is a jump; less is what time services do all the time.
inline constexpr Duration clock_jump_min = Duration::seconds(1);
/// Jumps are told at most this often; what comes sooner is added up.
inline constexpr Duration clock_tell_every = Duration::minutes(1);

/// The machine's clocks at one moment.
struct ClockReading {
    std::int64_t boottime_ns = 0;
    std::int64_t wall_ns = 0; // since the Unix epoch
};

struct ClockNews {
    enum class Kind {
        jumped,            // the wall clock was set, by `by`
        begins_after_wall, // `not_before` was later than the wall clock
        caught_up,         // this clock and the wall clock are one again
    };
    Kind kind = Kind::jumped;
    Duration by;
    Duration behind; // wall clock minus this clock; negative where this clock is ahead
};

/// Writes the news to the log: what happened, and what is done about it.
void log_clock_news(const ClockNews& news);

struct ClockOptions {
    Instant not_before;
    std::function<ClockReading()> read;         // empty: the machine's clocks
    std::function<void(const ClockNews&)> tell; // by the thread that reads; may not call the clock
};

class SystemClock final : public runtime::Clock {
  public:
    explicit SystemClock(ClockOptions options = {});

    Instant now() override;
    /// The Instant of a CLOCK_BOOTTIME reading in nanoseconds, for times taken by other processes.
    Instant from_boottime(std::int64_t boottime_ns) const;

    static std::int64_t boottime_ns();

  private:
    void advance(const ClockReading& reading);
    std::optional<ClockNews> news();

    const ClockOptions options_;
    mutable std::mutex mutex_;
    ClockReading last_;
    Instant now_;
    Duration behind_; // wall clock minus this clock
    Duration jumped_; // jumps that nobody was told of yet
    std::optional<ClockNews> pending_;
    bool apart_ = false; // a jump was told, its end was not
    Instant tell_from_;
};

} // namespace muster::io
