#pragma once
// HttpServer: HTTP/1.1 on a few I/O threads. A handler gets each request with a Responder, through
// which the answer is given once, at once or much later, from any thread.

#include "io/http/message.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace muster::http {

struct HttpServerOptions {
    std::string address = "127.0.0.1"; // an IP address; other than loopback needs allow_remote
    std::uint16_t port = 0;            // 0: any free one
    int threads = 1;
    bool allow_remote = false; // plain HTTP beyond this machine: whoever sets it answers for it
    std::size_t connections_max = http::connections_max;
    std::size_t streams_max = http::streams_max;
    Duration idle_max = http::idle_max;
    Duration header_read_max = http::header_read_max;
    Duration body_read_max = http::body_read_max;
    Duration write_max = http::write_max;
    Duration sweep_every = http::sweep_every;
};

namespace detail {
class Exchange;
}

/// An open answer without end (server-sent events). Thread-safe handle; the last copy's end ends
/// it.
class HttpStream {
  public:
    HttpStream() = default;
    explicit HttpStream(std::shared_ptr<detail::Exchange> exchange);
    HttpStream(HttpStream&&) noexcept = default;
    HttpStream& operator=(HttpStream&&) noexcept;
    ~HttpStream();

    /// Queues bytes; one text may be shared by many streams. False: the reader went away, or is so
    /// slow that stream_bytes_max lie unsent: then the stream is cut here.
    bool write(std::shared_ptr<const std::string> bytes);
    bool write(std::string bytes);
    /// True once nothing written will arrive any more.
    bool gone() const;
    /// Bytes queued and not yet handed to the kernel.
    std::size_t unsent() const;
    /// What is queued still goes out.
    void close();

  private:
    std::shared_ptr<detail::Exchange> exchange_;
};

/// The way to answer one request. Movable, thread-safe against the I/O threads; may outlive the
/// server (then answers lead nowhere). Dropped without an answer, the client is told `internal`.
class Responder {
  public:
    Responder() = default;
    explicit Responder(std::shared_ptr<detail::Exchange> exchange);
    Responder(Responder&&) noexcept = default;
    Responder& operator=(Responder&&) noexcept;
    ~Responder();

    /// Once; later calls do nothing.
    void answer(HttpResponse response);
    void answer(const Error& error) { answer(error_response(error)); }
    /// Answers 200 with an open body. resource_exhausted where too many streams are open: then the
    /// answer is still to be given.
    Result<HttpStream> stream(const std::string& content_type = "text/event-stream");

    /// The client went away: nobody will read an answer. Seen within about sweep_every.
    bool gone() const;
    /// Called once when the client goes away, on an I/O thread (or here, if it has). Must not
    /// block.
    void on_gone(std::function<void()> call);
    /// Nothing is lost if a stopping server answers this one itself, with 503: for long polls.
    void droppable();

  private:
    std::shared_ptr<detail::Exchange> exchange_;
};

/// Called on an I/O thread: must not block.
using HttpHandler = std::function<void(HttpRequest, Responder)>;

struct HttpCounters {
    std::uint64_t connections_open = 0;
    std::uint64_t connections_accepted = 0;
    std::uint64_t connections_refused = 0; // over connections_max
    std::uint64_t requests = 0;
    std::uint64_t requests_bad = 0; // not HTTP, too large, too slow
    std::uint64_t streams_open = 0;
    std::uint64_t streams_cut = 0; // readers that were too slow
};

/// Life: start() to stop() or destruction. Thread-safe once started.
class HttpServer {
  public:
    /// Binds, listens and serves. Fails with a clear error where the port is taken, the address is
    /// not this machine's, or it is not loopback and allow_remote is not set.
    static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                     HttpHandler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    std::uint16_t port() const;
    /// "http://127.0.0.1:7070"
    std::string url() const;
    HttpCounters counters() const;

    /// No new connections and requests; droppable ones are answered 503 now; others may be answered
    /// for `grace`, then are told that the outcome is unknown. Returns when every thread has ended.
    void stop(Duration grace = Duration::seconds(5));

  private:
    struct Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace muster::http
