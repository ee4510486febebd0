#include "random_value.hpp"

#include "codec/json.hpp"
#include "codec/yaml.hpp"
#include "model/facts.hpp"
#include "model/launch_file.hpp"
#include "model/orders.hpp"

#include <gtest/gtest.h>

namespace muster::codec {
namespace {

template <class T>
class RoundTrip : public testing::Test {};

using Messages =
    testing::Types<FactRecord, AgentBeat, AgentOrder, LauncherBeat, LauncherOrder, MemberBeat,
                   MemberOrder, LauncherResult, LaunchFile, ClientFile, WorkloadSpec>;
TYPED_TEST_SUITE(RoundTrip, Messages);

TYPED_TEST(RoundTrip, ExactJsonKeepsEverything) {
    Prng prng(7);
    for (int i = 0; i < 200; ++i) {
        const auto value = random_value<TypeParam>(prng);
        const std::string text = to_json(value, Style::exact);
        const auto back = from_json<TypeParam>(text);
        ASSERT_TRUE(back) << to_text(back.error()) << "\n" << text;
        ASSERT_EQ(*back, value) << text;
    }
}

/// Times and infinities lose digits in the form for people; the text must be stable from then on.
TYPED_TEST(RoundTrip, WireJsonReadsBack) {
    Prng prng(8);
    for (int i = 0; i < 100; ++i) {
        auto value = random_value<TypeParam>(prng);
        const std::string first =
            to_json(from_json<TypeParam>(to_json(value, Style::exact)).value());
        const auto back = from_json<TypeParam>(first);
        if (!back) { // years beyond 2200 are not read back
            ASSERT_NE(back.error().message.find("is not a time"), std::string::npos)
                << to_text(back.error());
            continue;
        }
        ASSERT_EQ(to_json(*back), first);
    }
}

TYPED_TEST(RoundTrip, PrettyIsTheSameDocument) {
    Prng prng(9);
    for (int i = 0; i < 50; ++i) {
        const auto value = random_value<TypeParam>(prng);
        const auto back = from_json<TypeParam>(pretty_json(to_json(value, Style::exact)));
        ASSERT_TRUE(back) << to_text(back.error());
        ASSERT_EQ(*back, value);
    }
}

/// Every cut and many changed bytes: an error or a value, never a crash.
TYPED_TEST(RoundTrip, DamagedTextIsAnError) {
    Prng prng(10);
    const std::string text = to_json(random_value<TypeParam>(prng), Style::exact);
    for (std::size_t cut = 0; cut < text.size(); cut += 1 + text.size() / 300)
        EXPECT_FALSE(from_json<TypeParam>(text.substr(0, cut)));
    for (int i = 0; i < 300; ++i) {
        std::string damaged = text;
        damaged[prng.below(damaged.size())] = static_cast<char>(prng.below(256));
        const auto value = from_json<TypeParam>(damaged);
        if (!value) {
            EXPECT_FALSE(to_text(value.error()).empty());
        }
    }
}

TEST(RoundTripYaml, SpecsReadBack) {
    Prng prng(11);
    for (int i = 0; i < 200; ++i) {
        auto spec = random_value<WorkloadSpec>(prng);
        for (auto* time : {&spec.stop_grace, &spec.early_exit_limit})
            time->ns >>= 1; // the least number has no text form
        const std::string text = to_yaml(spec);
        const auto back = from_yaml<WorkloadSpec>(text);
        ASSERT_TRUE(back) << to_text(back.error()) << "\n" << text;
        ASSERT_EQ(*back, spec) << text;
    }
}

TEST(RoundTripFacts, EveryKindIsMet) {
    Prng prng(12);
    std::vector<bool> met(std::variant_size_v<Fact>);
    for (int i = 0; i < 2000; ++i) met[random_value<Fact>(prng).index()] = true;
    EXPECT_EQ(met, std::vector<bool>(met.size(), true));
}

} // namespace
} // namespace muster::codec
