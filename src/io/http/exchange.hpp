#pragma once
// Exchange: one request's way back, shared by the Responder (any thread) and its connection (one
// I/O thread). What a Responder does reaches the connection only as a Delivery through the I/O
// thread's Inbox: after the hand-off the connection touches nothing that others write, but atomics
// below.

#include "io/http/server.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace muster::http::detail {

struct Counters {
    std::atomic<std::uint64_t> connections_open{0};
    std::atomic<std::uint64_t> connections_accepted{0};
    std::atomic<std::uint64_t> connections_refused{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> requests_bad{0};
    std::atomic<std::uint64_t> streams_open{0};
    std::atomic<std::uint64_t> streams_cut{0};
};

struct Delivery {
    enum class Kind { answer, open_stream, bytes, close, cut, droppable };
    std::shared_ptr<Exchange> exchange;
    Kind kind = Kind::answer;
    HttpResponse response;
    std::shared_ptr<const std::string> bytes;
};

/// The mailbox of one I/O thread. `wake` is called when it stops being empty.
class Inbox {
  public:
    explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}
    void push(Delivery delivery);
    std::vector<Delivery> drain();
    /// Nobody drains any more: what comes is dropped, `wake` is not called again.
    void close();

  private:
    std::mutex mutex_;
    bool open_ = true;
    std::vector<Delivery> waiting_;
    std::function<void()> wake_;
};

/// What deliveries are for. Called on the I/O thread only.
class Receiver {
  public:
    virtual ~Receiver() = default;
    virtual void receive(Delivery delivery) = 0;
};

class Exchange : public std::enable_shared_from_this<Exchange> {
  public:
    Exchange(std::shared_ptr<Inbox> inbox, std::shared_ptr<Counters> counters,
             std::size_t streams_limit)
        : inbox_(std::move(inbox)), counters_(std::move(counters)), streams_limit_(streams_limit) {}
    ~Exchange();

    // ---- any thread
    bool answer(HttpResponse response);
    bool answered() const { return answered_.load(std::memory_order_relaxed); }
    Status open_stream(const std::string& content_type);
    bool write(std::shared_ptr<const std::string> bytes);
    void close();
    void droppable();
    bool gone() const { return gone_.load(std::memory_order_acquire); }
    void on_gone(std::function<void()> call);
    std::size_t unsent() const { return unsent_.load(std::memory_order_relaxed); }

    // ---- the connection's I/O thread
    Receiver* receiver = nullptr; // null once the connection has left this exchange
    bool may_drop = false;
    void sent(std::size_t bytes) { unsent_.fetch_sub(bytes, std::memory_order_relaxed); }
    /// The connection leaves. `served`: the answer went out whole; else the client went away.
    void leave(bool served);

  private:
    void deliver(Delivery::Kind kind, std::shared_ptr<const std::string> bytes = {});
    void release_stream();

    std::shared_ptr<Inbox> inbox_;
    std::shared_ptr<Counters> counters_;
    std::size_t streams_limit_;
    std::atomic<bool> answered_{false};
    std::atomic<bool> counted_{false}; // among streams_open
    std::atomic<bool> gone_{false};
    std::atomic<bool> cut_{false};
    std::atomic<std::size_t> unsent_{0};
    std::mutex gone_mutex_;
    std::function<void()> gone_call_;
};

} // namespace muster::http::detail
