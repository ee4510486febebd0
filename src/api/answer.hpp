#pragma once
// Answer: a Responder that is counted, whoever answers it and when. Handlers get nothing else, so
// no operation can be missing in the metrics. Life: shorter than the meter.

#include "api/metrics.hpp"
#include "io/http/server.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace muster::api {

class Answer {
  public:
    Answer() = default;
    /// `operation`: an operationId of the table, or "none"; it must live on.
    Answer(http::Responder responder, HttpMeter& meter, std::string_view operation)
        : responder_(std::move(responder)), meter_(&meter), operation_(operation),
          since_(std::chrono::steady_clock::now()) {}

    /// Once.
    void give(http::HttpResponse response) {
        count(response.status);
        responder_.answer(std::move(response));
    }
    void give(const Error& error) { give(http::error_response(error)); }
    /// As Responder::stream(); counted when it is open.
    Result<http::HttpStream> stream() {
        auto stream = responder_.stream();
        if (stream) count(stream_status);
        return stream;
    }
    void on_gone(std::function<void()> call) { responder_.on_gone(std::move(call)); }
    void droppable() { responder_.droppable(); }

  private:
    static constexpr int stream_status = 200;

    void count(int status) {
        if (meter_ != nullptr)
            meter_->count(operation_, status, std::chrono::steady_clock::now() - since_);
    }

    http::Responder responder_;
    HttpMeter* meter_ = nullptr;
    std::string_view operation_;
    std::chrono::steady_clock::time_point since_;
};

} // namespace muster::api
