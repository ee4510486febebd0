#include "fake_server.hpp"

#include "io/posix/files.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/proc.hpp"
#include "io/process/reap.hpp"
#include "io/process/spawn.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

namespace muster::app::testing {
namespace {

const AttemptKey key{WorkloadId{RawId{1, 7}}, 1};

/// Writes its result when it is asked to leave.
constexpr const char* good_launcher = R"(#!/bin/sh
leave() { echo '{"outcome": "succeeded"}' > "$3.tmp"; mv "$3.tmp" "$3/result.json"; exit 0; }
trap 'leave "$@"' TERM
echo ready > "${0%/*}/ready"
while :; do sleep 0.02; done
)";
constexpr const char* failing_launcher = R"(#!/bin/sh
echo the launch file is odd >&2
exit 3
)";

AttemptOrder entry() {
    AttemptOrder order;
    order.workload = key.workload;
    order.attempt = key.attempt;
    order.name = WorkloadName{"train"};
    order.spec.stop_grace = Duration{};
    order.placement.nodes.push_back({NodeName{"n1"}, 1, {{RoleName{"worker"}, {0}}}});
    return order;
}

class AgentProcessTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/muster-agent-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        folder_ = name;
        ASSERT_TRUE(io::write_file_atomically(folder_ + "/token", "secret\n", 0600));
        const std::string fifo = folder_ + "/ready";
        ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
        ready_ = io::UniqueFd(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    }
    void TearDown() override {
        end_agent(SIGKILL);
        io::clear_group(attempt_dir(), Duration::seconds(10));
        std::filesystem::remove_all(folder_);
    }

    std::string node_dir() const { return folder_ + "/node"; }
    std::string attempt_dir() const {
        return node_dir() + "/attempts/" + to_text(key.workload) + ".1";
    }
    std::string output() const { return io::read_file(folder_ + "/agent.log").value_or(""); }

    io::SpawnedProcess spawn_agent() {
        const std::string log = folder_ + "/agent.log";
        const io::UniqueFd out(
            ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        io::SpawnSpec spec;
        spec.argv = {AGENT_PROCESS, server_.url(), folder_ + "/token", node_dir(),
                     folder_ + "/muster"};
        spec.env = {"PATH=/usr/bin:/bin"};
        spec.cwd = "/";
        spec.stdout_fd = out.get();
        spec.stderr_fd = out.get();
        auto process = io::spawn(spec);
        EXPECT_TRUE(process.has_value());
        return std::move(*process);
    }
    void start_agent(const char* launcher) {
        ASSERT_TRUE(io::write_file_atomically(folder_ + "/muster", launcher, 0755));
        agent_ = spawn_agent();
    }
    std::optional<io::ProcessExit> end_agent(int signal) {
        if (!agent_.pidfd) return std::nullopt;
        ::kill(agent_.pid, signal);
        const auto exit = io::reap(agent_.pidfd.get(), Duration::seconds(20));
        agent_.pidfd.reset();
        return exit;
    }
    std::optional<HeldAttempt> await_state(HoldState state) {
        const auto beat = server_.await([&](const AgentBeat& one) {
            return one.held.size() == 1 && one.held[0].state == state;
        });
        EXPECT_TRUE(beat.has_value()) << output();
        return beat ? std::optional(beat->held[0]) : std::nullopt;
    }
    io::LauncherPid launcher() const {
        return io::read_launcher_pid(attempt_dir()).value_or(io::LauncherPid{});
    }
    /// An order that runs the one attempt, seen running.
    void run_attempt() {
        server_.change([](AgentOrder& order) { order.run = {entry()}; });
        ASSERT_TRUE(await_state(HoldState::running));
        // Before its trap is set, SIGTERM would end it without a result.
        pollfd wait{ready_.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
        ASSERT_TRUE(io::alive(launcher()));
    }

    std::string folder_;
    io::UniqueFd ready_; // a launcher writes here when its trap is set
    FakeServer server_;
    io::SpawnedProcess agent_;
};

TEST_F(AgentProcessTest, runs_ends_and_forgets_an_attempt) {
    start_agent(good_launcher);
    run_attempt();
    const auto running = launcher();
    struct stat info{};
    ASSERT_EQ(::stat((attempt_dir() + "/launch.json").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    server_.change([](AgentOrder& order) { order.run.clear(); });
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    ASSERT_TRUE(held->result) << held->launcher_error;
    EXPECT_EQ(held->result->outcome, AttemptOutcome::succeeded);
    EXPECT_FALSE(io::alive(running));
    server_.change([](AgentOrder& order) { order.forget = {key}; });
    EXPECT_TRUE(server_.await([](const AgentBeat& beat) { return beat.held.empty(); }));
}

TEST_F(AgentProcessTest, a_stopped_launcher_is_continued_so_that_it_can_leave) {
    start_agent(good_launcher);
    run_attempt();
    ASSERT_EQ(::kill(launcher().pid, SIGSTOP), 0);
    server_.change([](AgentOrder& order) { order.run.clear(); });
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->result) << held->launcher_error;
}

TEST_F(AgentProcessTest, a_killed_agent_leaves_its_jobs_and_the_next_one_adopts_them) {
    start_agent(good_launcher);
    run_attempt();
    const auto running = launcher();
    ASSERT_TRUE(end_agent(SIGKILL));
    EXPECT_TRUE(io::alive(running));
    const auto session = server_.await([](const AgentBeat&) { return true; })->session;
    agent_ = spawn_agent();
    const auto beat = server_.await([&](const AgentBeat& one) {
        return one.session != session && one.held.size() == 1 &&
               one.held[0].state == HoldState::running;
    });
    ASSERT_TRUE(beat) << output();
    EXPECT_EQ(launcher().pid, running.pid);
    // Not a child of this agent: its end is seen all the same.
    ::kill(running.pid, SIGKILL);
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->result);
    EXPECT_NE(held->launcher_error, "");
}

TEST_F(AgentProcessTest, a_launcher_that_ended_between_two_agents_is_reported_with_its_result) {
    start_agent(good_launcher);
    run_attempt();
    const auto running = launcher();
    ASSERT_TRUE(end_agent(SIGKILL));
    const io::UniqueFd pidfd = io::open_pidfd(running.pid);
    ::kill(running.pid, SIGTERM);
    pollfd wait{pidfd.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
    agent_ = spawn_agent();
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->result) << held->launcher_error;
}

TEST_F(AgentProcessTest, sigterm_ends_the_agent_alone) {
    start_agent(good_launcher);
    run_attempt();
    const auto exit = end_agent(SIGTERM);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->exit_code, 0) << output();
    EXPECT_TRUE(io::alive(launcher()));
}

