// Long because: the only file that knows Asio and Beast, which cost seconds and near a gigabyte to
// compile.
// One io_context a thread. A connection lives on one thread: its coroutine reads a request, hands
// it to the handler with a Responder, and sleeps on a timer until a Delivery wakes it. Time-outs
// are looked at by one sweeper a thread: timers per operation cost a tenth of the throughput.

#include "io/http/server.hpp"

#include "base/require.hpp"
#include "io/http/exchange.hpp"

#include <boost/asio.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <condition_variable>
#include <deque>
#include <set>
#include <sys/socket.h>
#include <thread>

namespace muster::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace wire = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;
using Stream = tcp::socket; // a TLS stream would take this place
using Parser = wire::request_parser<wire::string_body>;
using detail::Delivery;
using detail::Exchange;

constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t read_buffer_bytes = 2048;    // a beat fits: one recv a request
constexpr std::size_t buffer_kept_max = 64 * 1024; // between requests
constexpr std::size_t gather_max = 64;             // texts of a stream in one write
constexpr std::size_t lingering_bytes_max = 32 * 1024 * 1024;
constexpr auto lingering_max =
    std::chrono::seconds(2);                          // read on after an error answer, see linger()
constexpr auto force_after = std::chrono::seconds(1); // from the last answers to closed sockets
constexpr auto accept_pause = std::chrono::milliseconds(100); // when descriptors have run out

std::chrono::nanoseconds nanos(Duration duration) { return std::chrono::nanoseconds(duration.ns); }

Error stopping_error() {
    return {Code::unavailable, "the server is stopping", "try again in a moment", {}};
}
Error too_late_error() {
    return {Code::unknown_outcome,
            "the server stopped before the outcome was known",
            "read the state before you repeat the request",
            {}};
}

Error slow_error(const std::string& part) {
    return {Code::deadline_exceeded,
            "the request's " + part + " came too slowly",
            "send it at once",
            {}};
}
Error large_error(const std::string& part, std::size_t limit) {
    return {Code::invalid_argument,
            "the request's " + part + " is too large",
            "at most " + std::to_string(limit) + " bytes",
            {}};
}
Error broken_error(const error_code& error) {
    return {Code::invalid_argument,
            "this is not an HTTP/1.1 request: " + error.message(),
            "speak plain HTTP/1.1 to this port (http://, not https://)",
            {}};
}

/// True for bytes that are no HTTP, false where the connection just ended.
bool is_broken(const error_code& error) {
    return error.category() == make_error_code(wire::error::bad_method).category() &&
           error != wire::error::end_of_stream && error != wire::error::partial_message;
}

std::string without_breaks(std::string text) {
    for (char& c : text)
        if (c == '\r' || c == '\n') c = ' ';
    return text;
}

std::string head_of(const HttpResponse& response, bool keep_alive) {
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ';
    head += status_text(response.status);
    head += "\r\nContent-Type: " + without_breaks(response.content_type) + "\r\n";
    for (const auto& [name, value] : response.headers)
        head += without_breaks(name) + ": " + without_breaks(value) + "\r\n";
    if (!keep_alive) head += "Connection: close\r\n";
    return head;
}

struct Shared {
    HttpServerOptions options;
    HttpHandler handler;
    std::shared_ptr<detail::Counters> counters = std::make_shared<detail::Counters>();
    std::mutex mutex;
    std::condition_variable all_closed;
};

class IoThread;

enum class Phase { idle, header, body, held, writing, lingering };

class Connection : public detail::Receiver, public std::enable_shared_from_this<Connection> {
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

/// One thread with its connections, its inbox and its sweeper.
class IoThread {
  public:
    explicit IoThread(Shared& shared_in)
        : shared(shared_in), inbox(std::make_shared<detail::Inbox>(
                                 [this] { asio::post(context, [this] { drain(); }); })) {}

    void start() {
        sweep_soon();
        thread_ = std::thread([this] { context.run(); });
    }

    void adopt(Stream socket) {
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        auto connection = std::make_shared<Connection>(*this, std::move(socket));
        connections_.insert(connection.get());
        if (stopping_) connection->begin_stop();
        asio::co_spawn(context, keep(connection), asio::detached);
    }

