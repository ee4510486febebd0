#include "io/logs/error_context.hpp"

#include "io/logs/log_limits.hpp"

#include <gtest/gtest.h>

namespace muster::io {
namespace {

using Lines = std::deque<std::string>;

TEST(LastTraceback, TakesTheLastOfAChainUpToItsFinalLine) {
    const Lines lines{"step 1",
                      "Traceback (most recent call last):",
                      "  File \"a.py\", line 1, in <module>",
                      "ValueError: first",
                      "",
                      "During handling of the above exception, another exception occurred:",
                      "",
                      "Traceback (most recent call last):",
                      "  File \"b.py\", line 2, in <module>",
                      "    boom()",
                      "RuntimeError: second",
                      "after it"};
    EXPECT_EQ(last_traceback(lines), "Traceback (most recent call last):\n"
                                     "  File \"b.py\", line 2, in <module>\n"
                                     "    boom()\n"
                                     "RuntimeError: second");
}

TEST(LastTraceback, IsEmptyWithoutOneAndBoundedWithALongOne) {
    EXPECT_EQ(last_traceback({"a", "b"}), "");
    Lines lines{"Traceback (most recent call last):"};
    for (int i = 0; i < 5000; ++i) lines.push_back("  File \"deep.py\", line 1, in recurse");
    lines.push_back("RecursionError: too deep");
    const auto text = last_traceback(lines);
    EXPECT_LE(text.size(), traceback_bytes_max + 64);
    EXPECT_TRUE(text.ends_with("RecursionError: too deep"));
}

TEST(LastLines, AreFewAndCut) {
    Lines lines;
    for (int i = 0; i < 100; ++i) lines.push_back(std::to_string(i));
    lines.push_back(std::string(10'000, 'x'));
    const auto last = last_lines(lines);
    EXPECT_EQ(last.size(), last_lines_max);
    EXPECT_EQ(last.back().size(), last_line_bytes_max);
    EXPECT_EQ(last.front(), "81");
}

TEST(LooksLikeError, KnowsErrorsFromOrdinaryLines) {
    EXPECT_TRUE(looks_like_error("ValueError: bad"));
    EXPECT_TRUE(looks_like_error("Segmentation fault (core dumped)"));
    EXPECT_TRUE(looks_like_error("torch.cuda.OutOfMemoryError: CUDA out of memory"));
    EXPECT_TRUE(looks_like_error("AssertionError"));
    EXPECT_TRUE(looks_like_error("KeyboardInterrupt"));
    EXPECT_TRUE(looks_like_error("12:00 [rank0] ERROR: no such file"));
    EXPECT_FALSE(looks_like_error(""));
    EXPECT_FALSE(looks_like_error("step 5"));
    EXPECT_FALSE(looks_like_error("no Error here"));
    EXPECT_FALSE(looks_like_error("step 3 loss 0.5 error rate 0.1"));
    EXPECT_FALSE(looks_like_error("UserWarning: slow"));
}

} // namespace
} // namespace muster::io
