// A blocking client over poll(2): the caller's thread is the only one. Beast parses the answers.

#include "io/http/client.hpp"

#include "base/require.hpp"
#include "io/http/event_reader.hpp"
#include "io/http/resolve.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::http {
namespace {

namespace wire = boost::beast::http;
using SteadyTime = std::chrono::steady_clock::time_point;
using Parser = wire::response_parser<wire::string_body>;

constexpr std::size_t read_bytes = 16 * 1024;

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { reset(); }
    void reset() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }

  private:
    int fd_;
};

std::chrono::nanoseconds nanos(Duration duration) { return std::chrono::nanoseconds(duration.ns); }

SteadyTime after(Duration duration) {
    const auto now = std::chrono::steady_clock::now();
    const auto room = std::chrono::nanoseconds(SteadyTime::max() - now);
    return nanos(duration) >= room ? SteadyTime::max() : now + nanos(duration);
}

bool is_token(std::string_view text) {
    return text.find_first_of("\r\n") == std::string_view::npos;
}

} // namespace

struct HttpClient::Impl {
    enum class Ready { yes, timed_out, cancelled };

    Ready wait(int fd, short events, SteadyTime deadline) const {
        for (;;) {
            if (cancelled.load()) return Ready::cancelled;
            pollfd waits[2] = {{fd, events, 0}, {cancel_event.get(), POLLIN, 0}};
            const auto left = deadline - std::chrono::steady_clock::now();
            if (left <= std::chrono::nanoseconds(0)) return Ready::timed_out;
            const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
            const timespec limit{
                static_cast<time_t>(std::min<std::int64_t>(seconds.count(), 1 << 30)),
                static_cast<long>((left - seconds) / std::chrono::nanoseconds(1))};
            const int found = ::ppoll(waits, 2, &limit, nullptr);
            if (found < 0 && errno != EINTR) return Ready::timed_out;
            if (found > 0 && waits[0].revents != 0) return Ready::yes;
        }
    }

    Error not_ready(Ready ready) const {
        if (ready == Ready::cancelled)
            return {Code::unavailable, "the request was cancelled", {}, {}};
        return {Code::deadline_exceeded,
                "the server at " + text + " did not answer in time",
                "try again; if it stays so, look at the server's log",
                {}};
    }

    Error no_connection(const std::string& why) const {
        return {Code::unavailable,
                "no server answers at " + text + ": " + why,
                "start one with 'muster up', or name another with --server",
                {}};
    }

