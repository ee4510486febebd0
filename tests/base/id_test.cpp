#include "base/id.hpp"
#include "base/prng.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(RawId, TextRoundTripsAndSortsLikeTheValue) {
    Prng prng(7);
    RawId before;
    std::string text_before = raw_id_to_text(before);
    for (int i = 0; i < 1000; ++i) {
        const RawId id = make_raw_id(Instant{i * 1'000'000'000LL}, prng.next(), prng.next());
        const std::string text = raw_id_to_text(id);
        ASSERT_EQ(text.size(), id_text_length);
        ASSERT_EQ(raw_id_from_text(text).value(), id);
        ASSERT_EQ(id < before, text < text_before);
        before = id;
        text_before = text;
    }
}

TEST(RawId, RefusesWhatIsNotAnId) {
    EXPECT_FALSE(raw_id_from_text(""));
    EXPECT_FALSE(raw_id_from_text("0000000000000000000000000u"));
    EXPECT_FALSE(raw_id_from_text("zzzzzzzzzzzzzzzzzzzzzzzzzz")); // 130 bits
}

TEST(Name, IsADnsLabel) {
    EXPECT_TRUE(is_dns_label("a"));
    EXPECT_TRUE(is_dns_label("train-1"));
    EXPECT_FALSE(is_dns_label(""));
    EXPECT_FALSE(is_dns_label("-a"));
    EXPECT_FALSE(is_dns_label("a-"));
    EXPECT_FALSE(is_dns_label("A"));
    EXPECT_FALSE(is_dns_label("a_b"));
    EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
}

} // namespace
} // namespace muster
