#pragma once
// What the last words of a rank say: patterns and the line that names the error. Used by
// evidence.cpp, cause.cpp and remedy.cpp alone.

#include "model/orders.hpp"

#include <string>
#include <string_view>

namespace muster::recovery {

/// The line that names the error: the traceback's message, else the last line with text.
std::string last_words(const RankExit& exit);

/// The words of a rank that lost a peer.
bool speaks_of_peer_loss(std::string_view text);

/// The words of a rank that met a machine's passing trouble: a retry may well succeed.
bool speaks_of_surroundings(std::string_view text);

} // namespace muster::recovery