    Status connect_one(const addrinfo& address, SteadyTime deadline) {
        Descriptor fd(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!fd.open()) return fail(no_connection(std::strerror(errno)));
        const int one = 1;
        ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
            if (errno != EINPROGRESS) return fail(no_connection(std::strerror(errno)));
            const Ready ready = wait(fd.get(), POLLOUT, deadline);
            if (ready == Ready::cancelled) return fail(not_ready(ready));
            if (ready == Ready::timed_out) return fail(no_connection("no answer in time"));
            int error = 0;
            socklen_t size = sizeof error;
            ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0) return fail(no_connection(std::strerror(error)));
        }
        if (connected_to_itself(fd.get()))
            return fail(no_connection("nobody listens")); // a port of our own choice met itself
        socket = std::move(fd);
        buffer.clear();
        return ok();
    }

    static bool connected_to_itself(int fd) {
        sockaddr_storage own{};
        sockaddr_storage peer{};
        socklen_t own_size = sizeof own;
        socklen_t peer_size = sizeof peer;
        return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
               ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
               own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
    }

    Status connect(SteadyTime deadline) {
        const SteadyTime limit = std::min(deadline, after(connect_max));
        const auto found = addresses(limit);
        if (!found) return fail(found.error());
        Status result = fail(no_connection("the name has no address"));
        for (const addrinfo* address = found->get(); address != nullptr;
             address = address->ai_next) {
            result = connect_one(*address, limit);
            if (result || cancelled.load()) break;
        }
        return result;
    }

    Result<Addresses> addresses(SteadyTime limit) {
        if (auto numeric = numeric_address(url.host, url.port)) return numeric;
        // One at a time: what the resolver has not answered yet is waited for again.
        if (!lookup) lookup = look_up(url.host, url.port);
        if (!lookup) return fail(no_connection("no thread can be started to look up its name"));
        const Ready ready = wait(lookup->fd(), POLLIN, limit);
        if (ready == Ready::cancelled) return fail(not_ready(ready));
        if (ready == Ready::timed_out)
            return fail(no_connection("its name was not looked up in time"));
        auto found = std::exchange(lookup, nullptr)->take();
        if (!found) return fail(no_connection(found.error().message));
        return found;
    }

    Result<std::string> head_of(const HttpCall& call, std::string_view accept) const {
        if (!is_token(call.target) || call.target.empty() || call.target[0] != '/' ||
            call.target.find(' ') != std::string::npos)
            return fail(Code::invalid_argument, "\"" + call.target + "\" is not a request target",
                        "percent-encode its parts");
        std::string head = call.method + ' ' + call.target + " HTTP/1.1\r\nHost: " + url.host +
                           ':' + url.port + "\r\nAccept: " + std::string(accept) + "\r\n";
        if (!token.empty()) head += "Authorization: Bearer " + token + "\r\n";
        if (!call.body.empty()) head += "Content-Type: " + call.content_type + "\r\n";
        if (!call.body.empty() || call.method != "GET")
            head += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
        for (const auto& [name, value] : call.headers) {
            if (!is_token(name) || !is_token(value))
                return fail(Code::invalid_argument, "header " + name + " holds a line break");
            head += name + ": " + value + "\r\n";
        }
        return head + "\r\n";
    }

    /// How far an exchange came when it broke.
    struct Broken {
        Error error;
        bool nothing_received = false; // the connection ended before a byte of the answer
    };

    std::optional<Broken> send_all(std::string_view bytes, SteadyTime deadline) {
        while (!bytes.empty()) {
            const auto sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent >= 0) {
                bytes.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                const Ready ready = wait(socket.get(), POLLOUT, deadline);
                if (ready != Ready::yes) return Broken{not_ready(ready)};
            } else if (errno == EPIPE || errno == ECONNRESET) {
                return std::nullopt; // an answer may lie there to be read (413 before the body's
                                     // end)
            } else if (errno != EINTR) {
                return Broken{no_connection(std::strerror(errno))};
            }
        }
        return std::nullopt;
    }

    /// Reads once into the buffer. 0: the peer closed.
    std::optional<Broken> read_some(SteadyTime deadline, std::size_t& got) {
        for (;;) {
            const auto space = buffer.prepare(read_bytes);
            const auto count = ::recv(socket.get(), space.data(), space.size(), 0);
            if (count >= 0) {
                got = static_cast<std::size_t>(count);
                buffer.commit(got);
                return std::nullopt;
            }
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                const Ready ready = wait(socket.get(), POLLIN, deadline);
                if (ready != Ready::yes) return Broken{not_ready(ready)};
            } else if (errno == ECONNRESET) {
                got = 0;
                return std::nullopt;
            } else if (errno != EINTR) {
                return Broken{unknown_outcome(std::strerror(errno))};
            }
        }
    }

    Error unknown_outcome(const std::string& why) const {
        return {Code::unknown_outcome,
                "the connection to " + text + " ended before the whole answer: " + why,
                "read the state before you repeat the request",
                {}};
    }

    /// Feeds the parser until its header (or all of it) is there.
    std::optional<Broken> read_answer(Parser& parser, SteadyTime deadline, bool header_only) {
        bool anything = buffer.size() > 0;
        const auto complete = [&] {
            return header_only ? parser.is_header_done() : parser.is_done();
        };
        while (!complete()) {
            boost::system::error_code error;
            if (buffer.size() > 0) {
                const std::size_t used = parser.put(buffer.data(), error);
                buffer.consume(used);
                if (error && error != wire::error::need_more) return Broken{broken_answer(error)};
                if (complete()) break;
                if (!error && used > 0) continue;
            }
            std::size_t got = 0;
            if (auto broken = read_some(deadline, got)) return broken;
            if (got > 0) {
                anything = true;
                continue;
            }
            if (!anything) return Broken{unknown_outcome("it was closed"), true};
            parser.put_eof(error);
            if (error || !complete()) return Broken{unknown_outcome("it was closed")};
        }
        return std::nullopt;
    }

    Error broken_answer(const boost::system::error_code& error) const {
        return {Code::unknown_outcome,
                "what answers at " + text +
                    " does not speak HTTP as Muster does: " + error.message(),
                "check the server's address",
                {}};
    }

    std::optional<Broken> exchange(const HttpCall& call, const std::string& head, Parser& parser,
                                   SteadyTime deadline, bool header_only) {
        parser.body_limit(response_bytes_max);
        parser.eager(true);
        if (auto broken = send_all(head + call.body, deadline)) return broken;
        return read_answer(parser, deadline, header_only);
    }

    /// Sends on the kept connection or a new one; once again where the kept one was stale.
    Status perform(const HttpCall& call, std::string_view accept, std::optional<Parser>& parser,
                   bool header_only) {
        const SteadyTime deadline = after(call.deadline);
        const auto head = head_of(call, accept);
        if (!head) return fail(head.error());
        if (cancelled.load()) return fail(not_ready(Ready::cancelled));
        for (;;) {
            const bool reused = socket.open();
            if (!reused)
                if (auto connected = connect(deadline); !connected) return connected;
            parser.emplace();
            if (call.method == "HEAD") parser->skip(true);
            auto broken = exchange(call, *head, *parser, deadline, header_only);
            if (!broken) return ok();
            socket.reset();
            buffer.clear();
            if (!(reused && broken->nothing_received)) return fail(std::move(broken->error));
        }
    }

    Url url;
    std::string text;
    std::string token;
    Descriptor socket;
    boost::beast::flat_buffer buffer;
    std::shared_ptr<Lookup> lookup; // not answered yet; its thread holds it, too
    Descriptor cancel_event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::atomic<bool> cancelled{false};
};

