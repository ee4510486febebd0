#pragma once
// Connection: one client's connection, on the thread that took it. Its coroutine reads a request,
// hands it to the handler with a Responder, and sleeps on a timer until a Delivery wakes it.
// Internal to io/http, with io_thread.hpp: they and the sources that include them alone know Asio
// and Beast, which cost seconds and near a gigabyte to compile.

#include "io/http/exchange.hpp"
#include "io/http/server.hpp"

#include <boost/asio.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace muster::http::detail {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;
using Stream = tcp::socket; // a TLS stream would take this place
using Parser = wire::request_parser<wire::string_body>;

inline constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);
inline constexpr auto force_after =
    std::chrono::seconds(1); // from the last answers to closed sockets

inline std::chrono::nanoseconds nanos(Duration duration) {
    return std::chrono::nanoseconds(duration.ns);
}

/// An answer's status line and headers, up to those that tell its length.
std::string head_of(const HttpResponse& response, bool keep_alive);

/// What the threads of one server have in common.
struct Shared {
    HttpServerOptions options;
    HttpHandler handler;
    std::shared_ptr<Counters> counters = std::make_shared<Counters>();
    std::mutex mutex;
    std::condition_variable all_closed;
};

class IoThread;

enum class Phase { idle, header, body, held, writing, lingering };

class Connection : public Receiver, public std::enable_shared_from_this<Connection> {
  public:
    Connection(IoThread& thread, Stream socket);

    asio::awaitable<void> run();
    void receive(Delivery delivery) override;
    void sweep(SteadyTime now);
    void begin_stop();
    void last_answer();
    void shut();

  private:
    asio::awaitable<bool> read_request(HttpRequest& request);
    asio::awaitable<bool> read_body(Parser& parser);
    asio::awaitable<bool> serve(HttpRequest request);
    asio::awaitable<bool> write_response(const HttpResponse& response, bool keep_alive);
    asio::awaitable<bool> write_stream();
    asio::awaitable<void> refuse(int status, Error error);
    asio::awaitable<void> linger();
    void set_phase(Phase phase, Duration limit);
    bool take_request(Parser& parser, HttpRequest& request, Status& decoded);
    bool client_closed();

    IoThread& thread_;
    Stream socket_;
    asio::steady_timer wake_;
    beast::flat_buffer buffer_{header_bytes_max + body_bytes_max};
    Phase phase_ = Phase::idle;
    SteadyTime deadline_ = SteadyTime::max();
    bool timed_out_ = false;
    bool stopping_ = false;
    bool keep_alive_ = true;
    bool head_only_ = false;

    // of the request that is held
    std::shared_ptr<Exchange> exchange_;
    std::optional<HttpResponse> response_;
    bool streaming_ = false;
    bool stream_closed_ = false;
    bool gone_ = false;
    std::deque<std::shared_ptr<const std::string>> chunks_;
};

} // namespace muster::http::detail
