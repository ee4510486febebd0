#include "base/time.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr Duration longest = Duration::max();
constexpr Duration shortest{std::numeric_limits<std::int64_t>::min()};
constexpr Instant late{std::numeric_limits<std::int64_t>::max() - 5};
constexpr Instant early{std::numeric_limits<std::int64_t>::min() + 5};

TEST(Time, ArithmeticEndsAtTheEndsOfTheRange) {
    EXPECT_EQ(longest + Duration::nanos(1), longest);
    EXPECT_EQ(shortest + Duration::nanos(-1), shortest);
    EXPECT_EQ(shortest - longest, shortest);
    EXPECT_EQ(Duration{} - shortest, longest);
    EXPECT_EQ(longest * 2, longest);
    EXPECT_EQ(longest * -2, shortest);
    EXPECT_EQ(shortest * -1, longest);
    EXPECT_EQ(late + Duration::nanos(6), Instant::never());
    EXPECT_EQ((early - Duration::nanos(9)).ns, shortest.ns);
    EXPECT_EQ(late - early, longest);
    EXPECT_EQ(early - late, shortest);
    Duration sum = longest;
    sum += Duration::seconds(1);
    EXPECT_EQ(sum, longest);
}

TEST(Time, NeverStaysNever) {
    EXPECT_TRUE((Instant::never() + Duration::seconds(-5)).is_never());
    EXPECT_EQ(Instant{10} + Duration::nanos(5), Instant{15});
    EXPECT_EQ(Instant{10} - Instant{4}, Duration::nanos(6));
}

} // namespace
} // namespace muster
