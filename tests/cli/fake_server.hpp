#pragma once
// A server that answers as a test tells it, and the command line run against it in this process.

#include "cli/cli.hpp"
#include "codec/json.hpp"
#include "control/requests.hpp"
#include "io/http/server.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::cli {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

/// `muster words`, with what it printed.
inline Ran muster(std::vector<std::string> words) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ran ran;
    ran.code = run(std::move(words), {});
    ran.out = testing::internal::GetCapturedStdout();
    ran.err = testing::internal::GetCapturedStderr();
    return ran;
}

class FakeServer {
  public:
    using Reply = std::function<http::HttpResponse(const http::HttpRequest&)>;

    FakeServer() {
        auto started = http::HttpServer::start({}, [this](auto request, auto responder) {
            answer(std::move(request), std::move(responder));
        });
        server_ = std::move(*started);
        setenv("MUSTER_SERVER", server_->url().c_str(), 1);
        setenv("MUSTER_TOKEN", "user", 1);
    }
    ~FakeServer() {
        unsetenv("MUSTER_SERVER");
        unsetenv("MUSTER_TOKEN");
    }

    /// By "GET /v1/nodes". What is not told answers as a server that does not know it.
    void on(const std::string& call, Reply reply) {
        const std::scoped_lock lock(mutex_);
        replies_[call] = std::move(reply);
    }
    template <class T>
    void answers(const std::string& call, const T& value) {
        on(call, [body = codec::to_json(value)](const auto&) {
            http::HttpResponse response;
            response.body = body;
            return response;
        });
    }
    void fails(const std::string& call, Error error) {
        on(call, [error](const auto&) { return http::error_response(error); });
    }
    std::vector<http::HttpRequest> asked(const std::string& call) {
        const std::scoped_lock lock(mutex_);
        return asked_[call];
    }
    const std::string url() const { return server_->url(); }

  private:
    void answer(http::HttpRequest request, http::Responder responder) {
        const std::string call = request.method + " " + request.path;
        const std::scoped_lock lock(mutex_);
        asked_[call].push_back(request);
        if (request.path == "/v1/events:stream") {
            if (on_stream) on_stream();
            if (auto stream = responder.stream()) {
                for (const auto& event : events)
                    stream->write("data: " + codec::to_json(event) + "\n\n");
                streams_.push_back(std::move(*stream));
            }
            return;
        }
        const auto reply = replies_.find(call);
        if (reply == replies_.end())
            return responder.answer(Error{Code::not_found, "there is no " + request.path, "", ""});
        responder.answer(reply->second(request));
    }

  public:
    std::vector<EventView> events;   // of the stream; set before it is asked for
    std::function<void()> on_stream; // called when it is; set before, too

  private:
    std::mutex mutex_;
    std::map<std::string, Reply> replies_;
    std::map<std::string, std::vector<http::HttpRequest>> asked_;
    std::vector<http::HttpStream> streams_;
    std::unique_ptr<http::HttpServer> server_; // last: its threads use the rest
};

} // namespace muster::cli
