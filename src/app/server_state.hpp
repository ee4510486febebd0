#pragma once
// The state directory of a server: tokens, the client's file, limits of the process.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster::app {

struct ServerTokens {
    std::string user;
    std::string node;
};

/// Reads <state>/server/{user,node}.token, or makes them (0600) at the first start.
Result<ServerTokens> open_tokens(const std::string& state);

/// <state>/client.json, 0600: how clients on this machine find the server.
Status write_client_file(const std::string& state, const std::string& url,
                         const std::string& user_token);

struct ListenAddress {
    std::string address;
    std::uint16_t port = 0;
};
/// "127.0.0.1:7070", "[::1]:7070", "localhost:7070" or a port alone.
Result<ListenAddress> parse_listen(const std::string& text);

/// Raises the limit of open files as far as it goes; how many connections it leaves room for.
std::size_t connections_possible();

/// Name of the user that this process runs as.
std::string own_user_name();

} // namespace muster::app
