// RankLog, its files, and read_logs() over them.

#include "io/logs/log_limits.hpp"
#include "io/logs/log_reader.hpp"
#include "io/logs/rank_log.hpp"
#include "io/posix/files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::io {
namespace {

constexpr Instant start{Duration::seconds(1'800'000'000).ns};

class LogFiles : public testing::Test {
  protected:
    LogFiles() {
        char name[] = "/tmp/muster-logs-XXXXXX";
        node_dir_ = ::mkdtemp(name);
        workload_ = WorkloadId::make(start, 1, 2);
        folder_ = node_dir_ + "/logs/" + to_text(workload_);
    }
    ~LogFiles() override { (void)!std::system(("rm -rf " + node_dir_).c_str()); }

    std::unique_ptr<RankLog> log(std::int64_t rank, AttemptNumber attempt = 1) const {
        RankLogOptions options;
        options.folder = folder_;
        options.rank = rank;
        options.attempt = attempt;
        auto made = std::make_unique<RankLog>(std::move(options));
        made->begin(1);
        return made;
    }
    LogAnswer read(std::vector<LogPosition> positions, std::int64_t bytes_max = 0) const {
        return read_logs(node_dir_, {7, workload_, std::move(positions), bytes_max});
    }
    /// Everything there is of a rank, by as many requests as it takes.
    std::string read_all(std::int64_t rank, std::int64_t from = 0,
                         std::int64_t bytes_max = 0) const {
        std::string text;
        for (;;) {
            const auto chunk =
                read({LogPosition{.rank = rank, .node = {}, .from = from}}, bytes_max).chunks.at(0);
            // More only where a gap was filled with kept errors.
            EXPECT_LE(chunk.next - chunk.from, static_cast<std::int64_t>(chunk.text.size()));
            if (chunk.text.empty()) return text;
            text += chunk.text;
            from = chunk.next;
        }
    }

    std::string node_dir_;
    std::string folder_;
    WorkloadId workload_;
};

std::string stamp(const std::string& rest) { return std::to_string(start.ns) + " " + rest + "\n"; }

TEST_F(LogFiles, StampsLinesAndServesThemByOffset) {
    auto rank = log(3);
    rank->feed(LogStream::out, "hello\nwor", start);
    rank->feed(LogStream::err, "oops\n", start);
    rank->note("a notice", start);
    EXPECT_EQ(read_all(3), stamp("1.1 o hello") + stamp("1.1 e oops") + stamp("1.1 m a notice"));
    const auto chunk = read({LogPosition{.rank = 3, .node = {}, .from = 0}}).chunks.at(0);
    EXPECT_FALSE(chunk.end_of_log) << "it is still being written";
    rank->end(start);
    EXPECT_EQ(read_all(3, chunk.next), stamp("1.1 o wor"));
    rank.reset();
    EXPECT_TRUE(read({LogPosition{.rank = 3, .node = {}, .from = 0}}).chunks.at(0).end_of_log);
}

TEST_F(LogFiles, ServesEveryKnownRankWhenNoneIsNamed) {
    auto one = log(1);
    auto eleven = log(11);
    one->feed(LogStream::out, "a\n", start);
    eleven->feed(LogStream::out, "b\n", start);
    const auto answer = read({});
    ASSERT_EQ(answer.chunks.size(), 2U);
    EXPECT_EQ(answer.request, 7);
    EXPECT_EQ(answer.chunks[0].rank, 1);
    EXPECT_EQ(answer.chunks[1].rank, 11);
    EXPECT_NE(answer.chunks[1].text.find(" b\n"), std::string::npos);
    EXPECT_TRUE(read({LogPosition{.rank = 99, .node = {}, .from = 0}}).chunks.at(0).text.empty());
}

TEST_F(LogFiles, ContinuesTheFilesOfAnEarlierAttempt) {
    log(0, 1)->feed(LogStream::out, "first\n", start);
    log(0, 2)->feed(LogStream::out, "second\n", start);
    EXPECT_EQ(read_all(0), stamp("1.1 o first") + stamp("2.1 o second"));
}

TEST_F(LogFiles, ServesFromBeforeTheEndInWholeLines) {
    auto rank = log(0);
    for (int i = 0; i < 100; ++i)
        rank->feed(LogStream::out, "line " + std::to_string(i) + "\n", start);
    const auto all = read_all(0);
    const auto chunk = read({LogPosition{.rank = 0, .node = {}, .from = -100}}).chunks.at(0);
    EXPECT_LE(chunk.text.size(), 100U);
    EXPECT_TRUE(chunk.text.starts_with(std::to_string(start.ns))) << "a line from its begin";
    EXPECT_TRUE(all.ends_with(chunk.text));
    EXPECT_EQ(read({LogPosition{.rank = 0, .node = {}, .from = -1'000'000}}).chunks.at(0).from, 0);
    EXPECT_EQ(read({LogPosition{.rank = 0, .node = {}, .from = 1'000'000'000}}).chunks.at(0).from,
              static_cast<std::int64_t>(all.size()));
    // A request too small for one line still goes on.
    EXPECT_EQ(read_all(0, 0, 1), all);
    EXPECT_EQ(read_all(0, 0, 333), all);
}

TEST_F(LogFiles, RotationKeepsTheHeadAndTheNewestAndMovesTheReaderForward) {
    auto rank = log(0);
    const std::string line(8000, 'x');
    constexpr int lines = 3'000; // 24 MB
    Instant now = start;
    for (int i = 0; i < lines; ++i) {
        now = now + Duration::millis(8); // 1 MB a second: under the rate
        rank->feed(LogStream::out, std::to_string(i) + " " + line + "\n", now);
    }
    std::int64_t stored = 0;
    for (const auto& segment : log_segments(folder_, 0)) stored += segment.bytes;
    EXPECT_LE(stored, head_bytes + 2 * segment_bytes + 64 * 1024);
    const auto first = read({LogPosition{.rank = 0, .node = {}, .from = 0}}).chunks.at(0);
    EXPECT_NE(first.text.find(" o 0 xxx"), std::string::npos) << "the head is kept";
    // A reader who was in what is gone is moved on, and gets whole lines to the very end.
    const auto moved = read({LogPosition{.rank = 0, .node = {}, .from = 5'000'000}}).chunks.at(0);
    EXPECT_GT(moved.from, 5'000'000);
    EXPECT_TRUE(moved.text.starts_with(std::to_string(start.ns).substr(0, 6)));
    const auto tail = read_all(0, 5'000'000);
    EXPECT_NE(tail.find(" o " + std::to_string(lines - 1) + " xxx"), std::string::npos);
    EXPECT_TRUE(tail.ends_with("x\n"));
}

TEST_F(LogFiles, TheFirstErrorOutlivesTheRotation) {
    auto rank = log(0);
    Instant now = start;
    for (int i = 0; i < 2000; ++i) rank->feed(LogStream::out, std::string(1000, 'a') + "\n", now);
    rank->feed(LogStream::err,
               "before it\nTraceback (most recent call last):\n  File x\nValueError: root cause\n",
               now);
    for (int i = 0; i < 1'700; ++i) {
        now = now + Duration::millis(8);
        rank->feed(LogStream::out, std::string(8000, 'b') + "\n", now);
    }
    for (const auto& segment : log_segments(folder_, 0)) {
        const auto text = read_file(segment.path);
        ASSERT_TRUE(text.has_value());
        EXPECT_EQ(text->find("root cause"), std::string::npos) << "the test must rotate it away";
    }
    // A reader that walks over the gap is given it all the same, once.
    const std::string all = read_all(0);
    const auto at = all.find("ValueError: root cause");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(all.find("ValueError: root cause", at + 1), std::string::npos);
    const auto kept = read_file(folder_ + "/rank-0.error.log");
    ASSERT_TRUE(kept.has_value());
    EXPECT_NE(kept->find("ValueError: root cause"), std::string::npos);
    EXPECT_NE(kept->find("before it"), std::string::npos);
    EXPECT_LT(kept->size(), 300'000U);
}

TEST_F(LogFiles, TheEarliestAndTheNewestFirstErrorsAreKept) {
    constexpr int generations = 60;
    Instant now = start;
    const auto fail = [&](RankLog& rank, const std::string& error) {
        now = now + Duration::seconds(1);
        const std::string line = std::string(600, 'x') + "\n";
        for (int i = 0; i < 100; ++i) rank.feed(LogStream::out, line, now);
        rank.feed(LogStream::err, "ValueError: " + error + "\n", now);
        for (int i = 0; i < 100; ++i) rank.feed(LogStream::out, line, now);
    };
    {
        auto rank = log(0);
        for (int g = 1; g <= generations; ++g) {
            rank->begin(g);
            fail(*rank, "generation " + std::to_string(g) + " failed");
        }
    }
    const auto has = [&](const std::string& text) {
        return kept_errors(folder_, 0).find("ValueError: " + text) != std::string::npos;
    };
    EXPECT_TRUE(has("generation 1 failed"));
    EXPECT_TRUE(has("generation 2 failed"));
    EXPECT_FALSE(has("generation 30 failed"));
    EXPECT_TRUE(has("generation 59 failed"));
    EXPECT_TRUE(has("generation 60 failed"));
    for (AttemptNumber attempt = 2; attempt < 12; ++attempt) // goes on where the last one ended
        fail(*log(0, attempt), "attempt " + std::to_string(attempt) + " failed");
    EXPECT_TRUE(has("generation 1 failed"));
    EXPECT_TRUE(has("attempt 11 failed"));
    EXPECT_FALSE(has("generation 60 failed"));
    EXPECT_LE(kept_errors(folder_, 0).size(),
              static_cast<std::size_t>(error_head_bytes + 2 * error_newest_bytes));
}

TEST_F(LogFiles, AFloodIsDroppedCountedAndItsEndIsKept) {
    auto rank = log(0);
    const std::string piece = [] {
        std::string text;
        while (text.size() < 256 * 1024)
            text += "flooding line of a rank " + std::string(2000, '-') + "\n";
        return text;
    }();
    // 200 MB within one second.
    for (int i = 0; i < 800; ++i) rank->feed(LogStream::out, piece, start + Duration::millis(i));
    rank->feed(LogStream::err, "Traceback (most recent call last):\n  File x\nOSError: the end\n",
               start + Duration::millis(800));
    const auto end = rank->end(start + Duration::millis(801));
    EXPECT_NE(end.traceback.find("OSError: the end"), std::string::npos);
    const auto text = read_all(0);
    EXPECT_LE(text.size(), static_cast<std::size_t>(burst_bytes) * 3);
    EXPECT_NE(text.find("dropped: the rank printed more than"), std::string::npos);
    EXPECT_NE(text.find("OSError: the end"), std::string::npos);
}

TEST_F(LogFiles, ReplacesWhatIsNotUtf8) {
    auto rank = log(0);
    rank->feed(LogStream::out, "bad \xff\xfe bytes\n", start);
    EXPECT_EQ(read_all(0), stamp("1.1 o bad \xEF\xBF\xBD\xEF\xBF\xBD bytes"));
}

TEST_F(LogFiles, AFullDiskLosesLinesAndSaysSoLater) {
    ASSERT_TRUE(make_directories(folder_).has_value());
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=256k") != 0)
        GTEST_SKIP() << "cannot mount a small disk: " << errno_text(errno);
    {
        auto rank = log(0);
        const std::string line(1000, 'x');
        for (int i = 0; i < 500; ++i) rank->feed(LogStream::out, line + "\n", start);
        const auto filled = read_all(0);
        EXPECT_LT(filled.size(), 260U * 1024);
        EXPECT_TRUE(filled.ends_with("x\n")) << "whole lines only";
        EXPECT_EQ(::truncate(log_segments(folder_, 0).at(0).path.c_str(), 0), 0); // room again
    }
    {
        auto rank = log(0);
        for (int i = 0; i < 500; ++i)
            rank->feed(LogStream::out, std::string(1000, 'y') + "\n", start);
        const auto segment = log_segments(folder_, 0).at(0);
        // Somebody makes room while the rank goes on.
        ASSERT_EQ(::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=4m"), 0);
        rank->feed(LogStream::out, "room again\n", start);
        const auto text = read_all(0);
        EXPECT_NE(text.find("lines lost: cannot write the log"), std::string::npos);
        EXPECT_NE(text.find("room again"), std::string::npos);
        EXPECT_EQ(segment.from, 0);
    }
    EXPECT_EQ(::umount(folder_.c_str()), 0);
}

TEST_F(LogFiles, AFolderThatCannotBeMadeStopsNothing) {
    RankLogOptions options;
    options.folder = "/proc/no/such/folder";
    int echoed = 0;
    options.echo = [&](LogStream, std::string_view, bool) { ++echoed; };
    RankLog rank(std::move(options));
    rank.begin(1);
    rank.feed(LogStream::out, "still here\n", start);
    EXPECT_EQ(echoed, 1);
    EXPECT_EQ(rank.end(start).last_lines, std::vector<std::string>{"still here"});
}

TEST_F(LogFiles, TheExitRecordIsOfTheNewestGenerationOnly) {
    auto rank = log(0);
    rank->feed(LogStream::err, "Traceback (most recent call last):\nValueError: old\n", start);
    EXPECT_NE(rank->end(start).traceback, "");
    rank->begin(2);
    rank->feed(LogStream::out, "fresh\n", start);
    const auto end = rank->end(start);
    EXPECT_EQ(end.traceback, "");
    EXPECT_EQ(end.last_lines, std::vector<std::string>{"fresh"});
}

} // namespace
} // namespace muster::io
