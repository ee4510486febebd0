// Whole verbs against a server that answers as told: what they print, what they ask, how they end.

#include "fake_server.hpp"

#include "base/text.hpp"

#include <filesystem>
#include <fstream>

namespace muster::cli {
namespace {

const WorkloadId id = WorkloadId::make(Instant{1'796'061'600'000'000'000}, 1, 2);

WorkloadDetail job(WorkloadPhase phase, std::int64_t exit_code = 0) {
    WorkloadDetail detail;
    detail.workload.id = id;
    detail.workload.name.text = "charlm";
    detail.workload.phase = phase;
    detail.workload.ranks = 2;
    detail.workload.devices = 2;
    detail.workload.attempt = 1;
    detail.workload.submitted_at = Instant{1'796'061'600'000'000'000};
    if (is_terminal(phase)) {
        detail.workload.finished_at = detail.workload.submitted_at + Duration::seconds(5);
        detail.workload.exit_code = exit_code;
        detail.workload.reason.code = ReasonCode::finished;
    }
    return detail;
}

JobLogs logs(std::vector<std::string> of_ranks, bool finished) {
    JobLogs made;
    made.finished = finished;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
        LogChunk chunk;
        chunk.rank = static_cast<std::int64_t>(rank);
        chunk.node.text = "n1";
        chunk.text = of_ranks[rank];
        chunk.next = static_cast<std::int64_t>(chunk.text.size());
        chunk.end_of_log = finished;
        made.chunks.push_back(std::move(chunk));
    }
    return made;
}

std::string path_of(const std::string& rest) { return "/v1/workloads/" + to_text(id) + rest; }

class Commands : public testing::Test {
  protected:
    Commands() {
        ServerView view;
        view.facts = 7;
        server.answers("GET /v1/server", view);
    }
    /// A job that is submitted, prints and ends as told.
    void job_that_ends(WorkloadPhase phase, std::int64_t code) {
        control::Submitted submitted;
        submitted.workload = job(WorkloadPhase::queued).workload;
        server.answers("POST /v1/workloads", submitted);
        server.answers("GET " + path_of(":await"), job(phase, code));
        server.answers("GET " + path_of("/logs"),
                       logs({"10 1.1 o hello\n30 1.1 o bye\n", "20 1.1 e world\n"}, true));
        EventView finished;
        finished.sequence = 9;
        finished.type = "WorkloadFinished";
        finished.subject = "job/charlm";
        EventView failed;
        failed.sequence = 8;
        failed.type = "GenerationClosed";
        failed.level = "warning";
        failed.subject = "job/charlm";
        failed.text = "generation 1 ended";
        EventView other = failed;
        other.subject = "job/other";
        other.text = "not ours";
        server.events = {other, failed, finished};
    }

    FakeServer server;
};

TEST_F(Commands, RunPrintsLogsAndEndsAsTheJobDoes) {
    job_that_ends(WorkloadPhase::failed, 137);
    const Ran ran = muster({"run", "--ranks", "2", "--", "/bin/sh", "-c", "exit 1", "--nodes"});
    EXPECT_EQ(ran.code, 137) << ran.err;
    EXPECT_EQ(ran.out, "[0] hello\n[1] world\n[0] bye\n");
    EXPECT_NE(ran.err.find("charlm submitted: 2 ranks, 2 devices"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("generation 1 ended"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("not ours"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("charlm failed after 5.0 s with exit code 137"), std::string::npos)
        << ran.err;

    const auto asked = server.asked("POST /v1/workloads");
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].header("authorization"), "Bearer user");
    EXPECT_EQ(asked[0].header("client-token").size(), id_text_length);
    const auto spec = codec::from_json<WorkloadSpec>(asked[0].body);
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->roles[0].command,
              (std::vector<std::string>{"/bin/sh", "-c", "exit 1", "--nodes"}));
    EXPECT_EQ(spec->roles[0].ranks, 2);
}

TEST_F(Commands, RunEndsWith0AndNeverWith0WhereTheJobFailed) {
    job_that_ends(WorkloadPhase::succeeded, 0);
    EXPECT_EQ(muster({"run", "--", "/bin/true"}).code, 0);
    job_that_ends(WorkloadPhase::cancelled, 0);
    EXPECT_EQ(muster({"run", "--", "/bin/true"}).code, 1);
}

TEST_F(Commands, RunDetachedPrintsTheNameOnly) {
    job_that_ends(WorkloadPhase::succeeded, 0);
    const Ran ran = muster({"run", "-d", "-e", "A=1", "-e", "B=2", "/bin/true", "-x"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "charlm\n");
    const auto spec = codec::from_json<WorkloadSpec>(server.asked("POST /v1/workloads")[0].body);
    EXPECT_EQ(spec->roles[0].command, (std::vector<std::string>{"/bin/true", "-x"}));
    EXPECT_EQ(spec->roles[0].env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}}));
}

