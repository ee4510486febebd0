// One suite for the three backends of process groups.

#include "helpers.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/group_backends.hpp"

#include <csignal>
#include <random>
#include <set>
#include <sys/prctl.h>
#include <thread>

namespace muster::io {
namespace {

std::string unique_name() {
    std::random_device source;
    return "test-" + std::to_string(::getpid()) + "-" + std::to_string(source());
}

class GroupTest : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        // As the launcher is: orphans come to us and are reaped here.
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        auto groups = probe_groups(GetParam());
        if (!groups) GTEST_SKIP() << to_text(groups.error());
        groups_ = std::move(*groups);
        group_ = *groups_->create(unique_name());
    }
    void TearDown() override {
        if (group_ == nullptr) return;
        EXPECT_TRUE(group_->kill_and_verify(test_limit).empty());
        const auto removed = group_->remove();
        EXPECT_TRUE(removed.has_value()) << to_text(removed.error());
        reap_all();
    }
    /// Ends the group and checks that each of the pids is gone.
    void expect_cleared(const std::vector<pid_t>& pids) {
        for (const pid_t pid : pids) EXPECT_FALSE(gone(pid)) << pid;
        EXPECT_TRUE(group_->kill_and_verify(test_limit).empty());
        for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
        EXPECT_TRUE(group_->members().empty());
    }

    std::optional<ProcessGroups> groups_;
    std::unique_ptr<ProcessGroup> group_;
};

pid_t pid_line(Running& process) { return std::atoi(process.line().c_str()); }

TEST_P(GroupTest, EndsAPlainChildAndIsIdempotent) {
    Running child(shell("echo up; exec sleep 600"), group_.get());
    child.line();
    expect_cleared({child.pid()});
    EXPECT_EQ(child.end()->signal, SIGKILL);
    EXPECT_TRUE(group_->kill_and_verify(test_limit).empty());
}

TEST_P(GroupTest, FindsAGrandchildInASessionOfItsOwn) {
    Running child(shell("setsid sh -c 'echo $$; exec sleep 600' & wait"), group_.get());
    const pid_t grandchild = pid_line(child);
    expect_cleared({child.pid(), grandchild});
}

TEST_P(GroupTest, FindsADaemonWhoseParentsAreDead) {
    Running child(shell("( setsid sh -c '( setsid sh -c \"echo \\$\\$; exec sleep 600\" & )' & )"),
                  group_.get());
    const pid_t daemon = pid_line(child);
    EXPECT_EQ(child.end()->exit_code, 0);
    expect_cleared({daemon});
}

TEST_P(GroupTest, FindsADaemonWithACleanedEnvironment) {
    Running child(shell("( env -i /usr/bin/setsid /bin/sh -c 'echo $$; exec sleep 600' & )"),
                  group_.get());
    const pid_t daemon = pid_line(child);
    EXPECT_EQ(child.end()->exit_code, 0);
    while (read_proc_stat(daemon)->parent != ::getpid()) std::this_thread::yield();
    expect_cleared({daemon});
}

TEST_P(GroupTest, EndsWhatIgnoresSigterm) {
    Running child(shell("trap '' TERM; echo up; while :; do sleep 600; done"), group_.get());
    child.line();
    group_->signal_all(SIGTERM);
    EXPECT_FALSE(gone(child.pid()));
    expect_cleared({child.pid()});
}

TEST_P(GroupTest, SigtermReachesEveryProcessAlsoStoppedOnes) {
    Running child(
        shell("setsid sh -c 'trap \"echo grand; exit 0\" TERM; echo $$;"
              " while :; do sleep 0.01; done' & "
              "trap 'echo direct; wait; exit 7' TERM; echo up; while :; do sleep 0.01; done"),
        group_.get());
    std::vector<std::string> lines{child.line(), child.line()};
    const pid_t grandchild = std::atoi(lines[lines[0] == "up" ? 1 : 0].c_str());
    ASSERT_GT(grandchild, 0);
    ASSERT_EQ(::kill(grandchild, SIGSTOP), 0);
    group_->signal_all(SIGTERM);
    // A shell may also tell that its sleep was terminated.
    for (std::set<std::string> told; !told.contains("direct") || !told.contains("grand");) {
        const std::string line = child.line();
        ASSERT_FALSE(line.empty());
        told.insert(line);
    }
    EXPECT_EQ(child.end()->exit_code, 7);
}

