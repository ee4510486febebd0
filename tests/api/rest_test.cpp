#include "api/rest.hpp"
#include "io/http/client.hpp"

#include <gtest/gtest.h>

namespace muster::api {
namespace {

const std::string user_token = "user-token-0123456789abcdef0123456789";
const std::string node_token = "node-token-0123456789abcdef0123456789";

/// Takes what is asked and answers at once through `react`.
class FakeBackend final : public Backend {
  public:
    Status ask(control::ControlEvent event) override {
        if (!accepts) return fail(Code::unavailable, "full");
        asked.push_back(event);
        if (react) react(asked.back());
        return ok();
    }
    void cancel(std::int64_t reply) override {
        const std::lock_guard lock(mutex);
        cancelled.push_back(reply);
        changed.notify_all();
    }
    Status count(std::function<void(const ClusterCounts&)> take) override {
        take({});
        return ok();
    }
    Status ready() override { return accepts ? ok() : fail(Code::unavailable, "not yet"); }
    void draw(std::uint64_t& high, std::uint64_t& low) override { high = low = 7; }

    bool accepts = true;
    std::vector<control::ControlEvent> asked;
    std::function<void(const control::ControlEvent&)> react;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::int64_t> cancelled;
};

class RestTest : public ::testing::Test {
  protected:
    void SetUp() override {
        feed_.start(0, {});
        http::HttpServerOptions options;
        options.sweep_every = Duration::millis(10);
        server_ = std::move(*http::HttpServer::start(
            options, [this](http::HttpRequest request, http::Responder responder) {
                rest_.handle(std::move(request), std::move(responder));
            }));
        backend_.react = [this](const control::ControlEvent& event) { answer(event); };
    }
    void TearDown() override {
        server_->stop(Duration{});
        feed_.stop();
    }

    /// Every request of a user gets an empty ServerView; beats get empty orders.
    void answer(const control::ControlEvent& event) {
        if (const auto* agent = std::get_if<control::AgentAsked>(&event))
            rest_.answer(control::AnswerAgent{agent->reply, AgentOrder{}});
        if (const auto* request = std::get_if<control::RequestAsked>(&event))
            rest_.answer(
                control::AnswerRequest{request->reply, Result<control::Response>(ServerView{})});
    }

    http::HttpResponse call(std::string method, std::string target, std::string body = {},
                            std::map<std::string, std::string> headers = {},
                            const std::string& token = user_token) {
        auto client = http::HttpClient::make(server_->url(), token);
        http::HttpCall call;
        call.method = std::move(method);
        call.target = std::move(target);
        call.body = std::move(body);
        if (headers.contains("content-type")) {
            call.content_type = headers["content-type"];
            headers.erase("content-type");
        }
        call.headers = std::move(headers);
        const auto answer = client->request(call);
        EXPECT_TRUE(answer) << answer.error().message;
        return answer ? *answer : http::HttpResponse{};
    }
    template <class R>
    R last_request() {
        return std::get<R>(std::get<control::RequestAsked>(backend_.asked.back()).request);
    }