TEST_F(AgentProcessTest, a_launcher_that_fails_says_why) {
    start_agent(failing_launcher);
    server_.change([](AgentOrder& order) { order.run = {entry()}; });
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    EXPECT_NE(held->launcher_error.find("exit code 3"), std::string::npos) << held->launcher_error;
    EXPECT_NE(held->launcher_error.find("launch file is odd"), std::string::npos);
}

TEST_F(AgentProcessTest, a_launcher_that_cannot_be_executed_says_why) {
    start_agent("not a program");
    server_.change([](AgentOrder& order) { order.run = {entry()}; });
    const auto held = await_state(HoldState::released);
    ASSERT_TRUE(held);
    EXPECT_NE(held->launcher_error.find("could not be started"), std::string::npos);
}

TEST_F(AgentProcessTest, an_attempt_that_somebody_else_ended_is_released) {
    start_agent(good_launcher);
    run_attempt();
    const auto running = launcher();
    EXPECT_TRUE(io::clear_group(attempt_dir(), Duration::seconds(10)).empty());
    EXPECT_FALSE(io::alive(running));
    EXPECT_TRUE(await_state(HoldState::released));
    EXPECT_FALSE(io::reap(agent_.pidfd.get(), Duration{})) << "the agent lives";
}

TEST_F(AgentProcessTest, one_agent_for_a_node_directory) {
    start_agent(good_launcher);
    ASSERT_TRUE(server_.await([](const AgentBeat&) { return true; }));
    const auto second = spawn_agent();
    const auto exit = io::reap(second.pidfd.get(), Duration::seconds(20));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->exit_code, 1);
    EXPECT_NE(output().find("already (process " + std::to_string(agent_.pid) + ")"),
              std::string::npos)
        << output();
}

TEST_F(AgentProcessTest, a_wrong_token_and_another_installation_end_the_agent) {
    ASSERT_TRUE(io::write_file_atomically(folder_ + "/token", "guess", 0600));
    start_agent(good_launcher);
    auto exit = io::reap(agent_.pidfd.get(), Duration::seconds(20));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->exit_code, 1);
    EXPECT_NE(output().find("wrong token"), std::string::npos) << output();
    ASSERT_TRUE(io::write_file_atomically(folder_ + "/token", "secret", 0600));
    server_.refuse(Error{Code::permission_denied, "this is another installation", "", ""});
    agent_ = spawn_agent();
    exit = io::reap(agent_.pidfd.get(), Duration::seconds(20));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->exit_code, 1);
    EXPECT_NE(output().find("another installation"), std::string::npos) << output();
    agent_.pidfd.reset();
}

TEST_F(AgentProcessTest, a_missing_token_and_a_bad_url_are_told_at_once) {
    std::filesystem::remove(folder_ + "/token");
    start_agent(good_launcher);
    const auto exit = io::reap(agent_.pidfd.get(), Duration::seconds(20));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->exit_code, 1);
    EXPECT_NE(output().find("node.token"), std::string::npos) << output();
    agent_.pidfd.reset();
}

TEST_F(AgentProcessTest, logs_are_read_where_they_lie) {
    const std::string logs = node_dir() + "/logs/" + to_text(key.workload);
    ASSERT_TRUE(io::make_directories(logs));
    ASSERT_TRUE(
        io::write_file_atomically(logs + "/rank-0.00000000000000000000.log", "1 1.1 o hello\n"));
    start_agent(good_launcher);
    server_.change([](AgentOrder& order) {
        LogRequest request;
        request.request = 9;
        request.workload = key.workload;
        request.bytes_max = 1000;
        order.log_requests = {request};
    });
    const auto beat = server_.await([](const AgentBeat& one) { return !one.log_answers.empty(); });
    ASSERT_TRUE(beat) << output();
    EXPECT_EQ(beat->log_answers[0].request, 9);
    ASSERT_EQ(beat->log_answers[0].chunks.size(), 1U) << beat->log_answers[0].error;
    EXPECT_EQ(beat->log_answers[0].chunks[0].text, "1 1.1 o hello\n");
}

} // namespace
} // namespace muster::app::testing
