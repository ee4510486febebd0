#pragma once
// MemberListener: where members of an attempt reach its lead. Requests become MemberAsked events;
// the core's AnswerMember goes back through the kept responder.
//
// Life: as long as a launcher whose attempt has others. answer() belongs to the launcher's thread.

#include "io/http/server.hpp"
#include "launch/core.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace muster::app {

inline constexpr Duration member_hold_max = Duration::seconds(10);
inline constexpr std::size_t members_waiting_max = 4096; // requests not answered yet

class MemberListener {
  public:
    struct Options {
        std::string address;                            // of this machine, as peers reach it
        std::string token;                              // that members must show
        std::function<bool(launch::MemberAsked)> offer; // false: full, the member is told so
    };
    static Result<std::unique_ptr<MemberListener>> start(Options options);
    ~MemberListener();

    /// "host:port"
    std::string endpoint() const;
    void answer(std::int64_t reply, const MemberOrder& order);
    /// Gives answers that were made time to go out.
    void stop();

  private:
    explicit MemberListener(Options options) : options_(std::move(options)) {}
    void take(http::HttpRequest request, http::Responder responder);
    Result<launch::MemberAsked> read(const http::HttpRequest& request) const;

    const Options options_;
    std::mutex mutex_;
    std::int64_t last_reply_ = 0;
    std::map<std::int64_t, http::Responder> waiting_;
    std::unique_ptr<http::HttpServer> server_;
};

} // namespace muster::app