    FakeBackend backend_;
    EventFeed feed_{[](Sequence, std::size_t) -> Result<std::vector<FactRecord>> {
        return std::vector<FactRecord>{};
    }};
    Rest rest_{{user_token, node_token, "me", "1.2.3"}, backend_, feed_};
    std::unique_ptr<http::HttpServer> server_;
};

TEST_F(RestTest, ChecksTokensAndPrincipals) {
    EXPECT_EQ(call("GET", "/v1/server", "", {}, "").status, 401);
    EXPECT_EQ(call("GET", "/v1/server", "", {}, "wrong").status, 401);
    EXPECT_EQ(call("GET", "/v1/server", "", {}, user_token + "x").status, 401);
    EXPECT_EQ(call("GET", "/v1/server", "", {}, user_token.substr(1)).status, 401);
    EXPECT_EQ(call("GET", "/v1/server", "", {{"Authorization", "Basic eDp5"}}, "").status, 401);
    EXPECT_EQ(call("GET", "/v1/nodes", "", {}, node_token).status, 403);
    EXPECT_EQ(call("POST", "/v1/agents:beat", "{}", {}, user_token).status, 403);
    EXPECT_TRUE(backend_.asked.empty());
    EXPECT_EQ(call("GET", "/v1/server").status, 200);
    EXPECT_EQ(call("GET", "/v1/server", "", {}, node_token).status, 200);
    for (const char* open : {"/healthz", "/readyz", "/metrics", "/openapi.json"})
        EXPECT_EQ(call("GET", open, "", {}, "").status, 200) << open;
}

TEST_F(RestTest, UnknownPathsAndMethodsGetSuggestions) {
    const auto path = call("GET", "/v1/node");
    EXPECT_EQ(path.status, 404);
    EXPECT_NE(path.body.find("/v1/nodes"), std::string::npos);
    const auto method = call("DELETE", "/v1/nodes");
    EXPECT_EQ(method.status, 405);
    EXPECT_EQ(method.headers.at("allow"), "GET");
    EXPECT_EQ(call("GET", "/v1/workloads/x:stop").status, 404);
    EXPECT_EQ(call("POST", "/v1/workloads/x:cancel").status, 200);
    EXPECT_EQ(last_request<control::Cancel>().job, "x");
}

TEST_F(RestTest, QueryParametersAreChecked) {
    EXPECT_NE(call("GET", "/v1/nodes?limt=3").body.find("limit"), std::string::npos);
    for (const char* bad : {"limit=x", "limit=-1", "limit=0", "limit=1001", "limit=", "limit=1e3",
                            "limit=99999999999999999999"})
        EXPECT_EQ(call("GET", std::string("/v1/nodes?") + bad).status, 400) << bad;
    EXPECT_NE(call("GET", "/v1/workloads?limit=0").body.find("at least 1"), std::string::npos);
    EXPECT_EQ(call("GET", "/v1/workloads?all=maybe").status, 400);
    EXPECT_EQ(call("GET", "/v1/workloads/x:await?hold=30").status, 400);
    EXPECT_EQ(call("GET", "/v1/workloads/x:await?hold=-1s").status, 400);
    EXPECT_TRUE(backend_.asked.empty());
    call("GET", "/v1/workloads/x:await?hold=10h");
    EXPECT_EQ(last_request<control::AwaitWorkload>().hold, control::hold_max);
    call("GET", "/v1/workloads?all&limit=7&after=p");
    const auto list = last_request<control::ListWorkloads>();
    EXPECT_TRUE(list.all);
    EXPECT_EQ(list.limit, 7);
    EXPECT_EQ(list.after, "p");
}

TEST_F(RestTest, OnlyWhatWasMadeIsAnsweredWith201) {
    control::Submitted submitted;
    backend_.react = [&](const control::ControlEvent& event) {
        const auto& request = std::get<control::RequestAsked>(event);
        rest_.answer(control::AnswerRequest{request.reply, Result<control::Response>(submitted)});
    };
    const std::string json = R"({"name":"a","workdir":"/w","roles":[{"ranks":2,"command":["x"]}]})";
    EXPECT_EQ(call("POST", "/v1/workloads", json).status, 201);
    submitted.dry_run = true; // with an empty plan too
    EXPECT_EQ(call("POST", "/v1/workloads?dry_run=true", json).status, 200);
    submitted = {};
    submitted.existed = true;
    EXPECT_EQ(call("POST", "/v1/workloads", json).status, 200);
}

TEST_F(RestTest, SubmitsFromJsonAndYaml) {
    const std::string json = R"({"name":"a","workdir":"/w","roles":[{"ranks":2,"command":["x"]}]})";
    call("POST", "/v1/workloads?dry_run=true", json, {{"Client-Token", "t-1"}});
    auto submit = last_request<control::Submit>();
    EXPECT_EQ(submit.client_token, "t-1");
    EXPECT_TRUE(submit.dry_run);
    EXPECT_EQ(submit.spec.roles.at(0).ranks, 2);
    call("POST", "/v1/workloads", "workdir: /w\nroles:\n- {ranks: 3, command: [x]}\n",
         {{"content-type", "application/yaml; charset=utf-8"}});
    EXPECT_EQ(last_request<control::Submit>().spec.roles.at(0).ranks, 3);
    EXPECT_EQ(std::get<control::RequestAsked>(backend_.asked.back()).actor, "user:me");
}

TEST_F(RestTest, RefusesBadSpecs) {
    for (const char* bad : {"", "{", "[]", "null", R"({"roles":[]})",
                            R"({"workdir":"/w","roles":[{"rnks":2,"command":["x"]}]})",
                            R"({"workdir":"/w","roles":[{"ranks":0,"command":["x"]}]})",
                            R"({"workdir":"/w","roles":[{"ranks":1000000000,"command":["x"]}]})",
                            R"({"workdir":"/w","stop_grace":15,"roles":[{"command":["x"]}]})"}) {
        const auto answer = call("POST", "/v1/workloads", bad);
        EXPECT_EQ(answer.status, 400) << bad;
        EXPECT_EQ(http::error_of(answer).code, Code::invalid_argument) << bad;
    }
    EXPECT_EQ(call("POST", "/v1/workloads", "<x/>", {{"content-type", "text/xml"}}).status, 400);
    EXPECT_EQ(call("POST", "/v1/workloads", "{}", {{"Client-Token", std::string(129, 'x')}}).status,
              400);
    EXPECT_TRUE(backend_.asked.empty());
}

TEST_F(RestTest, ReadsLogPlaces) {
    call("GET", "/v1/workloads/j/logs?ranks=0,1,2&from=1:-4096,2@n2:5&bytes_max=100");
    auto logs = last_request<control::ReadJobLogs>();
    ASSERT_EQ(logs.positions.size(), 3u);
    EXPECT_EQ(logs.positions[0], (LogPosition{1, {}, -4096}));
    EXPECT_EQ(logs.positions[1], (LogPosition{2, NodeName{"n2"}, 5}));
    EXPECT_EQ(logs.positions[2], (LogPosition{0, {}, 0}));
    EXPECT_EQ(logs.bytes_max, 100);
    for (const char* bad :
         {"ranks=x", "ranks=-1", "from=1:", "from=1:x", "ranks=100000", "ranks=,", "from=1@BAD:3"})
        EXPECT_EQ(call("GET", std::string("/v1/workloads/j/logs?") + bad).status, 400) << bad;
}

TEST_F(RestTest, OverloadIs503WithRetryAfter) {
    backend_.accepts = false;
    const auto answer = call("GET", "/v1/server");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.headers.at("retry-after"), "1");
    EXPECT_EQ(call("GET", "/readyz").status, 503);
    EXPECT_EQ(call("GET", "/healthz").status, 200);
}

TEST_F(RestTest, BeatsMayKnowMoreThanWe) {
    const std::string beat = R"({"node":"n1","boot_id":"b","session":"01jdzzzzzz0000000000000000",)"
                             R"("asked":1,"from_the_future":{"x":1}})";
    EXPECT_EQ(call("POST", "/v1/agents:beat?hold=1s", beat, {}, node_token).status, 200);
    EXPECT_EQ(std::get<control::AgentAsked>(backend_.asked.back()).hold, Duration::seconds(1));
    EXPECT_EQ(call("POST", "/v1/agents:beat", R"({"node":"n1"})", {}, node_token).status, 400);
    EXPECT_EQ(call("POST", "/v1/agents:beat",
                   R"({"node":"N 1","boot_id":"","session":"","asked":0})", {}, node_token)
                  .status,
              400);
}

TEST_F(RestTest, AClientThatGoesCancelsItsRequest) {
    backend_.react = {};
    auto client = http::HttpClient::make(server_->url(), user_token);
    http::HttpCall call;
    call.target = "/v1/workloads/x:await";
    call.deadline = Duration::millis(1); // gives up
    while (backend_.cancelled.empty()) {
        EXPECT_FALSE(client->request(call));
        std::unique_lock lock(backend_.mutex);
        backend_.changed.wait_for(lock, std::chrono::seconds(1),
                                  [&] { return !backend_.cancelled.empty(); });
    }
    EXPECT_GE(backend_.cancelled.front(), 1);
}

TEST_F(RestTest, StreamsRefuseBadPlaces) {
    EXPECT_EQ(call("GET", "/v1/events:stream?after=x").status, 400);
    EXPECT_EQ(call("GET", "/v1/events:stream", "", {{"Last-Event-ID", "x"}}).status, 400);
    EXPECT_EQ(call("GET", "/v1/events:stream", "", {{"Last-Event-ID", "-3"}}).status, 400);
    EXPECT_EQ(call("GET", "/v1/events?after=5").body, "{\"items\":[],\"next\":5}");
}

TEST_F(RestTest, EveryOperationIsCounted) {
    for (const auto& route : routes()) {
        std::string target(route.pattern);
        for (const std::string name : {"{job}", "{node}"})
            if (const auto at = target.find(name); at != std::string::npos)
                target.replace(at, name.size(), "x");
        const std::string& token =
            route.allowed.front() == Principal::node ? node_token : user_token;
        const auto before = rest_.meter().counted(route.id);
        if (route.content_type == "text/event-stream") {
            auto client = http::HttpClient::make(server_->url(), token);
            http::HttpCall call;
            call.target = target;
            feed_.publish({{1, Instant{1}, "user:x", WorkloadForgotten{}}});
            (void)client->stream(call, [](const auto&) { return false; });
        } else {
            call(std::string(route.method), target, route.method == "POST" ? "{}" : "", {}, token);
        }
        EXPECT_EQ(rest_.meter().counted(route.id), before + 1) << route.id << " " << target;
    }
}

} // namespace
} // namespace muster::api
