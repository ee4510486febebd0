#pragma once
// Finding errors in output: by patterns for the first one, by shape for Python's tracebacks.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace muster::io {

/// A line that tells of an error: a traceback's head, an exception, a crash report. The one rule
/// for what is kept, for what stands out on a terminal and in `muster logs`.
bool looks_like_error(std::string_view line);

/// The last Python traceback in the lines, from its head to its final line; empty if there is none.
std::string last_traceback(const std::deque<std::string>& lines);

/// The newest lines for an exit record, each cut to its limit.
std::vector<std::string> last_lines(const std::deque<std::string>& lines);

} // namespace muster::io