TEST_P(GroupTest, EndsStoppedProcesses) {
    Running child(shell("echo up; kill -STOP $$"), group_.get());
    child.line();
    while (read_proc_stat(child.pid())->state != 'T') std::this_thread::yield();
    expect_cleared({child.pid()});
}

TEST_P(GroupTest, EndsABoundedForkBomb) {
    // Every process of it starts another and goes on: 200 at a time, replaced as they end.
    Running child(shell("i=0; while [ $i -lt 200 ]; do (while :; do setsid sleep 0.05; done) &"
                        " i=$((i+1)); done; echo up; wait"),
                  group_.get());
    child.line();
    expect_cleared({child.pid()});
}

TEST_P(GroupTest, LeavesAJobBesideItAlone) {
    auto beside = *groups_->create(unique_name());
    Running neighbour(shell("setsid sh -c 'echo $$; exec sleep 600' & wait"), beside.get());
    const pid_t neighbours_child = pid_line(neighbour);
    Running stranger(shell("echo up; exec sleep 600"), nullptr,
                     {"PATH=/usr/bin:/bin", "MUSTER_GROUP=other"});
    stranger.line();
    Running child(shell("echo up; exec sleep 600"), group_.get());
    child.line();
    expect_cleared({child.pid()});
    EXPECT_FALSE(gone(neighbour.pid()));
    EXPECT_FALSE(gone(neighbours_child));
    EXPECT_FALSE(gone(stranger.pid()));
    EXPECT_TRUE(beside->kill_and_verify(test_limit).empty());
    EXPECT_TRUE(beside->remove().has_value());
    ::kill(stranger.pid(), SIGKILL);
    EXPECT_TRUE(stranger.end().has_value());
}

TEST_P(GroupTest, AZombieDoesNotCountAsAlive) {
    Running child(shell("sleep 0.01 & exec sleep 600"), group_.get());
    // The shell's child becomes a zombie that nobody reaps: sleep does not wait.
    expect_cleared({child.pid()});
    EXPECT_EQ(child.end()->signal, SIGKILL);
}

TEST_P(GroupTest, EndingTheOuterGroupEndsTheInnerOnes) {
    auto first = *groups_->create_in(*group_, "g1");
    auto second = *groups_->create_in(*group_, "g2");
    Running one(shell("echo up; exec sleep 600"), first.get());
    Running two(shell("echo up; exec sleep 600"), second.get());
    one.line();
    two.line();
    EXPECT_TRUE(first->kill_and_verify(test_limit).empty());
    EXPECT_TRUE(gone(one.pid()));
    EXPECT_FALSE(gone(two.pid()));
    expect_cleared({two.pid()});
}

TEST_P(GroupTest, IsFoundAgainFromItsAddress) {
    char name[] = "/tmp/muster-group-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    ASSERT_TRUE(write_group_file(folder, group_->address()).has_value());
    auto inner = *groups_->create_in(*group_, "g1");
    Running child(shell("setsid sh -c 'echo $$; exec sleep 600' & wait"), inner.get());
    const pid_t grandchild = pid_line(child);
    EXPECT_EQ(*read_group_file(folder), group_->address());
    EXPECT_TRUE(clear_group(folder, test_limit).empty());
    EXPECT_TRUE(gone(child.pid()));
    EXPECT_TRUE(gone(grandchild));
    EXPECT_TRUE(clear_group(folder, test_limit).empty()) << "again";
    std::remove((folder + "/group").c_str());
    EXPECT_TRUE(clear_group(folder, test_limit).empty()) << "without a file";
    std::remove(folder.c_str());
}

TEST_P(GroupTest, AFailedExecLeavesNothingBehind) {
    SpawnSpec spec;
    spec.argv = {"/no/such/program"};
    spec.cwd = "/";
    spec.group = group_.get();
    EXPECT_FALSE(spawn(spec).has_value());
    EXPECT_TRUE(group_->members().empty());
    EXPECT_TRUE(reap_all().empty());
}

