#include "base/prng.hpp"
#include "base/text.hpp"

#include "base/secret.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace muster {
namespace {

TEST(Duration, TextRoundTrips) {
    EXPECT_EQ(to_text(Duration::seconds(90)), "1m30s");
    EXPECT_EQ(to_text(Duration::millis(250)), "250ms");
    EXPECT_EQ(to_text(Duration{}), "0s");
    Prng prng(1);
    for (int i = 0; i < 2000; ++i) {
        const Duration d{static_cast<std::int64_t>(prng.next() >> (1 + prng.below(60))) *
                         (prng.chance(200) ? -1 : 1)};
        ASSERT_EQ(parse_duration(to_text(d)).value(), d) << to_text(d);
    }
}

TEST(Duration, RefusesWhatIsNotOne) {
    for (const char* text :
         {"", "-", "5", "s", "5 s", "5x", "1h-5m", "99999999999999999999s", "300000d"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Instant, TextRoundTripsToTheMillisecond) {
    EXPECT_EQ(to_text(Instant{0}), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(to_text(Instant{1'796'061'600'123'456'789}), "2026-11-30T18:00:00.123Z");
    Prng prng(2);
    for (int i = 0; i < 2000; ++i) {
        const Instant t{static_cast<std::int64_t>(prng.below(7'000'000'000'000ULL)) * 1'000'000};
        ASSERT_EQ(parse_instant(to_text(t)).value(), t) << to_text(t);
    }
    EXPECT_EQ(parse_instant("1970-01-01T00:00:01.000000002Z").value(), Instant{1'000'000'002});
}

TEST(Instant, RefusesWhatIsNotOne) {
    for (const char* text : {"", "2026-11-30", "2026-13-30T00:00:00Z", "2026-11-30T00:00:00",
                             "2026-11-30T25:00:00Z", "2026-11-30T00:00:00.Z"})
        EXPECT_FALSE(parse_instant(text)) << text;
}

TEST(Nearest, FindsATypo) {
    const std::vector<std::string> words = {"priority", "roles", "workdir"};
    EXPECT_EQ(nearest("prioirty", words), "priority");
    EXPECT_EQ(nearest("role", words), "roles");
    EXPECT_EQ(nearest("banana", words), "");
}

TEST(Utf8, ReplacesOnlyBrokenBytes) {
    EXPECT_EQ(to_valid_utf8("ok \xe4\xb8\xad"), "ok \xe4\xb8\xad");
    EXPECT_EQ(to_valid_utf8("a\xff"), "a\xef\xbf\xbd");
    EXPECT_EQ(to_valid_utf8("\xe4\xb8"), "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(to_valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(EqualSecrets, ComparesWhole) {
    EXPECT_TRUE(equal_secrets("abc", "abc"));
    EXPECT_FALSE(equal_secrets("abc", "abd"));
    EXPECT_FALSE(equal_secrets("abc", "ab"));
    EXPECT_FALSE(equal_secrets("ab", "abc"));
    EXPECT_FALSE(equal_secrets("", "abc"));
    EXPECT_FALSE(equal_secrets("abc", ""));
    EXPECT_FALSE(equal_secrets("abcabc", "abc"));
}

} // namespace
} // namespace muster
