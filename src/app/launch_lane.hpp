#pragma once
// LaunchLane: one thread that carries one request at a time to the server or to the lead, so that a
// held poll never delays news. Owns one kept connection, made again when the address changes.
//
// Life: as long as the launcher; the destructor cancels a request in flight. send() and the
// destructor belong to the launcher's thread; `done` is called on the lane's thread and must not
// block.

#include "base/result.hpp"
#include "base/time.hpp"
#include "io/http/client.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace muster::app {

inline constexpr Duration lane_answer_limit = Duration::seconds(10); // past the hold

struct LaneRequest {
    std::string url;    // "http://host:port"
    std::string target; // path and query
    std::string body;
    Duration hold; // how long the receiver may keep it
};

class LaunchLane {
  public:
    using Done = std::function<void(Result<std::string> body)>;

    LaunchLane(std::string token, Done done);
    ~LaunchLane();

    /// The core has at most one in flight on a lane; a newer one replaces one not begun.
    void send(LaneRequest request);

  private:
    void run();
    Result<std::string> ask(const LaneRequest& request);

    const std::string token_;
    const Done done_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<LaneRequest> next_;
    std::optional<http::HttpClient> client_; // replaced under mutex_
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace muster::app