TEST_F(Commands, DryRunAsksForNothingToHappen) {
    control::Submitted submitted;
    submitted.plan = {{{}, "needs 1 devices, 4 were free", ""}};
    server.on("POST /v1/workloads", [&](const http::HttpRequest& request) {
        EXPECT_EQ(request.query.at("dry_run"), "true");
        http::HttpResponse response;
        response.body = codec::to_json(submitted);
        return response;
    });
    const Ran ran = muster({"run", "--dry-run", "--", "/bin/true"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("- /bin/true"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("4 were free"), std::string::npos) << ran.out;
}

TEST_F(Commands, ARunningJobIsNotExplainedByItsPlacement) {
    auto detail = job(WorkloadPhase::running);
    detail.workload.condition = WorkloadCondition::training;
    detail.workload.reason = {ReasonCode::fits, "", 4, 4, ""};
    server.answers("GET /v1/workloads/charlm", detail);
    const Ran runs = muster({"job", "charlm"});
    EXPECT_NE(runs.out.find("training\n"), std::string::npos) << runs.out;
    EXPECT_EQ(runs.out.find("4 were free"), std::string::npos) << runs.out;
    detail.workload.phase = WorkloadPhase::stopping;
    detail.workload.reason = {ReasonCode::cancelled_by_user, "user:me", 0, 0, ""};
    server.answers("GET /v1/workloads/charlm", detail);
    const Ran stops = muster({"job", "charlm"});
    EXPECT_NE(stops.out.find("stopping: cancelled by user:me"), std::string::npos) << stops.out;
}

TEST_F(Commands, ErrorsOfTheServerBecomeExitCodes) {
    const std::vector<std::pair<Code, int>> cases = {
        {Code::invalid_argument, 2},  {Code::not_found, 3}, {Code::failed_precondition, 4},
        {Code::permission_denied, 4}, {Code::internal, 1},  {Code::unavailable, 5}};
    for (const auto& [code, expected] : cases) {
        server.fails("GET /v1/workloads/x", {code, "what happened", "what to do", "job"});
        const Ran ran = muster({"job", "x"});
        EXPECT_EQ(ran.code, expected) << code_name(code);
        EXPECT_EQ(ran.err, "error: what happened (job) - what to do\n");
        EXPECT_EQ(ran.out, "");
    }
}

TEST_F(Commands, WaitEndsAsTheJobOrWith124) {
    server.answers("GET /v1/workloads/charlm:await", job(WorkloadPhase::failed, 3));
    EXPECT_EQ(muster({"wait", "charlm"}).code, 3);
    server.answers("GET /v1/workloads/charlm:await", job(WorkloadPhase::running));
    EXPECT_EQ(muster({"wait", "charlm", "--timeout", "1ms"}).code, 124);
    EXPECT_EQ(muster({"wait", "nobody"}).code, 3);
    EXPECT_EQ(muster({"wait", "charlm", "--timeout", "5"}).code, 2);
}

TEST_F(Commands, CancelWaitsForEachJob) {
    const std::string path = "POST /v1/workloads/";
    server.answers(path + "a:cancel", job(WorkloadPhase::stopping));
    server.answers(path + "b:cancel", job(WorkloadPhase::stopping));
    server.answers("GET " + path_of(":await"), job(WorkloadPhase::cancelled));
    const Ran ran = muster({"cancel", "--wait", "a", "b"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "charlm cancelled\ncharlm cancelled\n");
}

TEST_F(Commands, LogsAreMergedFilteredAndCut) {
    server.answers("GET /v1/workloads/charlm", job(WorkloadPhase::succeeded));
    server.answers("GET " + path_of("/logs"),
                   logs({"10 1.1 o one\n30 1.1 o three\n", "20 1.1 o two\n40 1.1 o four\n"}, true));
    EXPECT_EQ(muster({"logs", "charlm"}).out, "[0] one\n[1] two\n[0] three\n[1] four\n");
    EXPECT_EQ(muster({"logs", "charlm", "--tail", "2"}).out, "[0] three\n[1] four\n");
    EXPECT_EQ(muster({"logs", "charlm", "--grep", "^t"}).out, "[1] two\n[0] three\n");
    EXPECT_EQ(muster({"logs", "charlm", "--rank", "7"}).code, 3);
    EXPECT_EQ(muster({"logs", "charlm", "--grep", "("}).code, 2);
    EXPECT_EQ(muster({"logs", "charlm", "--since", "soon"}).code, 2);
    EXPECT_EQ(muster({"logs", "nobody"}).code, 3);
    // Finished jobs end a follow at once.
    EXPECT_EQ(muster({"logs", "-f", "charlm"}).code, 0);
}

TEST_F(Commands, LogsSayWhichNodesAreAway) {
    server.answers("GET /v1/workloads/charlm", job(WorkloadPhase::succeeded));
    JobLogs partly = logs({"10 1.1 o one\n"}, false);
    partly.errors = {"node n2 is not in contact"};
    server.answers("GET " + path_of("/logs"), partly);
    const Ran ran = muster({"logs", "charlm"});
    EXPECT_EQ(ran.code, 5);
    EXPECT_EQ(ran.out, "[0] one\n");
    EXPECT_TRUE(ran.err.starts_with("logs are incomplete: node n2 is not in contact\n"
                                    "some lines of charlm were not read: "))
        << ran.err;
}

TEST_F(Commands, ListsInEveryForm) {
    control::WorkloadPage first;
    first.items = {job(WorkloadPhase::running).workload};
    first.next = "more";
    control::WorkloadPage second;
    second.items = {job(WorkloadPhase::queued).workload};
    second.items[0].name.text = "next-one";
    server.on("GET /v1/workloads", [&](const http::HttpRequest& request) {
        http::HttpResponse response;
        response.body = codec::to_json(request.query.contains("after") ? second : first);
        return response;
    });
    EXPECT_EQ(muster({"jobs", "-o", "name"}).out, "charlm\nnext-one\n");
    const auto items =
        codec::from_json<std::vector<WorkloadView>>(muster({"jobs", "-o", "json"}).out);
    ASSERT_TRUE(items) << to_text(items.error());
    EXPECT_EQ(items->size(), 2u);
    EXPECT_NE(muster({"jobs", "-o", "yaml"}).out.find("name: charlm"), std::string::npos);
    const Ran table = muster({"jobs"});
    EXPECT_TRUE(table.out.starts_with("NAME      STATE")) << table.out;
    EXPECT_NE(table.out.find("next-one  queued"), std::string::npos) << table.out;
    EXPECT_NE(muster({"jobs", "-o", "wide"}).out.find(to_text(id)), std::string::npos);
}

TEST_F(Commands, JobsInTheQueueSayWhyTheyWait) {
    control::WorkloadPage page;
    page.items = {job(WorkloadPhase::queued).workload};
    page.items[0].reason.code = ReasonCode::submitted;
    server.answers("GET /v1/workloads", page);
    WhyView why;
    why.items.push_back({{ReasonCode::waiting_for_devices, "", 1, 8, ""}, "", ""});
    server.answers("GET " + path_of("/why"), why);
    EXPECT_NE(muster({"jobs"}).out.find("needs 8 devices, 1 is free"), std::string::npos);
}

TEST_F(Commands, NodesAreCordonedWithAReason) {
    NodeView node;
    node.name.text = "n1";
    server.answers("POST /v1/nodes/n1:cordon", node);
    const Ran ran = muster({"node", "cordon", "n1", "--reason", "new \"cables\""});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(server.asked("POST /v1/nodes/n1:cordon")[0].body,
              "{\"reason\":\"new \\\"cables\\\"\"}");
    EXPECT_EQ(muster({"node", "uncordon", "n9"}).code, 3);
}

TEST_F(Commands, JobsMayBeCalledLikeVerbs) {
    auto run = job(WorkloadPhase::running);
    run.workload.name.text = "run";
    server.answers("GET /v1/workloads/run", run);
    const Ran ran = muster({"job", "run"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with("Name       run\n")) << ran.out;
}

TEST(Unreachable, SaysWhereItLooked) {
    const std::string state = testing::TempDir() + "cli-state-" + std::to_string(getpid());
    std::filesystem::create_directories(state);
    Ran ran = muster({"jobs", "--state", state});
    EXPECT_EQ(ran.code, 5);
    EXPECT_NE(ran.err.find(state + "/client.json"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("muster up"), std::string::npos) << ran.err;

    std::ofstream(state + "/client.json") << R"({"server": "http://127.0.0.1:9", "token": "t"})";
    ran = muster({"--state", state, "jobs"});
    EXPECT_EQ(ran.code, 5);
    EXPECT_NE(ran.err.find("http://127.0.0.1:9"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(state + "/client.json"), std::string::npos) << ran.err;

    ran = muster({"nodes", "--server", "http://127.0.0.1:9"});
    EXPECT_EQ(ran.code, 5);
    EXPECT_NE(ran.err.find("--server"), std::string::npos) << ran.err;
    std::filesystem::remove_all(state);
}

TEST(Usage, TypingErrorsGetASuggestion) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"jbos"}, "\"jobs\""},
        {{"run", "--nproc-per-nod", "2", "--", "x"}, "--nproc-per-node"},
        {{"jobs", "--al"}, "--all"},
        {{"node", "cordn", "n1"}, "muster node --help"},
        {{"jobs", "-o", "jsn"}, "table, wide, json, yaml, name"},
        {{"logs"}, "JOB"}};
    for (const auto& [words, hint] : cases) {
        const Ran ran = muster(words);
        EXPECT_EQ(ran.code, 2) << words[0];
        EXPECT_NE(ran.err.find(hint), std::string::npos) << ran.err;
    }
    EXPECT_EQ(muster({}).code, 2);
    EXPECT_EQ(muster({"--help"}).code, 0);
    EXPECT_EQ(muster({"help", "run"}).out, muster({"run", "--help"}).out);
}

} // namespace
} // namespace muster::cli
