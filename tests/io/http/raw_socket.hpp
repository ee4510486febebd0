#pragma once
// A bare TCP connection for tests that speak HTTP badly on purpose.

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::test {

class RawSocket {
  public:
    explicit RawSocket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;
    ~RawSocket() { close(); }

    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    void shut_write() { ::shutdown(fd_, SHUT_WR); }
    bool connected() const { return connected_; }
    int fd() const { return fd_; }

    /// False once the peer refuses bytes.
    bool send(std::string_view text) {
        while (!text.empty()) {
            const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    /// Reads until `text` was seen, the peer closed, or nothing came for 10 s (a broken test).
    std::string read_until(std::string_view text) {
        while (text.empty() || seen_.find(text) == std::string::npos) {
            pollfd wait{fd_, POLLIN, 0};
            if (::poll(&wait, 1, 10'000) <= 0) return seen_ + "<nothing came for 10 s>";
            char bytes[4096];
            const auto got = ::recv(fd_, bytes, sizeof bytes, 0);
            if (got <= 0) break;
            seen_.append(bytes, static_cast<std::size_t>(got));
        }
        return seen_;
    }
    std::string read_to_end() { return read_until(""); }
    void forget() { seen_.clear(); }

  private:
    int fd_;
    bool connected_ = false;
    std::string seen_;
};

} // namespace muster::test