namespace {
HttpResponse response_of(Parser& parser) {
    HttpResponse response;
    auto& message = parser.get();
    response.status = static_cast<int>(message.result_int());
    response.content_type = std::string(message[wire::field::content_type]);
    for (const auto& field : message) {
        std::string name(field.name_string());
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        response.headers[std::move(name)] = std::string(field.value());
    }
    response.body = std::move(message.body());
    return response;
}
} // namespace

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpClient> HttpClient::make(const std::string& url, std::string token) {
    auto parsed = parse_url(url);
    if (!parsed) return fail(parsed.error());
    if (!is_token(token))
        return fail(Code::invalid_argument, "the token holds a line break",
                    "give the token's text alone", "token");
    auto impl = std::make_unique<Impl>();
    if (!impl->cancel_event.open())
        return fail(Code::resource_exhausted, "no more files can be opened", "raise 'ulimit -n'");
    impl->url = std::move(*parsed);
    impl->text = url;
    impl->token = std::move(token);
    return HttpClient(std::move(impl));
}

Result<HttpResponse> HttpClient::request(const HttpCall& call) {
    std::optional<Parser> parser;
    if (auto done = impl_->perform(call, "application/json", parser, false); !done)
        return fail(done.error());
    if (!parser->get().keep_alive() || impl_->buffer.size() > 0) impl_->socket.reset();
    return response_of(*parser);
}

Status HttpClient::stream(const HttpCall& call,
                          const std::function<bool(const StreamEvent&)>& take) {
    Impl& impl = *impl_;
    std::optional<Parser> parser;
    if (auto done = impl.perform(call, "text/event-stream", parser, true); !done) return done;
    if (parser->get().result() != wire::status::ok) {
        const auto broken = impl.read_answer(*parser, after(call.deadline), false);
        impl.socket.reset();
        if (broken) return fail(broken->error);
        return fail(error_of(response_of(*parser)));
    }
    parser->body_limit(boost::none);
    EventReader reader;
    Status result = ok();
    for (;;) {
        auto& body = parser->get().body();
        const auto more = reader.feed(body, take);
        body.clear();
        if (!more) result = fail(more.error());
        if (!more || !*more) break;
        if (parser->is_done()) {
            result =
                fail(Code::unavailable, "the server ended the stream", "resume with the last id");
            break;
        }
        boost::system::error_code error;
        std::size_t used = 0;
        if (impl.buffer.size() > 0) {
            used = parser->put(impl.buffer.data(), error);
            impl.buffer.consume(used);
            if (error && error != wire::error::need_more) {
                result = fail(impl.broken_answer(error));
                break;
            }
        }
        if (used > 0 && !error) continue;
        if (!parser->get().body().empty() || parser->is_done()) continue;
        std::size_t got = 0;
        if (auto broken = impl.read_some(after(call.deadline), got)) {
            result = fail(std::move(broken->error));
            break;
        }
        if (got == 0) {
            result = fail(Code::unavailable, "the connection to the server ended",
                          "resume with the last id");
            break;
        }
    }
    impl.socket.reset(); // never kept after a stream
    impl.buffer.clear();
    return result;
}

void HttpClient::cancel() {
    impl_->cancelled.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(impl_->cancel_event.get(), &one, sizeof one);
}

void HttpClient::reset() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(impl_->cancel_event.get(), &count, sizeof count);
    impl_->cancelled.store(false);
}

bool HttpClient::cancelled() const { return impl_->cancelled.load(); }
const std::string& HttpClient::url() const { return impl_->text; }

} // namespace muster::http
