#include "app/agent_lane.hpp"

#include "base/text.hpp"
#include "codec/json.hpp"
#include "io/posix/files.hpp"

namespace muster::app {
namespace {

constexpr std::size_t token_bytes_max = 4096;
constexpr int status_ok = 200;

} // namespace

Result<std::string> read_token(const std::string& file) {
    auto text = io::read_file(file, token_bytes_max);
    if (!text) {
        Error error = text.error();
        if (error.hint.empty())
            error.hint =
                "copy the server's node.token to this machine and name it with --token-file";
        return fail(error);
    }
    const auto first = text->find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
        return fail(Code::invalid_argument, "the token file " + file + " is empty",
                    "copy the server's node.token to this machine and name it with --token-file");
    return text->substr(first, text->find_last_not_of(" \t\r\n") - first + 1);
}

Result<std::unique_ptr<BeatLane>> BeatLane::start(Lane lane, const std::string& server,
                                                  const std::string& token_file, Post post) {
    const auto token = read_token(token_file);
    if (!token) return fail(token.error());
    auto client = http::HttpClient::make(server, *token);
    if (!client) return fail(client.error());
    return std::unique_ptr<BeatLane>(
        new BeatLane(lane, server, token_file, std::move(*client), std::move(post)));
}

BeatLane::BeatLane(Lane lane, std::string server, std::string token_file, http::HttpClient client,
                   Post post)
    : lane_(lane), server_(std::move(server)), token_file_(std::move(token_file)),
      post_(std::move(post)), client_(std::make_unique<http::HttpClient>(std::move(client))),
      thread_([this] { work(); }) {}

BeatLane::~BeatLane() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        client_->cancel();
    }
    wake_.notify_all();
    thread_.join();
}

void BeatLane::send(AgentBeat beat) {
    {
        const std::lock_guard lock(mutex_);
        waiting_ = std::move(beat);
    }
    wake_.notify_all();
}

void BeatLane::work() {
    for (;;) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || waiting_; });
        if (stopping_) return;
        const AgentBeat beat = std::move(*waiting_);
        waiting_.reset();
        lock.unlock();
        post_(ask(beat));
    }
}

agent::AgentEvent BeatLane::ask(const AgentBeat& beat) {
    const Duration hold = lane_ == Lane::poll ? agent::beat_interval : Duration{};
    http::HttpCall call;
    call.method = "POST";
    call.target = "/v1/agents:beat?hold=" + to_text(hold);
    call.body = codec::to_json(beat, codec::Style::exact);
    call.deadline = hold + beat_answer_max;
    auto response = client_->request(call);
    if (!response) return agent::BeatFailed{lane_, response.error()};
    if (response->status != status_ok) {
        Error error = http::error_of(*response);
        if (error.code == Code::unauthenticated) renew_client();
        return agent::BeatFailed{lane_, std::move(error)};
    }
    auto order = codec::from_json<AgentOrder>(response->body, codec::UnknownKeys::ignore);
    if (!order)
        return agent::BeatFailed{
            lane_,
            Error{Code::internal, "the server's answer cannot be read: " + order.error().message,
                  "server and agent may be of different versions: muster version", ""}};
    return agent::OrderArrived{lane_, std::move(*order)};
}

void BeatLane::renew_client() {
    const auto token = read_token(token_file_);
    if (!token) return;
    auto client = http::HttpClient::make(server_, *token);
    if (!client) return;
    const std::lock_guard lock(mutex_);
    if (!stopping_) client_ = std::make_unique<http::HttpClient>(std::move(*client));
}

} // namespace muster::app
