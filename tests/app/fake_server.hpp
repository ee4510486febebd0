#pragma once
// FakeServer: the control plane's side of an agent, as the test dictates it. A poll is held until
// the order changes. Thread-safe.

#include "base/require.hpp"
#include "codec/json.hpp"
#include "io/http/server.hpp"
#include "model/orders.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace muster::app::testing {

inline constexpr std::chrono::seconds wait_limit{20};

class FakeServer {
  public:
    FakeServer() {
        order_.installation = InstallationId{RawId{1, 1}};
        order_.incarnation = 1;
        order_.revision = 1;
        auto server = http::HttpServer::start(
            {}, [this](http::HttpRequest request, http::Responder responder) {
                take(request, std::move(responder));
            });
        REQUIRE(server.has_value(), "the fake server listens");
        server_ = std::move(*server);
    }
    ~FakeServer() { server_->stop(Duration{}); }

    std::string url() const { return server_->url(); }

    void change(const std::function<void(AgentOrder&)>& edit) {
        std::vector<Held> held;
        {
            const std::lock_guard lock(mutex_);
            edit(order_);
            ++order_.revision;
            held.swap(held_);
        }
        for (auto& one : held) answer(one.beat, std::move(one.responder));
    }
    void refuse(std::optional<Error> error) {
        const std::lock_guard lock(mutex_);
        refusal_ = std::move(error);
    }
    /// The first beat from now on for which `is_it` holds; nothing after wait_limit.
    std::optional<AgentBeat> await(const std::function<bool(const AgentBeat&)>& is_it) {
        std::unique_lock lock(mutex_);
        std::optional<AgentBeat> found;
        arrived_.wait_for(lock, wait_limit, [&] {
            if (newest_ && is_it(*newest_)) found = newest_;
            return found.has_value();
        });
        return found;
    }

  private:
    struct Held {
        AgentBeat beat;
        http::Responder responder;
    };
    void take(const http::HttpRequest& request, http::Responder responder) {
        auto beat = codec::from_json<AgentBeat>(request.body);
        if (request.path != "/v1/agents:beat" || !beat)
            return responder.answer(Error{Code::invalid_argument, "not a beat", "", ""});
        if (request.header("authorization") != "Bearer secret")
            return responder.answer(Error{Code::unauthenticated, "wrong token", "", ""});
        bool hold = false;
        {
            const std::lock_guard lock(mutex_);
            if (refusal_) return responder.answer(*refusal_);
            newest_ = *beat;
            hold = request.query.at("hold") == "1s" && beat->order_revision == order_.revision;
            if (hold) {
                responder.droppable();
                held_.push_back({*beat, std::move(responder)});
            }
        }
        arrived_.notify_all();
        if (!hold) answer(*beat, std::move(responder));
    }
    void answer(const AgentBeat& beat, http::Responder responder) {
        AgentOrder order;
        {
            const std::lock_guard lock(mutex_);
            order = order_;
        }
        order.session = beat.session;
        order.asked = beat.asked;
        http::HttpResponse response;
        response.body = codec::to_json(order, codec::Style::exact);
        responder.answer(std::move(response));
    }

    std::mutex mutex_;
    std::condition_variable arrived_;
    AgentOrder order_;
    std::optional<Error> refusal_;
    std::optional<AgentBeat> newest_;
    std::vector<Held> held_;
    std::unique_ptr<http::HttpServer> server_; // last: its threads end first
};

} // namespace muster::app::testing