    void begin_stop() {
        stopping_ = true;
        for (auto* connection : connections_) connection->begin_stop();
    }
    void last_answers() {
        for (auto* connection : connections_) connection->last_answer();
    }
    void shut_all() {
        for (auto* connection : connections_) connection->shut();
    }
    void finish() {
        inbox->close();
        asio::post(context, [this] {
            finished_ = true; // the sweeper may have expired already: then cancel() does nothing
            sweeper_.cancel();
        });
        guard_.reset();
        thread_.join();
    }

    asio::io_context context{1};
    Shared& shared;
    std::shared_ptr<detail::Inbox> inbox;

  private:
    asio::awaitable<void> keep(std::shared_ptr<Connection> connection) {
        co_await connection->run();
        connections_.erase(connection.get());
        const std::lock_guard lock(shared.mutex);
        shared.counters->connections_open.fetch_sub(1);
        shared.all_closed.notify_all();
    }

    void drain() {
        for (auto& delivery : inbox->drain()) {
            auto* receiver = delivery.exchange->receiver;
            if (receiver != nullptr) receiver->receive(std::move(delivery));
        }
    }

    void sweep_soon() {
        sweeper_.expires_after(nanos(shared.options.sweep_every));
        sweeper_.async_wait([this](error_code error) {
            if (error || finished_) return;
            const auto now = std::chrono::steady_clock::now();
            for (auto* connection : connections_) connection->sweep(now);
            sweep_soon();
        });
    }

