#include "app/rank_environment.hpp"

#include "io/posix/files.hpp"

#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace muster::app {
namespace {

struct Job {
    WorkloadSpec spec;
    RankTable table;
    RankPlace place;

    Job() {
        spec.roles.resize(2);
        spec.roles[0].name = RoleName{"trainer"};
        spec.roles[1].name = RoleName{"helper"};
        spec.restarts.per_ten_minutes = 5;
        table = {.term = 2,
                 .generation = 7,
                 .master_address = "127.0.0.1",
                 .master_port = 4242,
                 .restarts = 3,
                 .ranks = {}};
        for (std::int64_t i = 0; i < 4; ++i)
            table.ranks.push_back({.rank = i,
                                   .role_rank = i % 3,
                                   .local_rank = i % 2,
                                   .launcher = i / 2,
                                   .role = spec.roles[i < 3 ? 0 : 1].name,
                                   .devices = {2 * i, 2 * i + 1}});
        place.table = &table;
        place.row = &table.ranks[2];
        place.spec = &spec;
        place.attempt = 9;
        place.job = WorkloadName{"charlm"};
        place.node = NodeName{"n2"};
        place.launchers = 2;
        place.gpus = true;
        place.progress_page = "/dev/shm/page";
        place.checkpoint_dir = "/state/checkpoints/x";
        place.library = "/lib/libmuster.so";
        place.python_path = "/share/python";
        place.error_file = "/tmp/error.json";
    }
};

TEST(RankEnvironment, GivesTorchrunsSet) {
    const Job job;
    const auto env = rank_environment({}, job.place);
    EXPECT_EQ(env.at("RANK"), "2");
    EXPECT_EQ(env.at("WORLD_SIZE"), "4");
    EXPECT_EQ(env.at("LOCAL_RANK"), "0");
    EXPECT_EQ(env.at("LOCAL_WORLD_SIZE"), "2");
    EXPECT_EQ(env.at("GROUP_RANK"), "1");
    EXPECT_EQ(env.at("GROUP_WORLD_SIZE"), "2");
    EXPECT_EQ(env.at("ROLE_RANK"), "2");
    EXPECT_EQ(env.at("ROLE_WORLD_SIZE"), "3");
    EXPECT_EQ(env.at("MASTER_PORT"), "4242");
    EXPECT_EQ(env.at("TORCHELASTIC_RESTART_COUNT"), "3");
    EXPECT_EQ(env.at("TORCHELASTIC_MAX_RESTARTS"), "5");
    EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "4,5");
    EXPECT_EQ(env.at("MUSTER_DEVICES"), "4,5");
    EXPECT_EQ(env.at("MUSTER_GENERATION"), "7");
    EXPECT_EQ(env.at("MUSTER_ATTEMPT"), "9");
    EXPECT_EQ(env.at("PYTHONPATH"), "/share/python");
}

TEST(RankEnvironment, DefaultsGiveWayAndOursStand) {
    Job job;
    job.spec.roles[0].env = {{"OMP_NUM_THREADS", "8"}, {"RANK", "99"}, {"MINE", "role"}};
    const auto env = rank_environment({{"GLOO_SOCKET_IFNAME", "eth7"},
                                       {"PYTHONPATH", "/users"},
                                       {"MINE", "inherited"},
                                       {"MUSTER_TOKEN", "secret"},
                                       {"MUSTER_STATE", "/var/lib/muster"},
                                       {"MUSTER_SERVER", "http://x"}},
                                      job.place);
    EXPECT_EQ(env.at("OMP_NUM_THREADS"), "8");
    EXPECT_EQ(env.at("GLOO_SOCKET_IFNAME"), "eth7");
    EXPECT_EQ(env.at("RANK"), "2");
    EXPECT_EQ(env.at("MINE"), "role");
    EXPECT_EQ(env.at("PYTHONPATH"), "/share/python:/users");
    for (const char* withheld : {"MUSTER_TOKEN", "MUSTER_STATE", "MUSTER_SERVER"})
        EXPECT_FALSE(env.contains(withheld)) << withheld;
}

TEST(RankEnvironment, SlotsSetNoCudaDevices) {
    Job job;
    job.place.gpus = false;
    EXPECT_FALSE(rank_environment({}, job.place).contains("CUDA_VISIBLE_DEVICES"));
}

/// Every variable that a rank gets is in the table of docs/environment.md, and the other way round.
TEST(RankEnvironment, IsWhatTheDocumentSays) {
    const Job job;
    std::set<std::string> given{"MUSTER_GROUP"}; // by io/process, to every member of a group
    for (const auto& [name, value] : rank_environment({}, job.place)) given.insert(name);
    auto text = *io::read_file(std::string(MUSTER_DOCS) + "/environment.md");
    text = text.substr(0, text.find("## Of the launcher itself"));
    std::set<std::string> told;
    const std::regex row("\\n\\| `([A-Z_0-9]+)` \\|");
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
        told.insert((*at)[1]);
    EXPECT_EQ(told, given);
}

} // namespace
} // namespace muster::app
