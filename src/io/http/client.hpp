#pragma once
// HttpClient: blocking, on the caller's thread, one kept connection. For agents, launchers and the
// command line. One thread uses it at a time; only cancel() may come from another.

#include "io/http/message.hpp"

#include <functional>
#include <memory>
#include <string>

namespace muster::http {

inline constexpr Duration request_deadline_default = Duration::seconds(30);
inline constexpr Duration connect_max = Duration::seconds(5);

struct HttpCall {
    std::string method = "GET";
    std::string target; // path and encoded query: "/v1/agents:beat?hold=1s"
    std::string body = {};
    std::string content_type = "application/json";   // sent where there is a body
    std::map<std::string, std::string> headers = {}; // more of them
    /// From the call to the whole answer; a held poll needs its hold on top. For stream(): from the
    /// call to the answer's header, and between two arrivals after it.
    Duration deadline = request_deadline_default;
};

/// One server-sent event. `id` is the last one seen, also where this event brings none.
struct StreamEvent {
    std::string id;
    std::string type; // "message" where none is given
    std::string data;
};

class HttpClient {
  public:
    /// `url`: "http://host:port" (a path after it is refused). An empty token sends none.
    static Result<HttpClient> make(const std::string& url, std::string token = {});
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;

    /// Any status is an answer, also 4xx and 5xx (error_of() reads those). Errors: unavailable (no
    /// connection: nothing happened), deadline_exceeded, unknown_outcome (it broke after the
    /// request was sent). A reused connection that ends before the first byte is retried once on a
    /// new one.
    Result<HttpResponse> request(const HttpCall& call);

    /// Reads server-sent events until `take` returns false (ok), the server ends the stream
    /// (unavailable: resume with the last id), or an error as above. A comment line or event counts
    /// as an arrival. A status other than 200 is the error that it tells.
    Status stream(const HttpCall& call, const std::function<bool(const StreamEvent&)>& take);

    /// From any thread: the request in flight and later ones fail with unavailable, until reset().
    void cancel();
    void reset();
    bool cancelled() const;

    const std::string& url() const;

  private:
    struct Impl;
    explicit HttpClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace muster::http
