#pragma once
// Addresses that only this machine reaches.

#include <string_view>

namespace muster::app {

inline bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address == "::1" || address == "localhost";
}

} // namespace muster::app
