#pragma once
// Rest: the REST interface between the HTTP transport and the control plane's core. Requests become
// events of the core under a reply number; its answers come back by that number.
// Life: longer than the HTTP server and the core's thread that use it. Thread-safe.

#include "api/feed.hpp"
#include "api/metrics.hpp"
#include "api/route.hpp"
#include "control/core.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <variant>

namespace muster::api {

inline constexpr std::size_t client_token_bytes_max = 128;

/// What the interface asks of the process that it is part of.
class Backend {
  public:
    virtual ~Backend() = default;
    /// Hands an event to the core; the answer comes through Rest::answer(). unavailable or
    /// resource_exhausted: nothing happened.
    virtual Status ask(control::ControlEvent event) = 0;
    /// Nobody waits for that reply any more. Never refused.
    virtual void cancel(std::int64_t reply) = 0;
    /// Calls back with the newest counts, on the core's thread.
    virtual Status count(std::function<void(const ClusterCounts&)> take) = 0;
    /// Ready for requests, or why not.
    virtual Status ready() = 0;
    /// 128 random bits for ids.
    virtual void draw(std::uint64_t& high, std::uint64_t& low) = 0;
};

struct RestOptions {
    std::string user_token;
    std::string node_token;
    std::string user_name = "admin"; // whom the user token stands for
    std::string version;
};

class Rest {
  public:
    Rest(RestOptions options, Backend& backend, EventFeed& feed);

    /// Called by the HTTP server, on its threads.
    void handle(http::HttpRequest request, http::Responder responder);
    /// What the core answers; on its thread.
    void answer(control::ControlCommand command);

    // ---- for the handlers in handlers.cpp
    /// Answers a call that needs no core.
    void respond(Call& call, http::HttpResponse response);
    void ask(Call& call, control::Request request);
    void ask_agent(Call& call, AgentBeat beat);
    void ask_launcher(Call& call, LauncherBeat beat);
    Backend& backend() { return backend_; }
    EventFeed& feed() { return feed_; }
    HttpMeter& meter() { return meter_; }
    const RestOptions& options() const { return options_; }
    void set_transport(std::function<http::HttpCounters()> counters) {
        transport_ = std::move(counters);
    }
    http::HttpCounters transport() const {
        return transport_ ? transport_() : http::HttpCounters{};
    }

  private:
    Result<Principal> principal_of(const http::HttpRequest& request) const;
    std::int64_t keep(Call& call, bool droppable);
    void hand_over(std::int64_t reply, control::ControlEvent event);
    void reply(std::int64_t number, http::HttpResponse response);
    void unknown_path(const http::HttpRequest& request, http::Responder responder);

    RestOptions options_;
    Backend& backend_;
    EventFeed& feed_;
    HttpMeter meter_;
    std::function<http::HttpCounters()> transport_;
    std::atomic<std::int64_t> next_reply_{1};
    std::mutex mutex_;
    std::map<std::int64_t, Answer> waiting_; // by reply number
};

} // namespace muster::api
