#include "cli/api.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"
#include "model/launch_file.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace muster::cli {
namespace {

constexpr Duration retry_first = Duration::millis(100);
constexpr Duration retry_max = Duration::seconds(2);

std::string env(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Result<ServerPlace> place_from_file(const std::string& state) {
    const std::string path = state + "/client.json";
    std::ifstream file(path);
    if (!file)
        return fail(
            Code::unavailable, say("no Muster server is known here: there is no {}", path),
            say("start one with `muster up`, or name one with --server URL and MUSTER_TOKEN"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto client = codec::from_json<ClientFile>(text, codec::UnknownKeys::ignore);
    if (!client)
        return fail(Code::data_loss, say("{} cannot be read: {}", path, client.error().message),
                    say("a server that starts writes it anew"));
    return ServerPlace{client->server, client->token, path};
}

} // namespace

std::string state_directory(const std::string& flag) {
    if (!flag.empty()) return flag;
    if (const auto state = env("MUSTER_STATE"); !state.empty()) return state;
    if (geteuid() == 0) return "/var/lib/muster";
    const std::string data = env("XDG_DATA_HOME");
    return (data.empty() ? env("HOME") + "/.local/share" : data) + "/muster";
}

Result<ServerPlace> find_server(const CommonFlags& flags) {
    std::string url = flags.server;
    std::string source = "--server";
    if (url.empty()) {
        url = env("MUSTER_SERVER");
        source = "MUSTER_SERVER";
    }
    const std::string state = state_directory(flags.state);
    if (url.empty()) return place_from_file(state);
    if (url.find("://") == std::string::npos) url = "http://" + url;
    std::string token = env("MUSTER_TOKEN");
    if (token.empty()) {
        // The same machine's file has the token where it speaks of the same server.
        if (auto known = place_from_file(state); known && known->url == url) token = known->token;
    }
    return ServerPlace{url, token, source};
}

Error unreachable(Error error, const ServerPlace& place) {
    if (error.code == Code::deadline_exceeded) error.code = Code::unavailable;
    error.message =
        say("no answer from {} (known from {}): {}", place.url, place.source, error.message);
    if (error.hint.empty()) error.hint = say("is the server running? start one with `muster up`");
    return error;
}

Result<Api> Api::connect(const CommonFlags& flags) {
    auto place = find_server(flags);
    if (!place) return fail(place.error());
    auto client = http::HttpClient::make(place->url, place->token);
    if (!client) {
        Error error = client.error();
        error.message = say("{} (from {}): {}", place->url, place->source, error.message);
        return fail(std::move(error));
    }
    return Api(std::move(*client), std::move(*place));
}

Result<std::string> Api::ask(const http::HttpCall& call) {
    auto answer = client_.request(call);
    if (!answer) {
        Error error = answer.error();
        if (error.code == Code::deadline_exceeded && call.method != "GET") {
            error.code = Code::unknown_outcome;
            error.hint =
                say("it may still do what was asked: look (muster jobs) before you ask again");
        }
        if (error.code == Code::unknown_outcome) return fail(std::move(error));
        return fail(unreachable(std::move(error), place_));
    }
    if (answer->status / 100 == 2) return std::move(answer->body);
    Error error = http::error_of(*answer);
    if (error.code == Code::unauthenticated && place_.token.empty())
        error.hint = say("set MUSTER_TOKEN: no token was sent");
    else if (error.code == Code::unauthenticated)
        error.hint = say("the token from {} is not this server's", place_.source);
    return fail(std::move(error));
}

Status Api::events(Sequence after, const std::function<bool(const EventView&)>& take,
                   const std::function<void(const Error&)>& away) {
    Duration pause = retry_first;
    Duration silent;
    bool wants_more = true;
    while (true) {
        bool heard = false;
        http::HttpCall call;
        call.target = "/v1/events:stream?after=" + std::to_string(after);
        call.headers["Accept"] = "text/event-stream";
        call.deadline = stream_silence_max;
        const auto status = client_.stream(call, [&](const http::StreamEvent& event) {
            heard = true;
            if (event.data.empty()) return true;
            auto view = codec::from_json<EventView>(event.data, codec::UnknownKeys::ignore);
            if (!view) return true;
            after = std::max(after, view->sequence);
            return wants_more = take(*view);
        });
        if (status || !wants_more || client_.cancelled()) return ok();
        if (!code_retryable(status.error().code) && status.error().code != Code::unknown_outcome)
            return status;
        if (heard) {
            pause = retry_first;
            silent = {};
        } else {
            if (silent.ns == 0 && away) away(unreachable(status.error(), place_));
            if (silent > server_away_max) return fail(unreachable(status.error(), place_));
        }
        if (!pause_for(pause)) return ok();
        silent += pause;
        pause = std::min(pause * 2, retry_max);
    }
}

std::string job_path(const std::string& job, const std::string& rest) {
    return "/v1/workloads/" + http::encode_component(job) + rest;
}
std::string node_path(const std::string& node, const std::string& rest) {
    return "/v1/nodes/" + http::encode_component(node) + rest;
}

} // namespace muster::cli
