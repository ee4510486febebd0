#pragma once
// A log line is an event with a name and fields, on standard error; one JSON object a line where
// MUSTER_LOG=json. Never a token or another secret.
//
//     io::log_event("server_listening", {{"url", url}});
//     2026-11-30T19:12:34.123Z server_listening url=http://127.0.0.1:7070

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace muster::io {

using LogField = std::pair<std::string_view, std::string>;

/// One write(2) a line, so that lines of several threads and processes stay whole. Fields without a
/// value are left out, long ones cut. Thread-safe.
void log_event(std::string_view name, std::initializer_list<LogField> fields = {});

/// The line without writing it.
std::string log_line(bool json, std::string_view time, std::string_view name,
                     std::initializer_list<LogField> fields);

} // namespace muster::io
