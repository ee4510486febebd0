#pragma once
// Which of this machine's addresses a server sees: where its peers reach it, as the best guess.

#include "base/result.hpp"

#include <string>

namespace muster::app {

/// `url`: "http://host:port". Asks the kernel for the route; nothing is sent.
Result<std::string> local_address_towards(const std::string& url);

} // namespace muster::app
