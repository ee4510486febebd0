#include "base/prng.hpp"
#include "cli/grep.hpp"
#include "cli/log_reader.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace muster::cli {
namespace {

LogChunk chunk(std::int64_t rank, std::int64_t from, std::string text) {
    LogChunk made;
    made.rank = rank;
    made.node.text = "n1";
    made.from = from;
    made.next = from + static_cast<std::int64_t>(text.size());
    made.text = std::move(text);
    return made;
}

std::string texts(const std::vector<LogLine>& lines) {
    std::string all;
    for (const auto& line : lines) all += line.text + ";";
    return all;
}

TEST(LogLine, Parses) {
    const auto line =
        parse_log_line(3, "1796061600123456789 2.5 e Traceback (most recent call last):");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->rank, 3);
    EXPECT_EQ(line->at, Instant{1'796'061'600'123'456'789});
    EXPECT_EQ(line->attempt, 2);
    EXPECT_EQ(line->generation, 5);
    EXPECT_EQ(line->source, LogSource::err);
    EXPECT_EQ(line->text, "Traceback (most recent call last):");
    EXPECT_EQ(parse_log_line(0, "1 1.1 o ")->text, "");
    EXPECT_EQ(parse_log_line(0, "1 1.1 o   indented")->text, "  indented");
    EXPECT_EQ(parse_log_line(0, "1 1.1 m note")->source, LogSource::muster);
}

TEST(LogLine, RefusesWhatIsNotOne) {
    for (const char* text : {"", "x", "1", "1 ", "1 1", "1 1.1", "1 1.1 ", "1 1.1 z text",
                             "1 1.1 ox", "99999999999999999999 1.1 o x", " 1 1.1 o x"})
        EXPECT_FALSE(parse_log_line(0, text)) << text;
}

TEST(LogLine, FoldsCarriageReturnsToWhatATerminalShows) {
    EXPECT_EQ(folded("10 %\r20 %\r30 %"), "30 %");
    EXPECT_EQ(folded("30 %\r"), "30 %");
    EXPECT_EQ(folded("plain\r\r"), "plain");
    EXPECT_EQ(folded("\r"), "");
}

TEST(Ranks, Parse) {
    EXPECT_EQ(*parse_ranks("0,2-4"), (std::vector<std::int64_t>{0, 2, 3, 4}));
    for (const char* text : {"", ",", "a", "1-", "-1", "3-1", "1,,2", "0-99999999999", "1 2"})
        EXPECT_FALSE(parse_ranks(text)) << text;
}

TEST(LogMerge, WaitsForARankThatMayHaveOlderLines) {
    LogMerge merge;
    merge.add_rank(0, 0);
    merge.add_rank(1, 0);
    merge.take(chunk(0, 0, "10 1.1 o a\n30 1.1 o c\n"));
    EXPECT_EQ(texts(merge.ready()), ""); // rank 1 was not heard yet
    merge.take(chunk(1, 0, "20 1.1 o b\n"));
    EXPECT_EQ(texts(merge.ready()), "a;b;"); // rank 1 may have more before c
    ASSERT_EQ(merge.wants().size(), 1u);
    EXPECT_EQ(merge.wants()[0].rank, 1);
    merge.take(chunk(1, 11, ""));
    EXPECT_EQ(texts(merge.ready()), "c;");
}

