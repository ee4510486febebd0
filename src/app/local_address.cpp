#include "app/local_address.hpp"

#include "io/http/resolve.hpp"
#include "io/posix/fd.hpp"
#include "io/posix/files.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netdb.h>
#include <sys/socket.h>

namespace muster::app {
namespace {

constexpr Duration name_lookup_max = Duration::seconds(30);

/// "host", "host:port" and "[v6]:port" after "http://".
std::string host_of(const std::string& url) {
    const auto scheme = url.find("://");
    std::string host = scheme == std::string::npos ? url : url.substr(scheme + 3);
    host = host.substr(0, host.find('/'));
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.rfind(':'));
}

} // namespace

Result<std::string> local_address_towards(const std::string& url) {
    const std::string host = host_of(url);
    const auto list = http::addresses_of(host, "9", name_lookup_max);
    if (!list)
        return fail(Code::invalid_argument,
                    "the server's host \"" + host + "\" has no address: " + list.error().message,
                    "give the server as http://HOST:PORT", "server");
    for (const addrinfo* at = list->get(); at != nullptr; at = at->ai_next) {
        const io::UniqueFd fd(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage own{};
        socklen_t length = sizeof own;
        char text[NI_MAXHOST];
        if (fd && ::connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0 &&
            ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
            ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                          NI_NUMERICHOST) == 0)
            return std::string(text);
    }
    return fail(Code::unavailable, "there is no route to the server's host \"" + host + "\"",
                "give the address where peers reach this machine with --address");
}

} // namespace muster::app
