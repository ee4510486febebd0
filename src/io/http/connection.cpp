#include "io/http/connection.hpp"

#include "io/http/io_thread.hpp"

#include <boost/beast/http/read.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <sys/socket.h>
#include <vector>

namespace muster::http::detail {
namespace {

constexpr std::size_t read_buffer_bytes = 2048;    // a beat fits: one recv a request
constexpr std::size_t buffer_kept_max = 64 * 1024; // between requests
constexpr std::size_t gather_max = 64;             // texts of a stream in one write
constexpr std::size_t lingering_bytes_max = 32 * 1024 * 1024;
constexpr auto lingering_max =
    std::chrono::seconds(2); // read on after an error answer, see linger()

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

} // namespace

std::string head_of(const HttpResponse& response, bool keep_alive) {
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ';
    head += status_text(response.status);
    head += "\r\nContent-Type: " + without_breaks(response.content_type) + "\r\n";
    for (const auto& [name, value] : response.headers)
        head += without_breaks(name) + ": " + without_breaks(value) + "\r\n";
    if (!keep_alive) head += "Connection: close\r\n";
    return head;
}

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

} // namespace muster::http::detail