    // A context without work returns from run() at once, and its connections would hang.
    asio::executor_work_guard<asio::io_context::executor_type> guard_ =
        asio::make_work_guard(context);
    asio::steady_timer sweeper_{context};
    std::set<Connection*> connections_;
    bool stopping_ = false;
    bool finished_ = false;
    std::thread thread_;
};

// ------------------------------------------------------------------------------------ connection

Connection::Connection(IoThread& thread, Stream socket)
    : thread_(thread), socket_(std::move(socket)), wake_(thread.context) {
    buffer_.reserve(read_buffer_bytes);
}

void Connection::set_phase(Phase phase, Duration limit) {
    phase_ = phase;
    deadline_ = limit == Duration::max() ? SteadyTime::max()
                                         : std::chrono::steady_clock::now() + nanos(limit);
}

void Connection::shut() {
    error_code ignored;
    socket_.close(ignored);
    gone_ = true;
    wake_.cancel();
}

bool Connection::client_closed() {
    char byte = 0;
    const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void Connection::sweep(SteadyTime now) {
    if (!socket_.is_open()) return;
    if (phase_ == Phase::held) {
        if (client_closed()) shut();
        return;
    }
    if (now < deadline_) return;
    timed_out_ = true;
    error_code ignored;
    if (phase_ == Phase::header || phase_ == Phase::body)
        socket_.cancel(ignored); // the coroutine answers 408
    else
        shut();
}

void Connection::begin_stop() {
    stopping_ = true;
    if (phase_ == Phase::idle) {
        shut();
    } else if (phase_ == Phase::header || phase_ == Phase::body) {
        const auto soon = std::chrono::steady_clock::now() + force_after;
        deadline_ = std::min<SteadyTime>(deadline_, soon);
    } else if (streaming_) {
        stream_closed_ = true;
        wake_.cancel();
    } else if (exchange_ != nullptr && exchange_->may_drop) {
        exchange_->answer(error_response(stopping_error())); // comes back through the inbox
    }
}

void Connection::last_answer() {
    if (exchange_ != nullptr) exchange_->answer(error_response(too_late_error()));
}

void Connection::receive(Delivery delivery) {
    switch (delivery.kind) {
    case Delivery::Kind::answer: response_ = std::move(delivery.response); break;
    case Delivery::Kind::open_stream:
        streaming_ = true;
        stream_closed_ = stopping_;
        response_ = std::move(delivery.response);
        break;
    case Delivery::Kind::bytes: chunks_.push_back(std::move(delivery.bytes)); break;
    case Delivery::Kind::close: stream_closed_ = true; break;
    case Delivery::Kind::cut: shut(); return;
    case Delivery::Kind::droppable:
        exchange_->may_drop = true;
        if (stopping_) exchange_->answer(error_response(stopping_error()));
        return;
    }
    wake_.cancel();
}

asio::awaitable<void> Connection::run() {
    for (;;) {
        HttpRequest request;
        if (!co_await read_request(request)) break;
        if (!co_await serve(std::move(request))) break;
    }
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
}

asio::awaitable<bool> Connection::read_request(HttpRequest& request) {
    if (stopping_) co_return false;
    timed_out_ = false;
    if (buffer_.size() == 0) {
        if (buffer_.capacity() > buffer_kept_max) buffer_.shrink_to_fit();
        set_phase(Phase::idle, thread_.shared.options.idle_max);
        const auto [error, got] =
            co_await socket_.async_read_some(buffer_.prepare(read_buffer_bytes), no_throw);
        if (error) co_return false;
        buffer_.commit(got);
    }
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(header_bytes_max));
    parser.body_limit(body_bytes_max);
    set_phase(Phase::header, thread_.shared.options.header_read_max);
    const auto [error, got] = co_await wire::async_read_header(socket_, buffer_, parser, no_throw);
    if (timed_out_) {
        co_await refuse(408, slow_error("header"));
        co_return false;
    }
    if (error == wire::error::header_limit) {
        co_await refuse(431, large_error("header", header_bytes_max));
        co_return false;
    }
    if (error == wire::error::body_limit) {
        co_await refuse(413, large_error("body", body_bytes_max));
        co_return false;
    }
    if (error) {
        if (is_broken(error)) co_await refuse(400, broken_error(error));
        co_return false;
    }
    if (!co_await read_body(parser)) co_return false;
    Status decoded = ok();
    if (take_request(parser, request, decoded)) co_return true;
    co_await refuse(400, decoded.error());
    co_return false;
}

asio::awaitable<bool> Connection::read_body(Parser& parser) {
    set_phase(Phase::body, thread_.shared.options.body_read_max);
    if (!parser.is_done() && beast::iequals(parser.get()[wire::field::expect], "100-continue")) {
        static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        const auto [error, sent] =
            co_await asio::async_write(socket_, asio::buffer(go_on), no_throw);
        if (error) co_return false;
    }
    const auto [error, got] = co_await wire::async_read(socket_, buffer_, parser, no_throw);
    if (!error) co_return true;
    if (timed_out_)
        co_await refuse(408, slow_error("body"));
    else if (error == wire::error::body_limit)
        co_await refuse(413, large_error("body", body_bytes_max));
    else if (is_broken(error))
        co_await refuse(400, broken_error(error));
    co_return false;
}

bool Connection::take_request(Parser& parser, HttpRequest& request, Status& decoded) {
    auto& message = parser.get();
    keep_alive_ = message.keep_alive();
    request.method = std::string(message.method_string());
    head_only_ = request.method == "HEAD";
    for (const auto& field : message) {
        std::string name(field.name_string());
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        auto& value = request.headers[std::move(name)];
        if (!value.empty()) value += ", ";
        value += field.value();
    }
    decoded = decode_target(message.target(), request);
    request.body = std::move(message.body());
    return decoded.has_value();
}

asio::awaitable<bool> Connection::serve(HttpRequest request) {
    auto& shared = thread_.shared;
    shared.counters->requests.fetch_add(1);
    if (stopping_) {
        co_await write_response(error_response(stopping_error()), false);
        co_return false;
    }
    response_.reset();
    chunks_.clear();
    streaming_ = stream_closed_ = gone_ = false;
    exchange_ =
        std::make_shared<Exchange>(thread_.inbox, shared.counters, shared.options.streams_max);
    exchange_->receiver = this;
    set_phase(Phase::held, Duration::max());
    wake_.expires_at(SteadyTime::max()); // before the hand-off
    shared.handler(std::move(request), Responder(exchange_));
    // Only deliveries through this thread's inbox change what is read here.
    while (!response_ && !gone_) co_await wake_.async_wait(no_throw);
    bool served = false;
    bool keep_alive = keep_alive_ && !stopping_;
    if (response_ && streaming_) {
        served = co_await write_stream();
        keep_alive = false;
    } else if (response_) {
        served = co_await write_response(*response_, keep_alive);
    }
    exchange_->leave(served);
    exchange_.reset();
    co_return served&& keep_alive;
}

asio::awaitable<bool> Connection::write_response(const HttpResponse& response, bool keep_alive) {
    set_phase(Phase::writing, thread_.shared.options.write_max);
    const std::string head = head_of(response, keep_alive) +
                             "Content-Length: " + std::to_string(response.body.size()) + "\r\n\r\n";
    const std::array<asio::const_buffer, 2> parts = {
        asio::buffer(head), head_only_ ? asio::const_buffer{} : asio::buffer(response.body)};
    const auto [error, sent] = co_await asio::async_write(socket_, parts, no_throw);
    co_return !error;
}

asio::awaitable<bool> Connection::write_stream() {
    const auto& options = thread_.shared.options;
    std::string head = head_of(*response_, false) +
                       "Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (;;) {
        std::vector<std::shared_ptr<const std::string>> taken;
        std::size_t bytes = 0;
        for (; !chunks_.empty() && taken.size() < gather_max; chunks_.pop_front()) {
            bytes += chunks_.front()->size();
            taken.push_back(std::move(chunks_.front()));
        }
        std::vector<asio::const_buffer> parts;
        char size_line[24];
        std::snprintf(size_line, sizeof size_line, "%zx\r\n", bytes);
        if (bytes > 0) head += size_line;
        parts.push_back(asio::buffer(head));
        for (const auto& text : taken) parts.push_back(asio::buffer(*text));
        static constexpr std::string_view line_end = "\r\n";
        static constexpr std::string_view last_chunk = "0\r\n\r\n";
        if (bytes > 0) parts.push_back(asio::buffer(line_end));
        const bool ends = stream_closed_ && chunks_.empty();
        if (ends) parts.push_back(asio::buffer(last_chunk));
        set_phase(Phase::writing, options.write_max);
        const auto [error, sent] = co_await asio::async_write(socket_, parts, no_throw);
        exchange_->sent(bytes);
        if (error || gone_) co_return false;
        if (ends) co_return true;
        head.clear();
        set_phase(Phase::held, Duration::max());
        wake_.expires_at(SteadyTime::max());
        while (chunks_.empty() && !stream_closed_ && !gone_) co_await wake_.async_wait(no_throw);
        if (gone_) co_return false;
    }
}

