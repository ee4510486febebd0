#include "io/posix/clock.hpp"

#include "base/text.hpp"
#include "io/posix/log.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

namespace muster::io {
namespace {

constexpr int read_tries = 3; // a thread that is held up between two clocks reads them again

std::int64_t read_clock(clockid_t id) {
    timespec value{};
    ::clock_gettime(id, &value);
    return static_cast<std::int64_t>(value.tv_sec) * 1'000'000'000 + value.tv_nsec;
}

ClockReading read_machine() {
    ClockReading reading;
    for (int i = 0; i < read_tries; ++i) {
        const std::int64_t before = read_clock(CLOCK_BOOTTIME);
        reading.wall_ns = read_clock(CLOCK_REALTIME);
        reading.boottime_ns = read_clock(CLOCK_BOOTTIME);
        if (Duration{reading.boottime_ns - before} < clock_slack / 2) break;
    }
    return reading;
}

Duration size_of(Duration duration) { return {duration.ns < 0 ? -duration.ns : duration.ns}; }

std::string signed_text(Duration duration) {
    return (duration.ns < 0 ? "-" : "+") +
           to_text(Duration::millis(size_of(duration).whole_millis()));
}

} // namespace

void log_clock_news(const ClockNews& news) {
    const std::string pace =
        " by " + to_text(Duration::seconds(1) * clock_slew_ppm / 1'000'000) + " a second";
    switch (news.kind) {
    case ClockNews::Kind::jumped:
        return log_event("clock_jumped",
                         {{"by", signed_text(news.by)},
                          {"wall_minus_ours", signed_text(news.behind)},
                          {"note", "the wall clock was set; our time goes on without a jump and "
                                   "comes nearer to it" +
                                       pace + ". No time-out fires because of it"}});
    case ClockNews::Kind::begins_after_wall:
        return log_event("clock_behind_records",
                         {{"by", signed_text(news.by)},
                          {"note", "the wall clock is earlier than the newest record; our time "
                                   "begins at that record and waits for the wall clock" +
                                       pace + ". Is the date of this machine right?"}});
    case ClockNews::Kind::caught_up:
        return log_event("clock_caught_up",
                         {{"note", "our time and the wall clock are one again"}});
    }
}

SystemClock::SystemClock(ClockOptions options) : options_(std::move(options)) {
    last_ = options_.read ? options_.read() : read_machine();
    now_ = std::max(Instant{last_.wall_ns}, options_.not_before);
    behind_ = Instant{last_.wall_ns} - now_;
    if (behind_ <= Duration{} - clock_jump_min)
        pending_ = ClockNews{ClockNews::Kind::begins_after_wall, behind_, behind_};
}

Instant SystemClock::now() {
    std::optional<ClockNews> told;
    Instant now;
    {
        const std::lock_guard lock(mutex_);
        advance(options_.read ? options_.read() : read_machine());
        told = news();
        now = now_;
    }
    if (told && options_.tell) options_.tell(*told);
    return now;
}

void SystemClock::advance(const ClockReading& reading) {
    const Duration passed{reading.boottime_ns - last_.boottime_ns};
    const Duration wall_passed{reading.wall_ns - last_.wall_ns};
    // Only what counts on: a CLOCK_BOOTTIME that stood still or went back moves nothing.
    const Duration elapsed = std::max(passed, Duration{});
    const Instant carried = now_ + elapsed;
    Duration slew = Instant{reading.wall_ns} - carried;
    if (size_of(slew) < clock_slack) slew = {};
    const Duration most{elapsed.ns / 1'000'000 * clock_slew_ppm +
                        elapsed.ns % 1'000'000 * clock_slew_ppm / 1'000'000};
    now_ = carried + std::clamp(slew, Duration{} - most, most);
    behind_ = Instant{reading.wall_ns} - now_;
    last_ = reading;
    const Duration jump = wall_passed - passed;
    if (size_of(jump) >= clock_jump_min) jumped_ += jump;
}

std::optional<ClockNews> SystemClock::news() {
    if (size_of(jumped_) >= clock_jump_min && now_ >= tell_from_) {
        tell_from_ = now_ + clock_tell_every;
        apart_ = true;
        pending_.reset();
        return ClockNews{ClockNews::Kind::jumped, std::exchange(jumped_, {}), behind_};
    }
    if (pending_) {
        apart_ = true;
        return std::exchange(pending_, std::nullopt);
    }
    if (!apart_ || size_of(behind_) >= clock_slack) return std::nullopt;
    apart_ = false;
    jumped_ = {};
    return ClockNews{ClockNews::Kind::caught_up, {}, behind_};
}

Instant SystemClock::from_boottime(std::int64_t boottime_ns) const {
    const std::lock_guard lock(mutex_);
    return now_ + Duration{boottime_ns - last_.boottime_ns};
}

std::int64_t SystemClock::boottime_ns() { return read_clock(CLOCK_BOOTTIME); }

} // namespace muster::io
