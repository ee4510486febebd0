#include "io/http/resolve.hpp"

#include <atomic>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace muster::http {
namespace {

addrinfo hints_with(int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    return hints;
}

Error no_address(const std::string& why) { return {Code::unavailable, why, {}, {}}; }

class ThreadLookup final : public Lookup {
  public:
    ThreadLookup() : done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~ThreadLookup() override {
        if (done_ >= 0) ::close(done_);
    }
    int fd() const override { return done_; }
    Result<Addresses> take() override {
        if (!finished_.load()) return fail(no_address("its name is still being looked up"));
        if (error_ != 0) return fail(no_address(::gai_strerror(error_)));
        return std::move(found_);
    }

    void run(const std::string& host, const std::string& port) {
        const addrinfo hints = hints_with(0);
        addrinfo* found = nullptr;
        error_ = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
        if (error_ == 0) found_.reset(found);
        finished_ = true;
        const std::uint64_t one = 1;
        (void)!::write(done_, &one, sizeof one);
    }

  private:
    const int done_;
    int error_ = 0;   // before finished_
    Addresses found_; // before finished_
    std::atomic<bool> finished_{false};
};

} // namespace

Result<Url> parse_url(const std::string& url) {
    const auto wrong = [&](const std::string& why) {
        return fail(Code::invalid_argument, "\"" + url + "\" is not a server's URL: " + why,
                    "write it as http://127.0.0.1:7070", "server");
    };
    constexpr std::string_view scheme = "http://";
    if (url.rfind("https://", 0) == 0) return wrong("TLS is not supported");
    if (url.rfind(scheme, 0) != 0) return wrong("it does not begin with http://");
    std::string rest = url.substr(scheme.size());
    if (!rest.empty() && rest.back() == '/') rest.pop_back();
    if (rest.find_first_of("/?#@ \r\n") != std::string::npos)
        return wrong("only host and port go in");
    Url parsed;
    const std::size_t bracket = rest.find(']');
    const std::size_t colon = rest.find(':', bracket == std::string::npos ? 0 : bracket);
    parsed.host = rest.substr(0, colon);
    parsed.port = colon == std::string::npos ? "80" : rest.substr(colon + 1);
    if (bracket != std::string::npos) {
        if (parsed.host.front() != '[' || parsed.host.back() != ']')
            return wrong("the host is broken");
        parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    }
    if (parsed.host.empty()) return wrong("it has no host");
    const bool digits = !parsed.port.empty() && parsed.port.size() <= 5 &&
                        parsed.port.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(parsed.port) < 1 || std::stoi(parsed.port) > 65535)
        return wrong("the port is not in 1 to 65535");
    return parsed;
}

std::shared_ptr<Lookup> look_up(const std::string& host, const std::string& port) {
    const auto lookup = std::make_shared<ThreadLookup>(); // shared: the thread may outlive who asks
    if (lookup->fd() < 0) return nullptr;
    try {
        std::thread([lookup, host, port] { lookup->run(host, port); }).detach();
    } catch (const std::system_error&) {
        return nullptr;
    }
    return lookup;
}

Addresses numeric_address(const std::string& host, const std::string& port) {
    const addrinfo hints = hints_with(AI_NUMERICHOST);
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return nullptr;
    return Addresses(found);
}

Result<Addresses> addresses_of(const std::string& host, const std::string& port, Duration limit) {
    if (auto numeric = numeric_address(host, port)) return numeric;
    const auto lookup = look_up(host, port);
    if (!lookup) return fail(no_address("no thread can be started to look up its name"));
    pollfd waiter{lookup->fd(), POLLIN, 0};
    const timespec wait{limit.ns / 1'000'000'000, limit.ns % 1'000'000'000};
    ::ppoll(&waiter, 1, &wait, nullptr);
    return lookup->take();
}

} // namespace muster::http
