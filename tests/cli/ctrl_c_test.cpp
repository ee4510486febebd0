// Ctrl-C in the middle of every verb that stays: what it says and what it ends with.

#include "fake_server.hpp"

#include "cli/pages.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <pthread.h>

namespace muster::cli {
namespace {

const WorkloadId id = WorkloadId::make(Instant{1'796'061'600'000'000'000}, 1, 2);

class CtrlC : public testing::Test {
  protected:
    CtrlC() {
        running.workload.id = id;
        running.workload.name.text = "charlm";
        running.workload.phase = WorkloadPhase::running;
        running.workload.ranks = 1;
        running.workload.attempt = 1;
        server.answers("GET /v1/server", ServerView{});
        server.answers("GET /v1/workloads/charlm", running);
        server.answers("GET /v1/workloads/" + to_text(id) + "/logs", JobLogs{});
        on_await("GET /v1/workloads/charlm:await");
        on_await("GET /v1/workloads/" + to_text(id) + ":await");
    }

    /// Typed while the verb waits for the job: it takes the signal by then.
    void on_await(const std::string& call) {
        server.on(call, [this](const auto&) {
            type();
            http::HttpResponse response;
            response.body = codec::to_json(running);
            return response;
        });
    }

    /// Once, to the thread on which muster() runs.
    void type() {
        if (!typed.exchange(true)) pthread_kill(main_thread, SIGINT);
    }

    void expect_detached(const Ran& ran) {
        EXPECT_EQ(ran.code, 130) << ran.err;
        EXPECT_NE(ran.err.find("charlm goes on"), std::string::npos) << ran.err;
    }

    WorkloadDetail running;
    const pthread_t main_thread = pthread_self();
    std::atomic<bool> typed{false};
    FakeServer server;
};

TEST_F(CtrlC, LeavesLogsThatAreFollowed) {
    const Ran ran = muster({"logs", "-f", "charlm"});
    expect_detached(ran);
    EXPECT_NE(ran.err.find("muster cancel charlm"), std::string::npos) << ran.err;
}

TEST_F(CtrlC, LeavesAJobThatWasSubmittedAndIsFollowed) {
    control::Submitted submitted;
    submitted.workload = running.workload;
    server.answers("POST /v1/workloads", submitted);
    const std::string file = testing::TempDir() + "ctrl-c-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(file) << "name: charlm\nroles: [{name: main, ranks: 1, command: [/bin/true]}]\n";
    const Ran ran = muster({"submit", "-f", file});
    std::filesystem::remove(file);
    expect_detached(ran);
    EXPECT_NE(ran.err.find("muster logs -f charlm"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("muster cancel charlm"), std::string::npos) << ran.err;
}

TEST_F(CtrlC, EndsAWait) {
    const Ran ran = muster({"wait", "charlm"});
    expect_detached(ran);
    EXPECT_NE(ran.err.find("muster wait charlm"), std::string::npos) << ran.err;
}

TEST_F(CtrlC, EndsTheWaitOfACancelAndNotTheCancel) {
    server.answers("POST /v1/workloads/charlm:cancel", running);
    const Ran ran = muster({"cancel", "--wait", "charlm"});
    EXPECT_EQ(ran.code, 130) << ran.err;
    EXPECT_EQ(ran.err, "no longer waiting; charlm is being stopped. Wait on: muster wait charlm\n");
}

TEST_F(CtrlC, EndsAWatchWith0) {
    server.on_stream = [this] { type(); };
    server.answers("GET /v1/workloads", control::WorkloadPage{});
    server.answers("GET /v1/events", EventPage{});
    for (const char* verb : {"jobs", "events"}) {
        typed = false;
        const Ran ran = muster({verb, "-w"});
        EXPECT_EQ(ran.code, 0) << verb << ": " << ran.err;
        EXPECT_EQ(ran.err, "no longer watching; what runs goes on\n") << verb;
    }
}

} // namespace
} // namespace muster::cli
