// The table of all operations, with their handlers.

#include "api/rest.hpp"

#include "base/text.hpp"
#include "codec/json.hpp"
#include "codec/yaml.hpp"
#include "model/spec.hpp"

#include <charconv>
#include <optional>
#include <set>

namespace muster::api {
namespace {

/// Body of node:cordon.
struct CordonBody {
    std::string reason;
};
MUSTER_DESCRIBE(CordonBody, reason)

http::HttpResponse text_response(std::string body, std::string type = "text/plain; charset=utf-8") {
    http::HttpResponse response;
    response.content_type = std::move(type);
    response.body = std::move(body);
    return response;
}

void refuse(Rest& rest, Call& call, const Error& error) {
    rest.respond(call, http::error_response(error));
}

bool is_client_token(std::string_view text) {
    if (text.size() > client_token_bytes_max) return false;
    for (const char c : text)
        if (c <= ' ' || c > '~') return false;
    return true;
}

Result<WorkloadSpec> spec_of(const http::HttpRequest& request) {
    std::string type(
        request.header("content-type").substr(0, request.header("content-type").find(';')));
    while (!type.empty() && type.back() == ' ') type.pop_back();
    const codec::DecodeOptions people{.unknown = codec::UnknownKeys::refuse,
                                      .bare_times = codec::BareTimes::refuse};
    auto spec = [&]() -> Result<WorkloadSpec> {
        if (type.empty() || type == "application/json" ||
            type == "application/x-www-form-urlencoded")
            return codec::from_json<WorkloadSpec>(request.body, people);
        if (type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml")
            return codec::from_yaml<WorkloadSpec>(request.body);
        return fail(Code::invalid_argument,
                    "a body of type \"" + to_valid_utf8(type) + "\" is not understood",
                    "send application/json or application/yaml", "content-type");
    }();
    if (!spec) return spec;
    return checked_spec(std::move(*spec));
}

void submit(Rest& rest, Call& call) {
    const std::string token(call.request.header("client-token"));
    if (!is_client_token(token))
        return refuse(rest, call,
                      {Code::invalid_argument, "the Client-Token is not usable",
                       "at most 128 visible ASCII characters", "client-token"});
    auto spec = spec_of(call.request);
    if (!spec) return refuse(rest, call, spec.error());
    const bool dry_run = call.flag("dry_run");
    rest.ask(call, control::Submit{std::move(*spec), token, dry_run});
}

void list_workloads(Rest& rest, Call& call) {
    rest.ask(call, control::ListWorkloads{call.flag("all"), call.integer("limit", 100),
                                          call.text("after")});
}
void get_workload(Rest& rest, Call& call) {
    rest.ask(call, control::GetWorkload{call.path["job"]});
}
void cancel(Rest& rest, Call& call) { rest.ask(call, control::Cancel{call.path["job"]}); }
void why(Rest& rest, Call& call) { rest.ask(call, control::Why{call.path["job"]}); }
void report(Rest& rest, Call& call) { rest.ask(call, control::GetReport{call.path["job"]}); }
void await_workload(Rest& rest, Call& call) {
    const Duration hold = std::min(call.duration("hold", Duration::seconds(30)), control::hold_max);
    rest.ask(call, control::AwaitWorkload{call.path["job"], hold});
}

bool parse_number(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

Error wrong_position(const char* parameter, std::string_view item) {
    return {Code::invalid_argument,
            "\"" + to_valid_utf8(item) + "\" in " + parameter + " is not a rank to read",
            "write ranks=0,1 and from=0:123,1@n2:-4096", parameter};
}

/// "1", "1:-4096" or "1@n2:-4096": a rank, the node whose file is meant, the byte to begin at.
std::optional<LogPosition> position_of(std::string_view item) {
    LogPosition position;
    const std::size_t colon = item.find(':');
    if (colon != std::string_view::npos && !parse_number(item.substr(colon + 1), position.from))
        return std::nullopt;
    const std::string_view who = item.substr(0, colon);
    const std::size_t at = who.find('@');
    if (at != std::string_view::npos) {
        auto node = parse_node_name(std::string(who.substr(at + 1)));
        if (!node) return std::nullopt;
        position.node = std::move(*node);
    }
    if (!parse_number(who.substr(0, at), position.rank)) return std::nullopt;
    if (position.rank < 0 || position.rank >= ranks_max) return std::nullopt;
    return position;
}

/// The places that `from` names, and the start of every other rank in `ranks`.
Result<std::vector<LogPosition>> positions_of(const Call& call) {
    std::vector<LogPosition> positions;
    std::set<std::int64_t> placed;
    for (const char* name : {"from", "ranks"}) {
        const std::string text = call.text(name);
        std::string_view rest = text;
        while (!rest.empty()) {
            const std::string_view item = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(rest.size(), item.size() + 1));
            auto position = position_of(item);
            if (!position) return fail(wrong_position(name, item));
            const bool fresh = placed.insert(position->rank).second;
            if (fresh || std::string_view(name) == "from")
                positions.push_back(std::move(*position));
        }
    }
    return positions;
}

void read_logs(Rest& rest, Call& call) {
    auto positions = positions_of(call);
    if (!positions) return refuse(rest, call, positions.error());
    rest.ask(call, control::ReadJobLogs{call.path["job"], std::move(*positions),
                                        call.integer("bytes_max", 256 * 1024)});
}

void list_nodes(Rest& rest, Call& call) {
    rest.ask(call, control::ListNodes{call.integer("limit", 100), call.text("after")});
}

/// The node's name of the path, or none after having answered.
bool node_of(Rest& rest, Call& call, NodeName& node) {
    auto parsed = parse_node_name(call.path["node"]);
    if (!parsed) refuse(rest, call, parsed.error());
    if (parsed) node = std::move(*parsed);
    return parsed.has_value();
}
void get_node(Rest& rest, Call& call) {
    NodeName node;
    if (node_of(rest, call, node)) rest.ask(call, control::GetNode{std::move(node)});
}
void cordon(Rest& rest, Call& call) {
    NodeName node;
    if (!node_of(rest, call, node)) return;
    const auto body = call.request.body.empty() ? Result<CordonBody>(CordonBody{})
                                                : codec::from_json<CordonBody>(call.request.body);
    if (!body) return refuse(rest, call, body.error());
    rest.ask(call, control::CordonNode{std::move(node), body->reason});
}
void uncordon(Rest& rest, Call& call) {
    NodeName node;
    if (node_of(rest, call, node)) rest.ask(call, control::UncordonNode{std::move(node)});
}
void get_server(Rest& rest, Call& call) { rest.ask(call, control::GetServer{}); }

void agent_beat(Rest& rest, Call& call) {
    auto beat = codec::from_json<AgentBeat>(call.request.body, codec::UnknownKeys::ignore);
    if (!beat) return refuse(rest, call, beat.error());
    rest.ask_agent(call, std::move(*beat));
}
void launcher_beat(Rest& rest, Call& call) {
    auto beat = codec::from_json<LauncherBeat>(call.request.body, codec::UnknownKeys::ignore);
    if (!beat) return refuse(rest, call, beat.error());
    rest.ask_launcher(call, std::move(*beat));
}

void page(Rest& rest, Call& call, bool facts) {
    const std::int64_t after = call.integer("after", 0);
    const auto limit = static_cast<std::size_t>(call.integer("limit", 100));
    rest.feed().page(std::move(call.answer), after, limit, facts);
}
void list_events(Rest& rest, Call& call) { page(rest, call, false); }
void read_journal(Rest& rest, Call& call) { page(rest, call, true); }

void stream_events(Rest& rest, Call& call) {
    std::int64_t after = call.integer("after", 0);
    const std::string_view last = call.request.header("last-event-id");
    if (!last.empty() && (!parse_number(last, after) || after < 0))
        return refuse(rest, call,
                      {Code::invalid_argument, "Last-Event-ID is not an event's number",
                       "send the id of the last event seen", "last-event-id"});
    auto stream = call.answer.stream();
    if (!stream) return refuse(rest, call, stream.error());
    stream->write(std::string("retry: 1000\n\n"));
    rest.feed().watch(std::move(*stream), after);
}

void openapi_document(Rest& rest, Call& call) {
    rest.respond(call, text_response(openapi(rest.options().version), "application/json"));
}
void healthz(Rest& rest, Call& call) { rest.respond(call, text_response("ok\n")); }
void readyz(Rest& rest, Call& call) {
    if (auto ready = rest.backend().ready(); !ready) return refuse(rest, call, ready.error());
    rest.respond(call, text_response("ready\n"));
}

void metrics_page(Rest& rest, Call& call) {
    auto answer = std::make_shared<Answer>(std::move(call.answer));
    const auto asked = rest.backend().count([&rest, answer](const ClusterCounts& counts) {
        answer->give(text_response(
            metrics_text(counts, rest.transport(), rest.meter(), rest.feed().watchers()),
            "text/plain; version=0.0.4; charset=utf-8"));
    });
    if (!asked) answer->give(asked.error());
}

template <class T>
constexpr const codec::Shape* shape = &codec::shape_of<T>;

std::vector<Principal> for_anyone() { return {Principal::anyone}; }
std::vector<Principal> for_users() { return {Principal::user}; }
std::vector<Principal> for_nodes() { return {Principal::node}; }
std::vector<Principal> for_both() { return {Principal::user, Principal::node}; }

constexpr Parameter hold_parameter = {"hold", ParameterType::duration,
                                      "how long the answer may be held while nothing changes; "
                                      "at most 60s count"};
constexpr Parameter limit_parameter = {"limit", ParameterType::integer, "items of one page",
                                       control::page_limit_max, 1};
constexpr Parameter after_page = {"after", ParameterType::text, "`next` of the page before"};
constexpr Parameter after_fact = {"after", ParameterType::integer, "number of the last one seen"};
constexpr std::string_view json = "application/json";

std::vector<Route> workload_routes() {
    return {
        {"POST",
         "/v1/workloads",
         "submitWorkload",
         for_users(),
         {{"dry_run", ParameterType::boolean, "change nothing, tell what would happen"}},
         shape<WorkloadSpec>,
         shape<control::Submitted>,
         json,
         "Submit a workload; with a Client-Token header a repeated request is safe",
         submit},
        {"GET",
         "/v1/workloads",
         "listWorkloads",
         for_users(),
         {{"all", ParameterType::boolean, "ended ones too"}, limit_parameter, after_page},
         nullptr,
         shape<control::WorkloadPage>,
         json,
         "List workloads",
         list_workloads},
        {"GET",
         "/v1/workloads/{job}",
         "getWorkload",
         for_users(),
         {},
         nullptr,
         shape<WorkloadDetail>,
         json,
         "One workload with its attempts and ranks",
         get_workload},
        {"POST",
         "/v1/workloads/{job}:cancel",
         "cancelWorkload",
         for_users(),
         {},
         nullptr,
         shape<WorkloadDetail>,
         json,
         "Stop a workload; its devices are free once its processes are "
         "gone",
         cancel},
        {"GET",
         "/v1/workloads/{job}:await",
         "awaitWorkload",
         for_users(),
         {hold_parameter},
         nullptr,
         shape<WorkloadDetail>,
         json,
         "Answered when the workload has ended, or after the hold",
         await_workload},
        {"GET",
         "/v1/workloads/{job}/why",
         "explainWorkload",
         for_users(),
         {},
         nullptr,
         shape<WhyView>,
         json,
         "Why it waits, or how it came here",
         why},
        {"GET",
         "/v1/workloads/{job}/report",
         "reportWorkload",
         for_users(),
         {},
         nullptr,
         shape<ReportView>,
         json,
         "Steps, loss, goodput account, restarts with cause and cost",
         report},
        {"GET",
         "/v1/workloads/{job}/logs",
         "readLogs",
         for_users(),
         {{"ranks", ParameterType::text, "ranks to read: 0,1; none: all of them"},
          {"from", ParameterType::text,
           "byte places by rank: 0:123,1:-4096 (negative: before the end)"},
          {"bytes_max", ParameterType::integer, "bytes from each node", control::log_bytes_max}},
         nullptr,
         shape<JobLogs>,
         json,
         "What ranks print, as stored lines",
         read_logs},
    };
}

std::vector<Route> cluster_routes() {
    return {
        {"GET",
         "/v1/nodes",
         "listNodes",
         for_users(),
         {limit_parameter, after_page},
         nullptr,
         shape<control::NodePage>,
         json,
         "List nodes",
         list_nodes},
        {"GET",
         "/v1/nodes/{node}",
         "getNode",
         for_users(),
         {},
         nullptr,
         shape<NodeView>,
         json,
         "One node",
         get_node},
        {"POST",
         "/v1/nodes/{node}:cordon",
         "cordonNode",
         for_users(),
         {},
         shape<CordonBody>,
         shape<NodeView>,
         json,
         "No new work for a node; what runs goes on",
         cordon},
        {"POST",
         "/v1/nodes/{node}:uncordon",
         "uncordonNode",
         for_users(),
         {},
         nullptr,
         shape<NodeView>,
         json,
         "Work for a node again",
         uncordon},
        {"GET",
         "/v1/events",
         "listEvents",
         for_users(),
         {after_fact, limit_parameter},
         nullptr,
         shape<EventPage>,
         json,
         "What happened, oldest first",
         list_events},
        {"GET",
         "/v1/events:stream",
         "streamEvents",
         for_users(),
         {after_fact},
         nullptr,
         nullptr,
         "text/event-stream",
         "The same as server-sent events, past ones first; resumes by "
         "Last-Event-ID",
         stream_events},
        {"GET",
         "/v1/journal",
         "readJournal",
         for_users(),
         {after_fact, limit_parameter},
         nullptr,
         shape<FactPage>,
         json,
         "The facts themselves, times in nanoseconds",
         read_journal},
        {"GET",
         "/v1/server",
         "getServer",
         for_both(),
         {},
         nullptr,
         shape<ServerView>,
         json,
         "The server",
         get_server},
    };
}

std::vector<Route> other_routes() {
    return {
        {"POST",
         "/v1/agents:beat",
         "agentBeat",
         for_nodes(),
         {hold_parameter},
         shape<AgentBeat>,
         shape<AgentOrder>,
         json,
         "Between Muster's parts: an agent's beat",
         agent_beat},
        {"POST",
         "/v1/launchers:beat",
         "launcherBeat",
         for_nodes(),
         {hold_parameter},
         shape<LauncherBeat>,
         shape<LauncherOrder>,
         json,
         "Between Muster's parts: a launcher's beat",
         launcher_beat},
        {"GET",
         "/openapi.json",
         "openapi",
         for_anyone(),
         {},
         nullptr,
         nullptr,
         json,
         "This description",
         openapi_document},
        {"GET",
         "/healthz",
         "healthz",
         for_anyone(),
         {},
         nullptr,
         nullptr,
         "text/plain",
         "200 while the process serves",
         healthz},
        {"GET",
         "/readyz",
         "readyz",
         for_anyone(),
         {},
         nullptr,
         nullptr,
         "text/plain",
         "200 while requests are taken, 503 with the reason otherwise",
         readyz},
        {"GET",
         "/metrics",
         "metrics",
         for_anyone(),
         {},
         nullptr,
         nullptr,
         "text/plain",
         "Metrics in Prometheus' text form",
         metrics_page},
    };
}

std::vector<Route> all_routes() {
    std::vector<Route> all = workload_routes();
    for (auto& route : cluster_routes()) all.push_back(std::move(route));
    for (auto& route : other_routes()) all.push_back(std::move(route));
    return all;
}

} // namespace

std::span<const Route> routes() {
    static const std::vector<Route> all = all_routes(); // constant data that needs a constructor
    return all;
}

} // namespace muster::api
