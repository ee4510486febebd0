#pragma once
// IoThread: one I/O thread of a server, with an io_context, the connections that live on it, its
// inbox and its sweeper. Time-outs are looked at by the sweeper: timers per operation cost a tenth
// of the throughput. Internal to io/http (see connection.hpp).
// Life: start() to finish(). Posted to from any thread; the rest is its own thread's.

#include "io/http/connection.hpp"

#include <memory>
#include <set>
#include <thread>

namespace muster::http::detail {

class IoThread {
  public:
    explicit IoThread(Shared& shared_in)
        : shared(shared_in),
          inbox(std::make_shared<Inbox>([this] { asio::post(context, [this] { drain(); }); })) {}

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
    std::shared_ptr<Inbox> inbox;

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

} // namespace muster::http::detail