TEST_P(GroupTest, AChildThatDoesNotReachItsExecIsGivenUp) {
    const auto& address = group_->address();
    // A frozen group holds a child up as a dead network mount would.
    const bool v2 = address.backend == GroupBackend::v2;
    if (address.backend == GroupBackend::session) GTEST_SKIP() << "a session cannot be frozen";
    const auto control = address.path + (v2 ? "/cgroup.freeze" : "/freezer.state");
    ASSERT_TRUE(write_control(control, v2 ? "1" : "FROZEN"));
    SpawnSpec spec;
    spec.argv = {"/bin/sleep", "600"};
    spec.cwd = "/";
    spec.group = group_.get();
    spec.limit = Duration::millis(50);
    const auto child = spawn(spec);
    ASSERT_TRUE(write_control(control, v2 ? "0" : "THAWED"));
    ASSERT_FALSE(child.has_value());
    EXPECT_EQ(child.error().code, Code::deadline_exceeded);
    EXPECT_NE(child.error().hint.find("working directory /"), std::string::npos);
    expect_cleared({});
}

TEST_P(GroupTest, SweepTakesOnlyEmptyGroupsThatNobodyKeeps) {
    if (groups_->backend() == GroupBackend::session)
        GTEST_SKIP() << "a session leaves nothing to sweep";
    Running child(shell("echo up; exec sleep 600"), group_.get());
    child.line();
    auto empty = *groups_->create(unique_name());
    const std::string path = empty->address().path;
    groups_->sweep();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "its maker may be about to start something";
    empty.reset(); // as when its maker has died
    groups_->sweep();
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    EXPECT_FALSE(gone(child.pid()));
    EXPECT_EQ(group_->members().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Backends, GroupTest, testing::Values("v2", "v1", "session"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CgroupMount, SeesTheWholeHierarchy) {
    const auto mount = cgroup_mount("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "");
    ASSERT_TRUE(mount);
    EXPECT_EQ(mount->folder_of("/"), "/sys/fs/cgroup");
    EXPECT_EQ(mount->folder_of("/user.slice/a"), "/sys/fs/cgroup/user.slice/a");
}

TEST(CgroupMount, AContainerWithTheHostsNamespaceSeesItsOwnSubtree) {
    const std::string text =
        "510 500 0:26 /docker/c0ffee /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n"
        "520 500 0:31 /docker/c0ffee /sys/fs/cgroup/freezer ro - cgroup cgroup rw,freezer\n";
    for (const auto* controller : {"", "freezer"}) {
        const auto mount = cgroup_mount(text, controller);
        ASSERT_TRUE(mount) << controller;
        EXPECT_EQ(mount->folder_of("/docker/c0ffee"), mount->point);
        EXPECT_EQ(mount->folder_of("/docker/c0ffee/muster-x"), mount->point + "/muster-x");
        EXPECT_FALSE(mount->folder_of("/docker/c0ffee2/x")); // not ours, though it begins alike
        EXPECT_FALSE(mount->folder_of("/"));
    }
    EXPECT_FALSE(cgroup_mount(text, "pids"));
    EXPECT_FALSE(cgroup_mount("", ""));
}

TEST(LeftoverProcesses, AreNamedWithTheirPids) {
    const LeftoverProcess stuck{7, "python3", 'D'};
    EXPECT_EQ(names_of({}), "");
    EXPECT_EQ(names_of({stuck, {8, "a\xff", 'D'}}),
              "python3 (pid 7, state D), a\xef\xbf\xbd (pid 8, state D)");
    EXPECT_EQ(
        names_of({stuck, stuck, stuck, stuck, stuck}),
        "python3 (pid 7, state D), python3 (pid 7, state D), python3 (pid 7, state D) and 2 more");
}

TEST(ProbeGroups, RefusesAnUnknownBackend) {
    EXPECT_EQ(probe_groups("v3").error().code, Code::invalid_argument);
    EXPECT_TRUE(probe_groups("").has_value());
}

} // namespace
} // namespace muster::io