TEST(LogMerge, AnyCuttingIntoChunksGivesTheSameOrder) {
    Prng prng(11);
    for (int round = 0; round < 50; ++round) {
        const int ranks = 1 + static_cast<int>(prng.below(5));
        std::vector<std::vector<std::string>> logs(static_cast<std::size_t>(ranks));
        std::vector<std::pair<std::int64_t, std::string>> all;
        std::int64_t time = 1;
        for (int i = 0; i < 60; ++i) {
            const auto rank = prng.below(static_cast<std::uint64_t>(ranks));
            const std::string text = "line" + std::to_string(i);
            logs[rank].push_back(std::to_string(time) + " 1.1 o " + text + "\n");
            all.push_back({time, text});
            time += static_cast<std::int64_t>(1 + prng.below(3));
        }
        LogMerge merge;
        for (int rank = 0; rank < ranks; ++rank) merge.add_rank(rank, 0);
        std::vector<std::size_t> at(static_cast<std::size_t>(ranks));
        std::string merged;
        while (!merge.caught_up()) {
            for (const auto& want : merge.wants()) {
                const auto rank = static_cast<std::size_t>(want.rank);
                std::string text;
                for (auto n = prng.below(4) + 1; n > 0 && at[rank] < logs[rank].size(); --n)
                    text += logs[rank][at[rank]++];
                merge.take(chunk(want.rank, want.from, text));
            }
            merged += texts(merge.ready());
        }
        std::string expected;
        for (const auto& [when, text] : all) expected += text + ";";
        ASSERT_EQ(merged, expected) << "round " << round;
    }
}

TEST(LogMerge, StartingOverShowsNothingTwice) {
    LogMerge merge;
    merge.add_rank(0, 0);
    merge.take(chunk(0, 0, "10 1.1 o a\n20 1.1 o b\n"));
    merge.take(chunk(0, 22, ""));
    EXPECT_EQ(texts(merge.ready()), "a;b;");
    merge.start_over();
    EXPECT_EQ(merge.wants()[0].from, 0);
    merge.take(chunk(0, 0, "10 1.1 o a\n20 1.1 o b\n30 2.1 o c\n"));
    EXPECT_EQ(texts(merge.rest()), "c;");
}

TEST(LogMerge, ARankOnTwoNodesIsReadOnBoth) {
    LogMerge merge;
    merge.add_rank(0, 0);
    EXPECT_EQ(merge.wants()[0].node.text, "");
    auto first = chunk(0, 0, "10 1.1 o a\n");
    auto second = chunk(0, 0, "20 2.1 o b\n");
    second.node.text = "n2";
    auto stranger = chunk(0, 0, "");
    stranger.node.text = "n3";
    for (const auto& part : {second, first, stranger}) merge.take(part);
    EXPECT_EQ(texts(merge.ready()), "a;"); // n1 may have more that is older than b
    ASSERT_EQ(merge.wants().size(), 1u);
    EXPECT_EQ(merge.wants()[0].node.text, "n1");
    EXPECT_EQ(merge.wants()[0].from, 11);
}

TEST(LogMerge, ARankThatIsNowhereYetHoldsNobodyUp) {
    LogMerge merge;
    merge.add_rank(0, 0);
    merge.add_rank(1, 0);
    const auto asked = merge.wants();
    merge.take(chunk(0, 0, "10 1.1 o a\n"));
    merge.answered(asked);
    EXPECT_EQ(texts(merge.ready()), "a;");
    EXPECT_EQ(merge.wants().size(), 2u);
}

TEST(LogMerge, ANodeThatFellSilentHoldsNobodyUp) {
    LogMerge merge;
    merge.add_rank(0, 0);
    merge.add_rank(1, 0);
    auto of_n2 = chunk(1, 0, "20 1.1 o b\n");
    of_n2.node.text = "n2";
    merge.take(chunk(0, 0, "10 1.1 o a\n30 1.1 o c\n"));
    merge.take(of_n2);
    merge.answered({});
    EXPECT_EQ(texts(merge.ready()), "a;b;"); // n2 may have more before c
    const auto asked = merge.wants();
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].node.text, "n2");
    merge.take(chunk(0, 22, ""));
    merge.answered(asked); // n2 did not: nobody knows when it will
    EXPECT_EQ(texts(merge.ready()), "c;");
    EXPECT_TRUE(merge.caught_up());
    // It is back: what it kept comes late, and from then on n1 waits for it again.
    of_n2 = chunk(1, 11, "25 1.1 o late\n");
    of_n2.node.text = "n2";
    merge.take(of_n2);
    merge.take(chunk(0, 22, "40 1.1 o d\n"));
    EXPECT_EQ(texts(merge.ready()), "late;");
}