/// Answers an error to what never became a request, and ends the connection.
asio::awaitable<void> Connection::refuse(int status, Error error) {
    thread_.shared.counters->requests_bad.fetch_add(1);
    HttpResponse response = error_response(error);
    response.status = status;
    timed_out_ = false;
    head_only_ = false;
    if (co_await write_response(response, false)) co_await linger();
}

/// Closing with bytes unread would reset the connection, and the client would never see our answer:
/// so read on for a short time.
asio::awaitable<void> Connection::linger() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    phase_ = Phase::lingering;
    deadline_ = std::chrono::steady_clock::now() + lingering_max;
    std::array<char, 16 * 1024> dropped;
    for (std::size_t total = 0; total < lingering_bytes_max;) {
        const auto [error, got] = co_await socket_.async_read_some(asio::buffer(dropped), no_throw);
        if (error) break;
        total += got;
    }
}

// ---------------------------------------------------------------------------------------- binding

Error bind_error(const HttpServerOptions& options, const error_code& error) {
    const std::string port = std::to_string(options.port);
    if (error == asio::error::address_in_use)
        return {Code::failed_precondition,
                "port " + port + " on " + options.address + " is taken by another program",
                "see which with: ss -ltnp 'sport = :" + port + "', or choose another port", "port"};
    if (error == asio::error::access_denied)
        return {Code::permission_denied, "no permission to listen on port " + port,
                "ports below 1024 need root; choose another port", "port"};
    if (error.value() == EADDRNOTAVAIL)
        return {Code::invalid_argument, options.address + " is not an address of this machine",
                "use 127.0.0.1", "address"};
    return {Code::internal,
            "cannot listen on " + options.address + ":" + port + ": " + error.message(),
            "look at the machine's network set-up",
            {}};
}

Result<tcp::endpoint> endpoint_of(const HttpServerOptions& options) {
    error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error)
        return fail(Code::invalid_argument, "\"" + options.address + "\" is not an IP address",
                    "use 127.0.0.1", "address");
    if (!address.is_loopback() && !options.allow_remote)
        return fail(Code::invalid_argument,
                    options.address +
                        " can be reached from other machines, and Muster speaks plain "
                        "HTTP only: tokens could be read on the way",
                    "listen on 127.0.0.1", "address");
    return tcp::endpoint(address, options.port);
}

