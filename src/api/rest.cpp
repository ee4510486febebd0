#include "api/rest.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "codec/json.hpp"

#include <algorithm>

namespace muster::api {
namespace {

http::HttpResponse json_response(std::string body, int status = 200) {
    http::HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    return response;
}

struct EncodeResponse {
    http::HttpResponse operator()(const control::Submitted& submitted) const {
        const bool made = !submitted.existed && !submitted.dry_run;
        return json_response(codec::to_json(submitted), made ? 201 : 200);
    }
    template <class T>
    http::HttpResponse operator()(const T& value) const {
        return json_response(codec::to_json(value));
    }
};

bool allowed(const Route& route, Principal principal) {
    return std::any_of(route.allowed.begin(), route.allowed.end(), [&](Principal each) {
        return each == Principal::anyone || each == principal;
    });
}

} // namespace

Rest::Rest(RestOptions options, Backend& backend, EventFeed& feed)
    : options_(std::move(options)), backend_(backend), feed_(feed) {}

Result<Principal> Rest::principal_of(const http::HttpRequest& request) const {
    const std::string_view header = request.header("authorization");
    constexpr std::string_view scheme = "Bearer ";
    if (header.empty())
        return fail(Code::unauthenticated, "the request has no token",
                    "send the header \"Authorization: Bearer TOKEN\"; the user's token is in "
                    "client.json of the state directory");
    if (header.substr(0, scheme.size()) != scheme)
        return fail(Code::unauthenticated, "the Authorization header is not a Bearer token",
                    "send \"Authorization: Bearer TOKEN\"");
    const std::string_view token = header.substr(scheme.size());
    // Both are compared, always: the time tells nothing.
    const bool user = equal_secrets(token, options_.user_token);
    const bool node = equal_secrets(token, options_.node_token);
    if (user) return Principal::user;
    if (node) return Principal::node;
    return fail(Code::unauthenticated, "the token is not one of this installation",
                "another server's token? look at client.json in this server's state directory");
}

void Rest::handle(http::HttpRequest request, http::Responder responder) {
    const Route* found = nullptr;
    std::map<std::string, std::string> path;
    std::string methods;
    for (const auto& route : routes()) {
        if (!match(route.pattern, request.path, path)) continue;
        if (route.method == request.method || (route.method == "GET" && request.method == "HEAD")) {
            found = &route;
            break;
        }
        methods += (methods.empty() ? "" : ", ") + std::string(route.method);
    }
    if (found == nullptr && methods.empty()) return unknown_path(request, std::move(responder));
    if (found == nullptr) {
        auto response =
            http::error_response({Code::invalid_argument,
                                  to_valid_utf8(request.method) + " is not an operation on " +
                                      to_valid_utf8(request.path),
                                  "use " + methods,
                                  {}});
        response.status = 405;
        response.headers["Allow"] = methods;
        return Answer(std::move(responder), meter_, "none").give(std::move(response));
    }
    Call call{*found, std::move(request), Answer(std::move(responder), meter_, found->id),
              Principal::anyone, std::move(path)};
    const auto refuse = [&](const Error& error) { respond(call, http::error_response(error)); };
    if (!allowed(*found, Principal::anyone)) {
        const auto principal = principal_of(call.request);
        if (!principal) return refuse(principal.error());
        call.principal = *principal;
        if (!allowed(*found, *principal))
            return refuse(
                {Code::permission_denied,
                 "a " + std::string(principal_name(*principal)) + "'s token may not do this",
                 "use the " + std::string(principal_name(found->allowed.front())) + "'s token",
                 {}});
    }
    if (auto checked = check_query(*found, call.request); !checked) return refuse(checked.error());
    found->handler(*this, call);
}

void Rest::respond(Call& call, http::HttpResponse response) {
    call.answer.give(std::move(response));
}

void Rest::unknown_path(const http::HttpRequest& request, http::Responder responder) {
    std::vector<std::string> patterns;
    for (const auto& route : routes()) patterns.emplace_back(route.pattern);
    const std::string close = nearest(request.path, patterns);
    Answer(std::move(responder), meter_, "none")
        .give(Error{Code::not_found,
                    "there is no " + to_valid_utf8(request.path) + " in this interface",
                    close.empty() ? "see /openapi.json for what there is"
                                  : "did you mean " + close + "?",
                    {}});
}

std::int64_t Rest::keep(Call& call, bool droppable) {
    const std::int64_t number = next_reply_.fetch_add(1);
    if (droppable) call.answer.droppable();
    call.answer.on_gone([this, number] {
        Answer gone;
        {
            const std::lock_guard lock(mutex_);
            const auto found = waiting_.find(number);
            if (found == waiting_.end()) return;
            gone = std::move(found->second);
            waiting_.erase(found);
        }
        backend_.cancel(number);
    });
    const std::lock_guard lock(mutex_);
    waiting_.emplace(number, std::move(call.answer));
    return number;
}

void Rest::hand_over(std::int64_t number, control::ControlEvent event) {
    if (auto taken = backend_.ask(std::move(event)); !taken)
        reply(number, http::error_response(taken.error()));
}

void Rest::ask(Call& call, control::Request request) {
    const bool waits = std::holds_alternative<control::AwaitWorkload>(request) ||
                       std::holds_alternative<control::ReadJobLogs>(request);
    control::RequestAsked asked;
    asked.actor = "user:" + options_.user_name;
    backend_.draw(asked.random_high, asked.random_low);
    asked.request = std::move(request);
    asked.reply = keep(call, waits);
    hand_over(asked.reply, std::move(asked));
}

void Rest::ask_agent(Call& call, AgentBeat beat) {
    const Duration hold = std::min(call.duration("hold", Duration{}), control::hold_max);
    const std::int64_t number = keep(call, true);
    hand_over(number, control::AgentAsked{number, std::move(beat), hold});
}

void Rest::ask_launcher(Call& call, LauncherBeat beat) {
    const Duration hold = std::min(call.duration("hold", Duration{}), control::hold_max);
    const std::int64_t number = keep(call, true);
    hand_over(number, control::LauncherAsked{number, std::move(beat), hold});
}

void Rest::reply(std::int64_t number, http::HttpResponse response) {
    Answer waiting;
    {
        const std::lock_guard lock(mutex_);
        const auto found = waiting_.find(number);
        if (found == waiting_.end()) return;
        waiting = std::move(found->second);
        waiting_.erase(found);
    }
    waiting.give(std::move(response));
}

void Rest::answer(control::ControlCommand command) {
    const auto beat_answer = [this](std::int64_t number, const auto& order) {
        reply(number, order ? json_response(codec::to_json(*order, codec::Style::exact))
                            : http::error_response(order.error()));
    };
    if (const auto* agent = std::get_if<control::AnswerAgent>(&command))
        return beat_answer(agent->reply, agent->order);
    if (const auto* launcher = std::get_if<control::AnswerLauncher>(&command))
        return beat_answer(launcher->reply, launcher->order);
    const auto& request = std::get<control::AnswerRequest>(command);
    reply(request.reply, request.response ? std::visit(EncodeResponse{}, *request.response)
                                          : http::error_response(request.response.error()));
}

} // namespace muster::api
