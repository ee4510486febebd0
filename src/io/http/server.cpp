// Binding, accepting and stopping; connections serve themselves (connection.cpp).

#include "io/http/server.hpp"

#include "io/http/io_thread.hpp"

#include <sys/socket.h>
#include <vector>

namespace muster::http {
namespace {

namespace asio = boost::asio;
using namespace detail;

constexpr auto accept_pause = std::chrono::milliseconds(100); // when descriptors have run out
constexpr auto shut_limit =
    std::chrono::minutes(1); // every operation on a closed socket ends at once

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
            impl_->wait_closed(shut_limit);
        }
    }
    for (auto& thread : impl_->threads) thread->finish();
}

} // namespace muster::http
