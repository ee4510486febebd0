#pragma once
// Events and causes as lines for people.

#include "cli/terminal.hpp"
#include "model/views.hpp"

#include <string>
#include <vector>

namespace muster::cli {

/// "19:12:34.123 warning  job/charlm  text"; the subject only where `with_subject`.
std::string event_line(const Terminal& terminal, const EventView& event, bool with_subject);
/// False for events that a follow shows in another way already.
bool is_worth_telling(const EventView& event);
/// "19:12:34.123" of an Instant (UTC).
std::string clock_text(Instant at);

/// The rank at fault, its code, its last lines or its traceback, indented; who only followed.
std::vector<std::string> cause_lines(const Terminal& terminal, const ExitCause& cause);

} // namespace muster::cli
