#include "app/member_listener.hpp"

#include "app/loopback.hpp"
#include "base/secret.hpp"
#include "base/text.hpp"
#include "codec/json.hpp"

#include <algorithm>

namespace muster::app {
namespace {

constexpr Duration stop_grace = Duration::seconds(1);

} // namespace

Result<std::unique_ptr<MemberListener>> MemberListener::start(Options options) {
    http::HttpServerOptions server;
    server.address = options.address;
    server.allow_remote = !is_loopback(options.address);
    std::unique_ptr<MemberListener> listener(new MemberListener(std::move(options)));
    auto started = http::HttpServer::start(
        server, [self = listener.get()](http::HttpRequest request, http::Responder responder) {
            self->take(std::move(request), std::move(responder));
        });
    if (!started) return fail(started.error());
    listener->server_ = std::move(*started);
    return listener;
}

MemberListener::~MemberListener() { stop(); }

std::string MemberListener::endpoint() const {
    return options_.address + ":" + std::to_string(server_->port());
}

Result<launch::MemberAsked> MemberListener::read(const http::HttpRequest& request) const {
    constexpr std::string_view scheme = "Bearer ";
    const auto given = request.header("authorization");
    if (!given.starts_with(scheme) || !equal_secrets(given.substr(scheme.size()), options_.token))
        return fail(Code::unauthenticated, "a member must show its node's token");
    if (request.path != "/v1/members:beat")
        return fail(Code::not_found, "a lead launcher serves /v1/members:beat only");
    if (request.method != "POST") return fail(Code::invalid_argument, "use POST");
    launch::MemberAsked asked;
    if (const auto hold = request.query.find("hold"); hold != request.query.end()) {
        const auto duration = parse_duration(hold->second);
        if (!duration) return fail(duration.error());
        asked.hold = std::clamp(*duration, Duration{0}, member_hold_max);
    }
    auto beat = codec::from_json<MemberBeat>(request.body, codec::UnknownKeys::ignore);
    if (!beat) return fail(beat.error());
    asked.beat = std::move(*beat);
    return asked;
}

void MemberListener::take(http::HttpRequest request, http::Responder responder) {
    auto asked = read(request);
    if (!asked) {
        responder.answer(asked.error());
        return;
    }
    responder.droppable();
    const auto full = [](http::Responder& who) {
        who.answer(Error{Code::resource_exhausted, "too many members wait", "", ""});
    };
    {
        const std::lock_guard lock(mutex_);
        // A member that hung up waits for nothing any more.
        std::erase_if(waiting_, [](const auto& entry) { return entry.second.gone(); });
        if (waiting_.size() >= members_waiting_max) {
            full(responder);
            return;
        }
        asked->reply = ++last_reply_;
        waiting_.emplace(asked->reply, std::move(responder));
    }
    const std::int64_t reply = asked->reply;
    if (options_.offer(std::move(*asked))) return;
    http::Responder refused;
    {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.find(reply);
        if (found == waiting_.end()) return;
        refused = std::move(found->second);
        waiting_.erase(found);
    }
    full(refused);
}

void MemberListener::answer(std::int64_t reply, const MemberOrder& order) {
    http::Responder responder;
    {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.find(reply);
        if (found == waiting_.end()) return;
        responder = std::move(found->second);
        waiting_.erase(found);
    }
    http::HttpResponse response;
    response.body = codec::to_json(order, codec::Style::exact);
    responder.answer(std::move(response));
}

void MemberListener::stop() {
    if (server_) server_->stop(stop_grace);
}

} // namespace muster::app
