#pragma once
// BeatLane: one thread and one connection on which beats of a lane go to the server, one at a time.
// Life: as long as the agent's loop; ended by its destructor.

#include "agent/core.hpp"
#include "io/http/client.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace muster::app {

/// Past the hold, from the call to the whole answer.
inline constexpr Duration beat_answer_max = Duration::seconds(5);

class BeatLane {
  public:
    using Post = std::function<void(agent::AgentEvent)>; // from the lane's thread

    /// The token is read again from `token_file` when the server refuses it.
    static Result<std::unique_ptr<BeatLane>> start(Lane lane, const std::string& server,
                                                   const std::string& token_file, Post post);
    ~BeatLane();
    BeatLane(const BeatLane&) = delete;
    BeatLane& operator=(const BeatLane&) = delete;

    /// Answered by one OrderArrived or BeatFailed; the core sends the next one only then.
    void send(AgentBeat beat);

  private:
    BeatLane(Lane lane, std::string server, std::string token_file, http::HttpClient client,
             Post post);
    void work();
    agent::AgentEvent ask(const AgentBeat& beat);
    void renew_client();

    const Lane lane_;
    const std::string server_;
    const std::string token_file_;
    const Post post_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::optional<AgentBeat> waiting_;
    bool stopping_ = false;
    std::unique_ptr<http::HttpClient> client_; // replaced by the lane's thread, under mutex_
    std::thread thread_;
};

/// The token in a file, without blanks around it.
Result<std::string> read_token(const std::string& file);

} // namespace muster::app
