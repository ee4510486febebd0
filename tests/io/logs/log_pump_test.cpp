#include "io/logs/log_pump.hpp"

#include "io/posix/clock.hpp"

#include <condition_variable>
#include <fcntl.h>
#include <gtest/gtest.h>

namespace muster::io {
namespace {

/// Lines as they are echoed, with a way to wait for one.
class Echoed {
  public:
    void take(std::string_view line) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(line);
        changed_.notify_all();
    }
    bool wait_for(const std::string& line) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
            return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
        });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> lines_;
};

struct Piped {
    LogPump::Pipes reads;
    UniqueFd out;
    UniqueFd err;
    Piped() {
        int ends[2] = {};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        reads.out = UniqueFd(ends[0]);
        out = UniqueFd(ends[1]);
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        reads.err = UniqueFd(ends[0]);
        err = UniqueFd(ends[1]);
    }
    static void write(const UniqueFd& fd, std::string_view text) {
        EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
};

TEST(LogPump, ReadsPipesAndDrainsOnDemand) {
    SystemClock clock;
    Echoed echoed;
    RankLogOptions options;
    options.echo = [&](LogStream, std::string_view line, bool) { echoed.take(line); };
    RankLog log(std::move(options));
    log.begin(1);
    Piped pipes;
    LogPump pump(clock);
    pump.watch(log, std::move(pipes.reads));
    Piped::write(pipes.out, "first\n");
    EXPECT_TRUE(echoed.wait_for("first"));
    Piped::write(pipes.err, "Traceback (most recent call last):\nKeyError: 'x'");
    const auto end = pump.drain(log);
    EXPECT_EQ(end.last_lines.back(), "KeyError: 'x'");
    EXPECT_NE(end.traceback, "");
    // What is left of the rank may print on, also after its record was closed.
    Piped::write(pipes.out, "a straggler\n");
    EXPECT_TRUE(echoed.wait_for("a straggler"));
}

} // namespace
} // namespace muster::io
