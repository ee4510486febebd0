// Every .scenario file beside this one runs on the simulator; wrong files are refused with line and
// rule.

#include "sim/scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace muster::sim {
namespace {

std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(MUSTER_SCENARIOS))
        if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string read(const std::string& name) {
    std::ifstream file(std::string(MUSTER_SCENARIOS) + "/" + name + ".scenario", std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class ScenarioFile : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, Holds) {
    const auto scenario = parse_scenario(read(GetParam()));
    ASSERT_TRUE(scenario) << to_text(scenario.error());
    const auto status = run_scenario(*scenario);
    EXPECT_TRUE(status) << to_text(status.error()) << "\nreplay: muster_sim --trace --scenario "
                        << MUSTER_SCENARIOS << "/" << GetParam() << ".scenario";
}

/// What a scenario says holds for other timings of the network and the disk too.
TEST_P(ScenarioFile, HoldsForOtherSeeds) {
    auto scenario = parse_scenario(read(GetParam()));
    ASSERT_TRUE(scenario) << to_text(scenario.error());
    for (std::uint64_t seed = 2; seed <= 6; ++seed) {
        scenario->seed = seed;
        const auto status = run_scenario(*scenario);
        EXPECT_TRUE(status) << "given seed " << seed << ": " << to_text(status.error());
    }
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioFile, testing::ValuesIn(files()),
                         [](const testing::TestParamInfo<std::string>& info) {
                             return info.param;
                         });

struct Refused {
    const char* text;
    const char* where;
    const char* rule;
};

class WrongScenario : public testing::TestWithParam<Refused> {};

TEST_P(WrongScenario, NamesLineAndRule) {
    const auto scenario = parse_scenario(GetParam().text);
    ASSERT_FALSE(scenario);
    const std::string error = to_text(scenario.error());
    EXPECT_EQ(scenario.error().code, Code::invalid_argument);
    EXPECT_NE(error.find(GetParam().where), std::string::npos) << error;
    EXPECT_NE(error.find(GetParam().rule), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, WrongScenario,
    testing::Values(
        Refused{"", "no nodes", "given nodes 2 devices 2"},
        Refused{"given nodes 2 devices 2\nbut wait 3s\n", "line 2", "given, when or then"},
        Refused{"given nodes two devices 2\n", "line 1", "given nodes <number> devices <number>"},
        Refused{"given nodes 0 devices 2\n", "line 1", "1 to 64 nodes"},
        Refused{"given nodes 1 devices 1\n# fine\nwhen wait for ever\n", "line 3",
                "when wait <duration>"},
        Refused{"given nodes 1 devices 1\ngiven job a rank 3\n", "line 2", "a job has no \"rank\""},
        Refused{"given nodes 1 devices 1\ngiven job a ranks\n", "line 2", "ranks takes a number"},
        Refused{"given nodes 1 devices 1\ngiven job a step 5\n", "line 2", "step takes a duration"},
        Refused{"given nodes 1 devices 1\ngiven job A\n", "line 2", "is not a name"},
        Refused{"given nodes 1 devices 1\ngiven job a\ngiven job a\n", "line 3", "given twice"},
        Refused{"given nodes 1 devices 1\nwhen submit a\n", "line 2", "there is no job a"},
        Refused{"given nodes 1 devices 1\nwhen cordon n2\n", "line 2", "there is no node n2"},
        Refused{"given nodes 1 devices 1\ngiven job a ranks 0\n", "job a", "out of range"},
        Refused{"given nodes 1 devices 1\ngiven network drop 2000 duplicate 0 delay 1s\n", "line 2",
                "at most 1000"}));

TEST(Scenario, ThatDoesNotHoldNamesItsLine) {
    const auto scenario =
        parse_scenario("given nodes 1 devices 1\ngiven job a steps 5\nwhen submit a\n"
                       "then a ends succeeded within 1m\nthen a has restarts 1\n");
    ASSERT_TRUE(scenario) << to_text(scenario.error());
    const auto status = run_scenario(*scenario);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "line 5: the number of restarts is 0, not 1");
}

} // namespace
} // namespace muster::sim
