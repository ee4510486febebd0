#pragma once
// A log line of a part of Muster: an event with a name and fields, on standard error.
//
//     log_event("launcher_started", {{"workload", text}, {"pid", "17"}});
//     2026-11-30T19:12:34.123Z launcher_started workload=01j... pid=17

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace muster::app {

using LogField = std::pair<std::string_view, std::string>;

/// One write, whole lines also from several processes. Values with blanks are
/// quoted, fields without a value left out. Thread-safe.
void log_event(std::string_view name, std::initializer_list<LogField> fields = {});

} // namespace muster::app
