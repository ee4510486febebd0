#include "app/rendezvous_port.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

namespace muster::app {
namespace {

constexpr int tries_max = 20; // the other family's port may be taken

Result<io::UniqueFd> bind_four(std::uint16_t port) {
    io::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail(io::errno_error(errno, "make", "a socket"));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail(io::errno_error(errno, "bind", "a rendezvous port"));
    return fd;
}

bool family_is_off(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

/// An empty descriptor where the machine has no IPv6.
Result<io::UniqueFd> bind_six(std::uint16_t port) {
    io::UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd && family_is_off(errno)) return fd;
    if (!fd) return fail(io::errno_error(errno, "make", "a socket"));
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return fd;
    if (family_is_off(errno)) return io::UniqueFd{};
    return fail(io::errno_error(errno, "bind", "a rendezvous port"));
}

std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

} // namespace

Result<RendezvousPort> RendezvousPort::bind_any() {
    Error last;
    for (int i = 0; i < tries_max; ++i) {
        auto four = bind_four(0);
        if (!four) return fail(four.error());
        RendezvousPort port;
        port.port_ = port_of(four->get());
        auto six = bind_six(port.port_);
        if (!six) {
            last = six.error();
            continue;
        }
        port.sockets_.push_back(std::move(*four));
        if (*six) port.sockets_.push_back(std::move(*six));
        return port;
    }
    return fail(std::move(last));
}

} // namespace muster::app
