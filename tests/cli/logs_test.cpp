// muster logs against a server whose nodes write, fall silent and come back between two rounds.

#include "fake_server.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace muster::cli {
namespace {

const WorkloadId id = WorkloadId::make(Instant{1'796'061'600'000'000'000}, 1, 2);

/// The log of one rank on each of some nodes, served as agents and the server serve it.
class FakeLogs {
  public:
    struct Node {
        std::string text;      // stored lines
        bool silent = false;   // the server gets no answer from it
        std::string each_read; // grows by it at each read; "%" becomes the number of the read
    };

    /// One rank a node: n0 has rank 0, n1 has rank 1 ...
    std::vector<Node> nodes;
    std::int64_t bytes_max = 1'000'000; // of one answer, for each node
    int reads_max = 50;                 // more are a client that never ends: it gets an error
    int reads = 0;
    bool over = false; // the job
    /// Called before each read.
    std::function<void(FakeLogs&)> before_read;

    http::HttpResponse serve(const http::HttpRequest& request) {
        if (before_read) before_read(*this);
        if (++reads > reads_max)
            return http::error_response({Code::internal, "asked without end", "", ""});
        JobLogs answer;
        bool all_ended = true;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto from = asked_of(request.query.at("from"), i);
            if (!from) continue;
            if (nodes[i].silent) {
                answer.errors.push_back("node n" + std::to_string(i) + " is not in contact");
                continue;
            }
            answer.chunks.push_back(chunk(i, *from));
            all_ended = all_ended && answer.chunks.back().end_of_log;
        }
        answer.finished = over && all_ended && answer.errors.empty();
        http::HttpResponse response;
        response.body = codec::to_json(answer);
        return response;
    }

  private:
    /// Where rank i is to be read, by "0:0,1@n1:20".
    static std::optional<std::int64_t> asked_of(const std::string& from, std::size_t i) {
        std::istringstream items(from);
        for (std::string item; std::getline(items, item, ',');) {
            const auto colon = item.find(':');
            const auto rank = item.substr(0, std::min(colon, item.find('@')));
            if (rank == std::to_string(i)) return std::stoll(item.substr(colon + 1));
        }
        return std::nullopt;
    }

    LogChunk chunk(std::size_t i, std::int64_t from) {
        auto& text = nodes[i].text;
        std::string more = nodes[i].each_read;
        if (const auto at = more.find('%'); at != std::string::npos)
            more.replace(at, 1, std::to_string(reads));
        text += more;
        const auto end = static_cast<std::int64_t>(text.size());
        if (from < 0) from = std::max<std::int64_t>(0, end + from);
        if (from > 0 && from < end) { // a line's begin, as the agent serves it
            const auto line_end = text.find('\n', static_cast<std::size_t>(from - 1));
            from = line_end == std::string::npos ? end : static_cast<std::int64_t>(line_end + 1);
        }
        LogChunk made;
        made.rank = static_cast<std::int64_t>(i);
        made.node.text = "n" + std::to_string(i);
        made.from = from;
        made.text = text.substr(static_cast<std::size_t>(std::min(from, end)));
        if (static_cast<std::int64_t>(made.text.size()) > bytes_max)
            made.text.resize(made.text.rfind('\n', static_cast<std::size_t>(bytes_max) - 1) + 1);
        made.next = from + static_cast<std::int64_t>(made.text.size());
        made.end_of_log = over && made.next >= end;
        return made;
    }
};

class Logs : public testing::Test {
  protected:
    void serve(WorkloadPhase phase) {
        WorkloadDetail detail;
        detail.workload.id = id;
        detail.workload.name.text = "charlm";
        detail.workload.phase = phase;
        detail.workload.ranks = static_cast<std::int64_t>(logs.nodes.size());
        detail.workload.attempt = 1;
        logs.over = is_terminal(phase);
        server.answers("GET /v1/workloads/charlm", detail);
        server.on("GET /v1/workloads/" + to_text(id) + "/logs",
                  [this](const auto& request) { return logs.serve(request); });
    }

    FakeLogs logs; // first: the server's threads use it
    FakeServer server;
};

TEST_F(Logs, EndWhereTheLogEndedAtTheStartThoughTheJobPrintsOn) {
    logs.nodes = {{.text = "10 1.1 o one\n20 1.1 o two\n30 1.1 o three\n",
                   .silent = false,
                   .each_read = "40 1.1 o later %\n"}};
    logs.bytes_max = 30; // two lines a round
    serve(WorkloadPhase::running);
    const Ran ran = muster({"logs", "charlm"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with("[0] one\n[0] two\n[0] three\n")) << ran.out;
    EXPECT_LT(logs.reads, 10);
    EXPECT_EQ(ran.err, "");
}

TEST_F(Logs, TailCountsFromTheEndAtTheStartThoughTheJobPrintsOn) {
    logs.nodes = {{.text = "10 1.1 o one\n20 1.1 o two\n30 1.1 o three\n",
                   .silent = false,
                   .each_read = "40 1.1 o later %\n"}};
    serve(WorkloadPhase::running);
    const Ran ran = muster({"logs", "charlm", "--tail", "2"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2) << ran.out;
    EXPECT_LT(logs.reads, 10);
}

TEST_F(Logs, EndThoughANodeFellSilentInTheMiddle) {
    logs.nodes = {{.text = "10 1.1 o one\n30 1.1 o three\n", .silent = false, .each_read = {}},
                  {.text = "20 1.1 o two\n40 1.1 o four\n", .silent = false, .each_read = {}}};
    logs.bytes_max = 15; // a line a round
    logs.before_read = [](FakeLogs& all) { all.nodes[1].silent = all.reads >= 2; };
    serve(WorkloadPhase::running);
    const Ran ran = muster({"logs", "charlm"});
    EXPECT_LT(logs.reads, 10);
    EXPECT_EQ(ran.out, "[0] one\n[1] two\n[0] three\n");
    EXPECT_EQ(ran.code, 5) << ran.err;
    EXPECT_NE(ran.err.find("logs are incomplete: node n1 is not in contact\n"), std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find("some lines of charlm were not read"), std::string::npos) << ran.err;
}

TEST_F(Logs, ShowTheRestWhereANodeNeverAnswers) {
    logs.nodes = {{.text = "10 1.1 o one\n20 1.1 o two\n", .silent = false, .each_read = {}},
                  {.text = {}, .silent = true, .each_read = {}}};
    serve(WorkloadPhase::failed);
    const Ran ran = muster({"logs", "charlm"});
    EXPECT_EQ(ran.out, "[0] one\n[0] two\n");
    EXPECT_EQ(ran.code, 5) << ran.err;
    EXPECT_LT(logs.reads, 10);
}

TEST_F(Logs, OfMoreRanksThanOneRoundAsksForAreReadWhole) {
    for (int rank = 0; rank < 300; ++rank)
        logs.nodes.push_back({.text = std::to_string(1000 - rank) + " 1.1 o line\n",
                              .silent = false,
                              .each_read = {}});
    serve(WorkloadPhase::running);
    const Ran ran = muster({"logs", "charlm"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 300);
    EXPECT_TRUE(ran.out.starts_with("[299] line\n[298] line\n")) << ran.out.substr(0, 40);
    EXPECT_LT(logs.reads, 20);
}

} // namespace
} // namespace muster::cli