Status open_acceptor(tcp::acceptor& acceptor, const tcp::endpoint& endpoint,
                     const HttpServerOptions& options) {
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return fail(bind_error(options, error));
    return ok();
}

} // namespace

// ----------------------------------------------------------------------------------------- server

struct HttpServer::Impl {
    explicit Impl(HttpServerOptions options, HttpHandler handler) {
        shared.options = std::move(options);
        shared.handler = std::move(handler);
        for (int i = 0; i < std::max(1, shared.options.threads); ++i)
            threads.push_back(std::make_unique<IoThread>(shared));
        acceptor = std::make_unique<tcp::acceptor>(threads[0]->context);
    }

    asio::awaitable<void> accept_all() {
        for (std::size_t next = 0;; next = (next + 1) % threads.size()) {
            IoThread& thread = *threads[next];
            auto [error, socket] = co_await acceptor->async_accept(thread.context, no_throw);
            if (error == asio::error::operation_aborted || !acceptor->is_open()) co_return;
            if (error) { // no descriptors left, or the client is gone already
                asio::steady_timer pause(threads[0]->context, accept_pause);
                co_await pause.async_wait(no_throw);
                continue;
            }
            auto& counters = *shared.counters;
            counters.connections_accepted.fetch_add(1);
            if (counters.connections_open.load() >= shared.options.connections_max) {
                turn_away(std::move(socket));
                continue;
            }
            counters.connections_open.fetch_add(1);
            asio::post(thread.context, [&thread, taken = std::move(socket)]() mutable {
                thread.adopt(std::move(taken));
            });
        }
    }

    void turn_away(Stream socket) {
        shared.counters->connections_refused.fetch_add(1);
        HttpResponse response = error_response(
            {Code::unavailable, "too many connections are open", "try again in a moment", {}});
        const std::string text = head_of(response, false) +
                                 "Content-Length: " + std::to_string(response.body.size()) +
                                 "\r\n\r\n" + response.body;
        ::send(socket.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }

    void everywhere(void (IoThread::*call)()) {
        for (auto& thread : threads)
            asio::post(thread->context, [&thread, call] { ((*thread).*call)(); });
    }

    template <class Rep, class Period>
    bool wait_closed(std::chrono::duration<Rep, Period> limit) {
        std::unique_lock lock(shared.mutex);
        return shared.all_closed.wait_for(
            lock, limit, [this] { return shared.counters->connections_open.load() == 0; });
    }

    Shared shared;
    std::vector<std::unique_ptr<IoThread>> threads;
    std::unique_ptr<tcp::acceptor> acceptor;
    std::uint16_t port = 0;
    bool stopped = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { stop(Duration{}); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options,
                                                      HttpHandler handler) {
    const auto endpoint = endpoint_of(options);
    if (!endpoint) return fail(endpoint.error());
    auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
    if (auto opened = open_acceptor(*impl->acceptor, *endpoint, impl->shared.options); !opened)
        return fail(opened.error());
    impl->port = impl->acceptor->local_endpoint().port();
    asio::co_spawn(impl->threads[0]->context, impl->accept_all(), asio::detached);
    for (auto& thread : impl->threads) thread->start();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const { return impl_->port; }

std::string HttpServer::url() const {
    const std::string& address = impl_->shared.options.address;
    const bool v6 = address.find(':') != std::string::npos;
    return "http://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(impl_->port);
}

HttpCounters HttpServer::counters() const {
    const auto& counters = *impl_->shared.counters;
    return {counters.connections_open, counters.connections_accepted, counters.connections_refused,
            counters.requests,         counters.requests_bad,         counters.streams_open,
            counters.streams_cut};
}

void HttpServer::stop(Duration grace) {
    if (std::exchange(impl_->stopped, true)) return;
    asio::post(impl_->threads[0]->context, [this] {
        error_code ignored;
        impl_->acceptor->close(ignored);
    });
    impl_->everywhere(&IoThread::begin_stop);
    if (!impl_->wait_closed(nanos(grace))) {
        impl_->everywhere(&IoThread::last_answers);
        if (!impl_->wait_closed(force_after)) {
            impl_->everywhere(&IoThread::shut_all);
            impl_->wait_closed(
                std::chrono::hours(1)); // every operation on a closed socket ends now
        }
    }
    for (auto& thread : impl_->threads) thread->finish();
}

} // namespace muster::http
