#include "app/launch_lane.hpp"

#include <utility>

namespace muster::app {

LaunchLane::LaunchLane(std::string token, Done done)
    : token_(std::move(token)), done_(std::move(done)), thread_([this] { run(); }) {}

LaunchLane::~LaunchLane() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        if (client_) client_->cancel();
        changed_.notify_all();
    }
    thread_.join();
}

void LaunchLane::send(LaneRequest request) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(request);
    changed_.notify_all();
}

void LaunchLane::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || next_.has_value(); });
        if (stopping_) return;
        const LaneRequest request = *std::exchange(next_, std::nullopt);
        if (!client_ || client_->url() != request.url) {
            auto made = http::HttpClient::make(request.url, token_);
            if (!made) {
                lock.unlock();
                done_(fail(made.error()));
                lock.lock();
                continue;
            }
            client_ = std::move(*made);
        }
        lock.unlock();
        auto answer = ask(request);
        lock.lock();
        if (stopping_) return;
        lock.unlock();
        done_(std::move(answer));
        lock.lock();
    }
}

Result<std::string> LaunchLane::ask(const LaneRequest& request) {
    http::HttpCall call;
    call.method = "POST";
    call.target = request.target;
    call.body = request.body;
    call.deadline = request.hold + lane_answer_limit;
    auto response = client_->request(call);
    if (!response) return fail(response.error());
    if (response->status != 200) return fail(http::error_of(*response));
    return std::move(response->body);
}

} // namespace muster::app
