#include "io/logs/line_splitter.hpp"

#include "io/logs/log_limits.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace muster::io {
namespace {

constexpr Instant at(std::int64_t ms) { return {Duration::seconds(1000).ns + ms * 1'000'000}; }

struct Splitting {
    LineSplitter splitter;
    std::vector<std::string> lines;
    LineSplitter::Take take = [this](std::string_view line) { lines.emplace_back(line); };
    void feed(std::string_view bytes, std::int64_t ms = 0) { splitter.feed(bytes, at(ms), take); }
};

using Lines = std::vector<std::string>;

TEST(LineSplitter, JoinsPiecesAndKeepsEmptyLines) {
    Splitting s;
    s.feed("one\ntw");
    s.feed("o\n\nthree");
    EXPECT_EQ(s.lines, (Lines{"one", "two", ""}));
    s.splitter.finish(s.take);
    EXPECT_EQ(s.lines.back(), "three");
    s.splitter.finish(s.take);
    EXPECT_EQ(s.lines.size(), 4U);
}

TEST(LineSplitter, TakesCarriageReturnAndNewlineAsOneEnd) {
    Splitting s;
    s.feed("one\r");
    s.feed("\ntwo\r\n\r\n");
    EXPECT_EQ(s.lines, (Lines{"one", "two", ""}));
}

TEST(LineSplitter, FoldsAProgressBarToOneStateASecond) {
    Splitting s;
    for (int i = 0; i <= 300; ++i) s.feed("\r" + std::to_string(i) + "%", i * 10);
    s.feed("\n", 3010);
    // At most one a second over three seconds, and the last state.
    EXPECT_LE(s.lines.size(), 5U);
    EXPECT_GE(s.lines.size(), 3U);
    EXPECT_EQ(s.lines.back(), "300%");
}

TEST(LineSplitter, GivesAWaitingBarOutInTime) {
    Splitting s;
    s.feed("\r1%\r2%\r", 0);
    s.feed("3%", 100);
    EXPECT_EQ(s.lines, Lines{"1%"});
    s.splitter.tick(at(500), s.take);
    EXPECT_EQ(s.lines.size(), 1U);
    s.splitter.tick(at(1000), s.take);
    EXPECT_EQ(s.lines, (Lines{"1%", "2%"}));
    s.splitter.finish(s.take);
    EXPECT_EQ(s.lines.back(), "3%");
}

TEST(LineSplitter, SplitsLongLinesAndDropsWhatIsBeyond) {
    Splitting s;
    const std::string piece(1024 * 1024, 'x');
    for (int i = 0; i < 8; ++i) s.feed(piece);
    s.feed("\nnext\n");
    ASSERT_EQ(s.lines.size(), static_cast<std::size_t>(line_pieces_max) + 2);
    for (int i = 0; i < line_pieces_max; ++i) {
        const auto& line = s.lines[static_cast<std::size_t>(i)];
        EXPECT_TRUE(line.ends_with("x [the line goes on]"));
        EXPECT_LE(line.size(), line_bytes_max + 32);
    }
    EXPECT_NE(s.lines[line_pieces_max].find("more bytes of this line were dropped"),
              std::string::npos);
    EXPECT_EQ(s.lines.back(), "next");
}

TEST(LineSplitter, ALineOfExactlyTheLimitStaysWholeInContent) {
    Splitting s;
    s.feed(std::string(line_bytes_max, 'y') + "\n" + std::string(line_bytes_max - 1, 'z') + "\n");
    std::string ys;
    for (const auto& line : s.lines)
        if (line.starts_with("y")) ys += line.substr(0, line.find(' '));
    EXPECT_EQ(ys.size(), line_bytes_max);
    EXPECT_EQ(s.lines.back(), std::string(line_bytes_max - 1, 'z'));
}

} // namespace
} // namespace muster::io
