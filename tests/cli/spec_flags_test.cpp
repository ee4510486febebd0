#include "cli/spec_flags.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::cli {
namespace {

/// A made-up machine: python3 and sh in PATH, /w/train.py readable, /w/secret.py not.
Surroundings machine(std::map<std::string, std::string> env = {}) {
    return {.cwd = "/w",
            .env =
                [env](const std::string& name) {
                    const auto found = env.find(name);
                    return found == env.end() ? std::string() : found->second;
                },
            .find_program =
                [](const std::string& name) {
                    if (name == "python3") return std::string("/usr/bin/python3");
                    if (name == "sh") return std::string("/bin/sh");
                    if (name == "/opt/py/bin/python" || name == "/w/run.sh") return name;
                    return std::string();
                },
            .can_read = [](const std::string& path) -> Status {
                if (path == "/w/train.py" || path == "/elsewhere/other.py") return ok();
                return fail(Code::invalid_argument, "cannot read " + path, "", "command");
            }};
}

RunFlags flags(std::vector<std::string> command) {
    RunFlags made;
    made.command = std::move(command);
    return made;
}

using Words = std::vector<std::string>;

TEST(SpecFromFlags, ScriptGetsPythonAndAnAbsolutePath) {
    const auto spec = spec_from_flags(flags({"train.py", "--lr", "3e-4"}), machine());
    ASSERT_TRUE(spec) << to_text(spec.error());
    EXPECT_EQ(spec->roles[0].command,
              (Words{"/usr/bin/python3", "-u", "/w/train.py", "--lr", "3e-4"}));
    EXPECT_EQ(spec->workdir, "/w");
    EXPECT_EQ(spec->roles[0].ranks, 1);
    EXPECT_FALSE(spec->roles[0].ranks_per_node);
    EXPECT_FALSE(spec->name);
}

TEST(SpecFromFlags, ChosenPython) {
    const auto spec =
        spec_from_flags(flags({"train.py"}), machine({{"MUSTER_PYTHON", "/opt/py/bin/python"}}));
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->roles[0].command[0], "/opt/py/bin/python");
    const auto missing =
        spec_from_flags(flags({"train.py"}), machine({{"MUSTER_PYTHON", "/no/python"}}));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().field, "MUSTER_PYTHON");
}

TEST(SpecFromFlags, ScriptInTheWorkdir) {
    RunFlags made = flags({"other.py"});
    made.workdir = "/elsewhere";
    const auto spec = spec_from_flags(made, machine());
    ASSERT_TRUE(spec) << to_text(spec.error());
    EXPECT_EQ(spec->roles[0].command[2], "/elsewhere/other.py");
    EXPECT_EQ(spec->workdir, "/elsewhere");
}

TEST(SpecFromFlags, ProgramsBecomeAbsolute) {
    EXPECT_EQ(spec_from_flags(flags({"sh", "-c", "x"}), machine())->roles[0].command,
              (Words{"/bin/sh", "-c", "x"}));
    EXPECT_EQ(spec_from_flags(flags({"./run.sh"}), machine())->roles[0].command,
              (Words{"/w/run.sh"}));
}

TEST(SpecFromFlags, RanksNodesAndDevices) {
    RunFlags made = flags({"train.py"});
    made.nodes = 2;
    made.nproc_per_node = 4;
    auto spec = spec_from_flags(made, machine());
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->roles[0].ranks, 8);
    EXPECT_EQ(spec->roles[0].ranks_per_node, 4);

    made = flags({"train.py"});
    made.ranks = 6;
    made.devices_per_rank = 2;
    spec = spec_from_flags(made, machine());
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->roles[0].ranks, 6);
    EXPECT_FALSE(spec->roles[0].ranks_per_node);
    EXPECT_EQ(spec->roles[0].devices_per_rank, 2);

    made.nodes = 3;
    EXPECT_EQ(spec_from_flags(made, machine())->roles[0].ranks_per_node, 2);
}

TEST(SpecFromFlags, EnvAndPolicies) {
    RunFlags made = flags({"train.py"});
    made.env = {"A=1", "B=x=y", "HOME", "EMPTY="};
    made.restarts = 1;
    made.restarts_per_day = 5;
    made.grace = "1m";
    made.early_exit = "90s";
    made.name = "mine";
    made.priority = 70;
    const auto spec = spec_from_flags(made, machine({{"HOME", "/root"}}));
    ASSERT_TRUE(spec) << to_text(spec.error());
    EXPECT_EQ(spec->roles[0].env, (std::map<std::string, std::string>{
                                      {"A", "1"}, {"B", "x=y"}, {"HOME", "/root"}, {"EMPTY", ""}}));
    EXPECT_EQ(spec->restarts.per_ten_minutes, 1);
    EXPECT_EQ(spec->restarts.per_day, 5);
    EXPECT_EQ(spec->stop_grace, Duration::minutes(1));
    EXPECT_EQ(spec->early_exit_limit, Duration::seconds(90));
    EXPECT_EQ(spec->name->text, "mine");
    EXPECT_EQ(spec->priority, 70);
}

struct Wrong {
    std::string field;
    std::function<void(RunFlags&)> spoil;
};

