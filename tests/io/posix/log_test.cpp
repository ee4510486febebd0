#include "io/posix/log.hpp"

#include "codec/json.hpp"
#include "model/describe.hpp"

#include <gtest/gtest.h>

namespace muster::io {
namespace {

constexpr std::string_view at = "2026-11-30T19:12:34.123Z";

struct Line {
    std::string time;
    std::string event;
    std::string path;
    std::string text;
};
MUSTER_DESCRIBE(Line, time, event, path, text)

TEST(LogLine, IsAnEventWithFields) {
    EXPECT_EQ(log_line(false, at, "server_listening", {{"url", "http://127.0.0.1:7070"}}),
              "2026-11-30T19:12:34.123Z server_listening url=http://127.0.0.1:7070\n");
    EXPECT_EQ(log_line(true, at, "began", {}),
              "{\"time\":\"2026-11-30T19:12:34.123Z\",\"event\":\"began\"}\n");
}

TEST(LogLine, FieldsWithoutAValueAreLeftOut) {
    EXPECT_EQ(log_line(false, at, "e", {{"a", ""}, {"b", "1"}}), std::string(at) + " e b=1\n");
    EXPECT_EQ(log_line(true, at, "e", {{"a", ""}}).find("\"a\""), std::string::npos);
}

/// Whatever a value holds, a line stays one line and its fields can be told apart.
TEST(LogLine, NoValueBreaksTheLine) {
    for (const std::string value : {"two words", "a=b", "say \"hi\"", "back\\slash", "line\nbreak",
                                    "\r", "\x1b[31mred", "\x7f", "not \xff utf8", "\t"}) {
        const std::string line = log_line(false, at, "e", {{"v", value}, {"next", "1"}});
        EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
        EXPECT_EQ(line.find('\r'), std::string::npos);
        EXPECT_EQ(line.find('\x1b'), std::string::npos);
        EXPECT_NE(line.find(" v=\""), std::string::npos) << line;
        EXPECT_TRUE(line.ends_with(" next=1\n")) << line;
    }
}

TEST(LogLine, JsonReadsBack) {
    const auto line = codec::from_json<Line>(
        log_line(true, at, "e", {{"path", "/a b"}, {"text", "x\n\"y\"\xff"}}));
    ASSERT_TRUE(line) << to_text(line.error());
    EXPECT_EQ(line->time, at);
    EXPECT_EQ(line->event, "e");
    EXPECT_EQ(line->path, "/a b");
    EXPECT_EQ(line->text, "x\n\"y\"\xef\xbf\xbd");
}

TEST(LogLine, LongValuesAreCut) {
    for (const bool json : {false, true}) {
        const std::string line = log_line(json, at, "e", {{"v", std::string(100'000, 'x')}});
        EXPECT_LT(line.size(), 3'000u);
        EXPECT_NE(line.find("xxx..."), std::string::npos);
    }
}

} // namespace
} // namespace muster::io
