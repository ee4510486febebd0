#pragma once
// What goes over HTTP, as plain values: shared by server and client. No Asio or Beast type here.

#include "base/result.hpp"
#include "base/time.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace muster::http {

/// The transport's limits, one place. Reaching one gives the status named beside it.
inline constexpr std::size_t header_bytes_max = 16 * 1024;          // 431
inline constexpr std::size_t body_bytes_max = 8 * 1024 * 1024;      // 413
inline constexpr std::size_t response_bytes_max = 64 * 1024 * 1024; // the client refuses more
inline constexpr std::size_t connections_max = 12'000;              // 503 and closed
inline constexpr std::size_t streams_max = 2'000;            // 503: watchers of event streams
inline constexpr std::size_t stream_bytes_max = 1024 * 1024; // unsent, per stream: then it is cut
inline constexpr Duration idle_max = Duration::seconds(120); // between requests: closed
inline constexpr Duration header_read_max = Duration::seconds(10); // first to last header byte: 408
inline constexpr Duration body_read_max = Duration::seconds(60);   // 408
inline constexpr Duration write_max = Duration::seconds(30);       // one response or chunk: closed
inline constexpr Duration sweep_every = Duration::seconds(1); // when the limits above are looked at
inline constexpr Duration retry_after = Duration::seconds(1); // told with every 503

struct HttpRequest {
    std::string method;                         // "GET"
    std::string path;                           // percent-decoded, without the query: "/v1/nodes"
    std::map<std::string, std::string> query;   // percent-decoded
    std::map<std::string, std::string> headers; // names in lower case
    std::string body;

    /// The header's value, or empty. `name` in lower case.
    std::string_view header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view{} : std::string_view{found->second};
    }
};

struct HttpResponse {
    int status = 200;
    std::string content_type = "application/json";
    std::string body = {};
    std::map<std::string, std::string> headers =
        {}; // others; from the client with names in lower case
};

/// The standard's words for a status: "Not Found".
std::string_view status_text(int status);

/// Splits and percent-decodes "/path?a=b" into path and query of `request`. A key given twice, a
/// bad escape, a control character or a path without a leading slash is invalid_argument.
Status decode_target(std::string_view target, HttpRequest& request);

/// Percent-encodes one path segment or query value.
std::string encode_component(std::string_view text);

/// {"code", "message", "field", "hint", "retryable"}: the body of every error answer.
std::string error_body(const Error& error);
/// The HTTP status that fits the code.
int status_of(Code code);
/// A whole error answer; with Retry-After where that helps.
HttpResponse error_response(const Error& error);
/// What an answer with an error status says; made from the status where the body is not ours.
Error error_of(const HttpResponse& response);

} // namespace muster::http