TEST(SpecFromFlags, RefusalsNameTheFlag) {
    const std::vector<Wrong> wrongs = {
        {"command", [](RunFlags& f) { f.command = {}; }},
        {"command", [](RunFlags& f) { f.command = {"missing.py"}; }},
        {"command", [](RunFlags& f) { f.command = {"secret.py"}; }},
        {"command", [](RunFlags& f) { f.command = {"nosuchprogram"}; }},
        {"command", [](RunFlags& f) { f.command = {"./nosuchprogram"}; }},
        {"env", [](RunFlags& f) { f.env = {"=x"}; }},
        {"roles[0].env", [](RunFlags& f) { f.env = {"A B=1"}; }},
        {"roles[0].env", [](RunFlags& f) { f.env = {"A\tB=1"}; }},
        {"roles[0].env.MUSTER_RANK", [](RunFlags& f) { f.env = {"MUSTER_RANK=1"}; }},
        {"nodes", [](RunFlags& f) { f.nodes = 0; }},
        {"nodes", [](RunFlags& f) { f.nodes = -1; }},
        {"nodes", [](RunFlags& f) { f.nodes = 1'000'000'000; }},
        {"nproc-per-node", [](RunFlags& f) { f.nproc_per_node = 0; }},
        {"nproc-per-node", [](RunFlags& f) { f.nproc_per_node = 1'000'000'000'000; }},
        {"ranks", [](RunFlags& f) { f.ranks = 4, f.nproc_per_node = 2; }},
        {"ranks", [](RunFlags& f) { f.ranks = 5, f.nodes = 2; }},
        {"roles[0].ranks", [](RunFlags& f) { f.ranks = 0; }},
        {"roles[0].ranks", [](RunFlags& f) { f.ranks = 1'000'000'000; }},
        {"roles[0].devices_per_rank", [](RunFlags& f) { f.devices_per_rank = -1; }},
        {"grace", [](RunFlags& f) { f.grace = "15"; }},
        {"stop_grace", [](RunFlags& f) { f.grace = "2h"; }},
        {"early-exit", [](RunFlags& f) { f.early_exit = "soon"; }},
        {"early_exit_limit", [](RunFlags& f) { f.early_exit = "0s"; }},
        {"early_exit_limit", [](RunFlags& f) { f.early_exit = "25h"; }},
        {"command", [](RunFlags& f) { f.command = {"train.py", "a", "b\xff"}; }},
        {"env", [](RunFlags& f) { f.env = {"A=\xc3"}; }},
        {"workdir", [](RunFlags& f) { f.workdir = "/data/\xe9"; }},
        {"priority", [](RunFlags& f) { f.priority = 101; }},
        {"name", [](RunFlags& f) { f.name = "Not_A_Name"; }},
        {"restarts.per_ten_minutes", [](RunFlags& f) { f.restarts = -1; }},
    };
    for (std::size_t i = 0; i < wrongs.size(); ++i) {
        RunFlags made = flags({"train.py"});
        wrongs[i].spoil(made);
        const auto spec = spec_from_flags(made, machine());
        ASSERT_FALSE(spec) << i;
        EXPECT_EQ(spec.error().code, Code::invalid_argument) << i;
        EXPECT_EQ(spec.error().field, wrongs[i].field) << i << ": " << to_text(spec.error());
        EXPECT_FALSE(spec.error().message.empty());
    }
}

class SpecFile : public testing::Test {
  protected:
    SpecFile() : folder_(testing::TempDir() + "spec-" + std::to_string(getpid())) {
        std::filesystem::create_directories(folder_);
    }
    ~SpecFile() override { std::filesystem::remove_all(folder_); }

    Result<WorkloadSpec> read(const std::string& name, const std::string& text) {
        std::ofstream(folder_ + "/" + name) << text;
        return spec_from_file(folder_ + "/" + name);
    }
    std::string folder_;
};

TEST_F(SpecFile, YamlAndJsonSayTheSame) {
    const auto yaml = read("a.yaml", "name: two\nroles:\n- command: [/bin/true]\n  ranks: 2\n");
    const auto json =
        read("a.json", R"({"name": "two", "roles": [{"command": ["/bin/true"], "ranks": 2}]})");
    const auto guessed =
        read("spec", R"(  {"name": "two", "roles": [{"command": ["/bin/true"], "ranks": 2}]})");
    ASSERT_TRUE(yaml) << to_text(yaml.error());
    ASSERT_TRUE(json) << to_text(json.error());
    ASSERT_TRUE(guessed) << to_text(guessed.error());
    EXPECT_EQ(*yaml, *json);
    EXPECT_EQ(*yaml, *guessed);
}

TEST_F(SpecFile, UnknownKeysAreRefusedWithPlaceAndSuggestion) {
    const auto spec = read("a.yaml", "roles:\n- command: [/bin/true]\n  rank: 2\n");
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().code, Code::invalid_argument);
    EXPECT_EQ(spec.error().field, "roles[0].rank");
    EXPECT_NE(to_text(spec.error()).find("ranks"), std::string::npos) << to_text(spec.error());
}

TEST_F(SpecFile, WhatCannotBeReadIsSaidClearly) {
    EXPECT_FALSE(spec_from_file(folder_ + "/none.yaml"));
    EXPECT_FALSE(spec_from_file(folder_));
    EXPECT_FALSE(read("empty.yaml", " \n"));
    EXPECT_FALSE(read("garbage.yaml", "\xff\xfe{]"));
    EXPECT_FALSE(read("big.yaml", std::string(2 * 1024 * 1024, 'a')));
    EXPECT_FALSE(read("norole.yaml", "name: x\n"));
}

} // namespace
} // namespace muster::cli
