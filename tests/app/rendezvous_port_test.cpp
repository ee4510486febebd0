#include "app/rendezvous_port.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace muster::app {
namespace {

/// Tries to take the port as a store (or a stranger) would; 0 or errno.
int take_port(int family, std::uint16_t port, bool reuse, io::UniqueFd& socket) {
    socket = io::UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (reuse) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    const auto* address = family == AF_INET ? reinterpret_cast<const sockaddr*>(&four)
                                            : reinterpret_cast<const sockaddr*>(&six);
    const socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    if (::bind(socket.get(), address, size) != 0) return errno;
    return ::listen(socket.get(), 1) != 0 ? errno : 0;
}

TEST(RendezvousPort, TheStoreListensOverItAndAStrangerCannot) {
    const auto port = RendezvousPort::bind_any();
    ASSERT_TRUE(port.has_value());
    ASSERT_NE(port->port(), 0);
    io::UniqueFd stranger;
    EXPECT_EQ(take_port(AF_INET, port->port(), false, stranger), EADDRINUSE);
    EXPECT_EQ(take_port(AF_INET6, port->port(), false, stranger), EADDRINUSE);
    io::UniqueFd store;
    EXPECT_EQ(take_port(AF_INET, port->port(), true, store), 0);
    store.reset();
    EXPECT_EQ(take_port(AF_INET6, port->port(), true, store), 0) << "both families at once";
    // Again and again within the generation: nothing was consumed.
    store.reset();
    EXPECT_EQ(take_port(AF_INET6, port->port(), true, store), 0);
}

TEST(RendezvousPort, TwoAreDifferent) {
    const auto one = RendezvousPort::bind_any();
    const auto two = RendezvousPort::bind_any();
    ASSERT_TRUE(one && two);
    EXPECT_NE(one->port(), two->port());
}

} // namespace
} // namespace muster::app
