// What is described once and written twice must agree: routes, metrics, OpenAPI, docs.

#include "api/metrics.hpp"
#include "api/route.hpp"
#include "codec/json.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace muster::api {
namespace {

std::string read(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.good()) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Feeds `text` to a command's input; its exit code.
int pipe_to(const std::string& command, const std::string& text) {
    FILE* pipe = ::popen(command.c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), pipe);
    return ::pclose(pipe);
}

TEST(Routes, AreDocumentedAndUnique) {
    const std::string docs = read(std::string(MUSTER_SOURCE_DIR) + "/docs/api.md");
    const std::string document = openapi("1.2.3");
    std::set<std::string> ids;
    for (const auto& route : routes()) {
        const std::string line = std::string(route.method) + ' ' + std::string(route.pattern);
        EXPECT_NE(docs.find('`' + line + '`'), std::string::npos)
            << "docs/api.md lacks `" << line << "`";
        EXPECT_NE(document.find('"' + std::string(route.pattern) + '"'), std::string::npos) << line;
        EXPECT_TRUE(ids.insert(std::string(route.id)).second) << route.id;
        EXPECT_FALSE(route.allowed.empty()) << line;
        EXPECT_NE(route.handler, nullptr) << line;
    }
}

TEST(Routes, OpenApiIsValid) {
    const std::string check =
        "python3 -c \"import json,sys\n"
        "d = json.load(sys.stdin)\n"
        "assert d['openapi'].startswith('3.0'), d['openapi']\n"
        "assert d['info']['version'] == '1.2.3'\n"
        "schemas = d['components']['schemas']\n"
        "def refs(x):\n"
        "    if isinstance(x, dict):\n"
        "        if '\\$ref' in x: yield x['\\$ref']\n"
        "        for v in x.values(): yield from refs(v)\n"
        "    if isinstance(x, list):\n"
        "        for v in x: yield from refs(v)\n"
        "for r in refs(d):\n"
        "    at = d\n"
        "    for part in r[2:].split('/'): at = at[part]\n"
        "seen = set()\n"
        "for path, item in d['paths'].items():\n"
        "    for method, op in item.items():\n"
        "        assert op['operationId'] not in seen; seen.add(op['operationId'])\n"
        "        assert op['responses'] and op['summary'], path\n"
        "        declared = {p['name'] for p in op['parameters'] if p['in'] == 'path'}\n"
        "        import re; assert declared == set(re.findall(r'{(\\w+)}', path)), path\n"
        "assert len(seen) >= 22, len(seen)\n\"";
    EXPECT_EQ(pipe_to(check, openapi("1.2.3")), 0);
}

TEST(Routes, MatchWhatTheyShould) {
    std::map<std::string, std::string> out;
    EXPECT_TRUE(match("/v1/workloads/{job}", "/v1/workloads/a", out));
    EXPECT_EQ(out["job"], "a");
    EXPECT_TRUE(match("/v1/workloads/{job}:cancel", "/v1/workloads/a:cancel", out));
    EXPECT_EQ(out["job"], "a");
    EXPECT_FALSE(match("/v1/workloads/{job}", "/v1/workloads/a:cancel", out));
    EXPECT_FALSE(match("/v1/workloads/{job}:cancel", "/v1/workloads/a", out));
    EXPECT_FALSE(match("/v1/workloads/{job}:cancel", "/v1/workloads/:cancel", out));
    EXPECT_FALSE(match("/v1/workloads/{job}", "/v1/workloads/", out));
    EXPECT_FALSE(match("/v1/workloads/{job}", "/v1/workloads/a/b", out));
    EXPECT_FALSE(match("/v1/workloads", "/v1/workloads/a", out));
    EXPECT_TRUE(match("/v1/workloads/{job}/why", "/v1/workloads/a/why", out));
}

TEST(Metrics, AreDocumentedBoundedAndClean) {
    const std::string docs = read(std::string(MUSTER_SOURCE_DIR) + "/docs/metrics.md");
    ClusterCounts counts;
    counts.nodes_by_state["in_service"] = 2;
    counts.workloads_by_phase["running"] = 1;
    counts.restarts_by_reason["rank_failed"] = 3;
    HttpMeter meter;
    meter.count("getServer", 200, std::chrono::milliseconds(3));
    meter.count("none", 404, std::chrono::seconds(100));
    const std::string text = metrics_text(counts, {}, meter, 4);
    for (const auto& metric : metrics()) {
        const std::string name(metric.name);
        EXPECT_NE(docs.find("| " + name + " |"), std::string::npos)
            << "docs/metrics.md lacks " << name;
        EXPECT_NE(text.find("# TYPE " + name + ' '), std::string::npos)
            << name << " is not written";
        EXPECT_NE(metric.label, "rank");
    }
    EXPECT_NE(text.find("muster_http_request_seconds_bucket{le=\"0.005\"} 1\n"), std::string::npos);
    EXPECT_NE(text.find("muster_http_request_seconds_bucket{le=\"+Inf\"} 2\n"), std::string::npos);
    if (std::system("command -v promtool >/dev/null") != 0)
        GTEST_SKIP() << "promtool is not installed (package prometheus)";
    EXPECT_EQ(pipe_to("promtool check metrics", text), 0);
}

FactRecord fact(control::Ledger& ledger, Fact made) {
    FactRecord record{ledger.last_sequence + 1, Instant{1}, "controller", std::move(made)};
    ledger.apply(record);
    return record;
}

GenerationClosed closed(const WorkloadId& id, Generation generation, ReasonCode code) {
    GenerationClosed closed;
    closed.id = id;
    closed.attempt = 1;
    closed.summary.generation = generation;
    closed.summary.cause = ExitCause{};
    closed.summary.cause->reason.code = code;
    return closed;
}

TEST(Metrics, CountRestartsThatHappenedAndNoLastFailures) {
    control::Ledger ledger;
    std::vector<FactRecord> facts;
    WorkloadSubmitted submitted;
    submitted.id = WorkloadId::make(Instant{1'000'000}, 1, 2);
    submitted.name = WorkloadName{"a"};
    const WorkloadId id = submitted.id;
    AttemptEnded lost{id, 1, AttemptOutcome::lost, {}, {ReasonCode::node_lost, "", 0, 0, ""}};
    GenerationClosed stopped = closed(id, 1, ReasonCode::cancelled_by_user);
    stopped.attempt = 2;
    for (const Fact& made : std::vector<Fact>{
             submitted, WorkloadAdmitted{id, 1, {}, {}}, GenerationStarted{id, 1, 1, 1, 1},
             closed(id, 1, ReasonCode::rank_failed), GenerationStarted{id, 1, 1, 2, 1},
             closed(id, 2, ReasonCode::early_exit), GenerationStarted{id, 1, 1, 3, 1}, lost,
             WorkloadRequeued{id, {}, {}}, WorkloadAdmitted{id, 2, {}, {}},
             GenerationStarted{id, 2, 1, 1, 1}, WorkloadStopAsked{id, {}}, stopped})
        facts.push_back(fact(ledger, made));
    ClusterCounts counts;
    count_restarts(facts, ledger, counts);
    const std::map<std::string, std::int64_t> expected{
        {"rank_failed", 1}, {"early_exit", 1}, {"node_lost", 1}};
    EXPECT_EQ(counts.restarts_by_reason, expected);
    EXPECT_EQ(ledger.workload(id)->restarts, 3);
}

} // namespace
} // namespace muster::api
