#include "codec/yaml.hpp"
#include "model/workload.hpp"

#include <gtest/gtest.h>

namespace muster::codec {
namespace {

std::string error_of(std::string_view text) {
    auto spec = from_yaml<WorkloadSpec>(text);
    return spec ? "accepted" : to_text(spec.error());
}

TEST(Yaml, ReadsASpec) {
    const auto spec = from_yaml<WorkloadSpec>(R"(# a job
name: charlm
stop_grace: 1m30s
roles:
  - ranks: 4
    command: [python3, train.py, --steps, 100, --lr, 1e-3, --flag, yes]
    env:
      OMP_NUM_THREADS: 1
      VERSION: 1.10
)");
    ASSERT_TRUE(spec) << to_text(spec.error());
    EXPECT_EQ(spec->stop_grace, Duration::seconds(90));
    ASSERT_EQ(spec->roles.size(), 1u);
    EXPECT_EQ(spec->roles[0].ranks, 4);
    EXPECT_EQ(spec->roles[0].command[3], "100");
    EXPECT_EQ(spec->roles[0].command[5], "1e-3");
    EXPECT_EQ(spec->roles[0].command[7], "yes");
    EXPECT_EQ(spec->roles[0].env.at("VERSION"), "1.10");
}

TEST(Yaml, ReadsJsonToo) {
    EXPECT_TRUE(from_yaml<WorkloadSpec>(R"({"roles":[{"command":["a"],"ranks":2}]})"));
}

TEST(Yaml, RefusesWithThePlace) {
    EXPECT_EQ(error_of("roles: [{command: [a], ranks: 1e9}]"),
              "roles[0].ranks: is the text \"1e9\", needs a whole number");
    EXPECT_EQ(error_of("roles: [{command: [a], ranks: \"4\"}]"),
              "roles[0].ranks: is the text \"4\", needs a whole number");
    EXPECT_EQ(error_of("roles: []\nroles: []\n"),
              "not a valid YAML document: the key \"roles\" is given twice at line 2, column 1");
    EXPECT_EQ(error_of("stop_grace: 15\nroles: []\n").substr(0, 15), "stop_grace: \"15");
    EXPECT_EQ(error_of("roles: [\n").substr(0, 25), "not a valid YAML document");
    EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"),
              "the YAML has more than one document (give one at a time)");
    EXPECT_EQ(error_of(""), "the YAML is empty");
    EXPECT_EQ(error_of("# nothing\n"), "the YAML is empty");
    EXPECT_EQ(error_of("? [a, b]\n: 1\n").substr(0, 25), "not a valid YAML document");
    EXPECT_EQ(error_of("roles: !!python/object [1]\n").substr(0, 25), "not a valid YAML document");
    EXPECT_EQ(error_of("just a text"), "is the text \"just a text\", needs an object");
}

/// A bracket that nothing opened: documents without end to YAML::LoadAll.
TEST(Yaml, StrayEndsAreErrors) {
    for (const std::string_view text : {"]", "}", "a: 1\n]", ",", "- a\n}", "? ]", "roles: []\n}"})
        EXPECT_NE(error_of(text), "accepted") << text;
}

TEST(Yaml, AliasesCannotMultiply) {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string name = "a" + std::to_string(i);
        const std::string before = "*a" + std::to_string(i - 1);
        text += name + ": &" + name + " [";
        for (int k = 0; k < 10; ++k) text += (k == 0 ? "" : ", ") + before;
        text += "]\n";
    }
    EXPECT_NE(error_of(text).find("too large"), std::string::npos) << error_of(text);
}

TEST(Yaml, DeepNestingIsRefused) {
    for (const std::size_t depth : {100u, 10'000u, 200'000u}) {
        const std::string text = "roles: " + std::string(depth, '[');
        EXPECT_NE(error_of(text), "accepted");
        EXPECT_NE(error_of(text + std::string(depth, ']')), "accepted");
    }
}

TEST(Yaml, WritesWhatItReads) {
    WorkloadSpec spec;
    spec.name = WorkloadName{"no"};
    Role role;
    role.command = {"python3", "a b",         "yes", "-x",   "1.0",
                    "",        "colon: here", "ü",   "\x01", "two\nlines"};
    role.env = {{"on", "#x"}, {"K EY", "~"}, {"E", "null"}};
    spec.roles = {role, role};
    spec.roles[1].name = RoleName{"helper"};
    spec.roles[1].command = {"x"};
    spec.roles[1].env = {};
    const std::string text = to_yaml(spec);
    const auto back = from_yaml<WorkloadSpec>(text);
    ASSERT_TRUE(back) << to_text(back.error()) << "\n" << text;
    EXPECT_EQ(*back, spec) << text;
    EXPECT_EQ(text.substr(0, 58),
              "name: \"no\"\nkind: job\npriority: 50\nworkdir: \"\"\nroles:\n  - n");
}

} // namespace
} // namespace muster::codec