TEST(LogMerge, CountsWhatIsNotKeptAnyMore) {
    LogMerge merge;
    merge.add_rank(0, 0);
    merge.take(chunk(0, 0, "10 1.1 o a\n"));
    merge.take(chunk(0, 500, "20 1.1 o b\n"));
    EXPECT_EQ(merge.bytes_skipped(), 489);
}

TEST(LogPrinter, OnlyTheFirstErrorOfAGenerationIsRed) {
    LogPrinter printer({.terminal = {.tty = true, .colour = true, .width = 80}, .rank_digits = 2});
    LogLine line{.rank = 1,
                 .at = {},
                 .attempt = 1,
                 .generation = 1,
                 .source = LogSource::err,
                 .text = "RuntimeError: boom"};
    EXPECT_NE(printer.print(line)->find("\x1b[31mRuntimeError: boom"), std::string::npos);
    EXPECT_EQ(printer.print(line)->find("\x1b[31m"), std::string::npos);
    line.generation = 2;
    EXPECT_NE(printer.print(line)->find("\x1b[31m"), std::string::npos);
}

TEST(LogPrinter, PlainWithoutATerminal) {
    LogPrinter printer({.terminal = {}, .rank_digits = 2});
    LogLine line{.rank = 1,
                 .at = {},
                 .attempt = 1,
                 .generation = 1,
                 .source = LogSource::out,
                 .text = "\x1b[32mgreen\x1b[0m \x1b[2Jloss\a 2.5"};
    EXPECT_EQ(printer.print(line), "[1]  green loss 2.5");
    line.source = LogSource::muster;
    line.text = "killed";
    line.rank = 10;
    EXPECT_EQ(printer.print(line), "[10] muster: killed");
    line.rank = 11;
    EXPECT_EQ(printer.print(line), std::nullopt); // the same notice of another rank
    line.generation = 2;
    EXPECT_EQ(printer.print(line), "[11] muster: killed");
}

TEST(LogPrinter, MarksTheFirstErrorWithoutColours) {
    for (const char* error :
         {"Traceback (most recent call last):", "CUDA error: an illegal access",
          "node3:7 NCCL error: unhandled", "FATAL: no space", "terminate called after throwing",
          "ERROR: no such file", "AssertionError"}) {
        LogPrinter printer({.terminal = {}, .rank_digits = 2});
        LogLine line{.rank = 1,
                     .at = {},
                     .attempt = 1,
                     .generation = 1,
                     .source = LogSource::err,
                     .text = "step 5"};
        EXPECT_EQ(printer.print(line), "[1]  step 5");
        line.text = error;
        EXPECT_EQ(printer.print(line), "[1!]  " + line.text);
        EXPECT_EQ(printer.print(line), "[1]  " + line.text) << "the second one";
    }
}

TEST(Grep, MatchesBytesAndRefusesNonsense) {
    const auto grep = Grep::make("loss [0-9]+\\.[0-9]+|^step");
    ASSERT_TRUE(grep);
    EXPECT_TRUE(grep->matches("the loss 2.5"));
    EXPECT_TRUE(grep->matches("step 1"));
    EXPECT_FALSE(grep->matches("a step"));
    EXPECT_TRUE(grep->matches(std::string("a\0 loss 2.5", 11)));
    EXPECT_TRUE(Grep::make("")->matches("anything"));
    const auto wrong = Grep::make("(");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().field, "grep");
    // A line of a megabyte does not overflow a stack.
    EXPECT_FALSE(Grep::make("(a|b)*c")->matches(std::string(1 << 20, 'a')));
}

} // namespace
} // namespace muster::cli
