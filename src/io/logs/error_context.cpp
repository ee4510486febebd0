#include "io/logs/error_context.hpp"

#include "base/text.hpp"
#include "io/logs/log_limits.hpp"

#include <algorithm>
#include <array>

namespace muster::io {
namespace {

constexpr std::string_view traceback_head = "Traceback (most recent call last):";

/// Anywhere in a line.
constexpr std::array<std::string_view, 17> error_marks{
    traceback_head,
    "Error:",
    "ERROR",
    "FATAL",
    "Fatal ",
    "Exception:",
    "exception:",
    "CUDA error",
    "NCCL WARN",
    "NCCL error",
    "Segmentation fault",
    "Bus error",
    "terminate called",
    "Sanitizer:",
    "Assertion ",
    "Out of memory",
    "core dumped",
};

/// How the names of Python's exceptions end. One raised without a message is a line of its own.
constexpr std::array<std::string_view, 3> exception_endings{"Error", "Exception", "Interrupt"};

} // namespace

bool looks_like_error(std::string_view line) {
    const bool marked =
        std::any_of(error_marks.begin(), error_marks.end(), [&](std::string_view mark) {
            return line.find(mark) != std::string_view::npos;
        });
    if (marked) return true;
    const std::string_view word = line.substr(0, line.find(':'));
    return word.find(' ') == std::string_view::npos &&
           std::any_of(exception_endings.begin(), exception_endings.end(),
                       [&](std::string_view ending) { return word.ends_with(ending); });
}

std::string last_traceback(const std::deque<std::string>& lines) {
    const auto is_head = [](const std::string& line) {
        return line.find(traceback_head) != std::string::npos;
    };
    const auto head = std::find_if(lines.rbegin(), lines.rend(), is_head);
    if (head == lines.rend()) return {};
    // Frames are indented below the head; the first line that is not is the exception itself.
    auto at = head.base(); // the line after the head
    const std::size_t indent = head->find(traceback_head);
    std::string text = *head + "\n";
    for (; at != lines.end(); ++at) {
        text += *at + "\n";
        const auto begin = at->find_first_not_of(' ');
        if (begin != std::string::npos && begin <= indent) break;
    }
    if (text.size() > traceback_bytes_max) {
        // Deep recursion: the head and the end say it all.
        const std::size_t half = traceback_bytes_max / 2;
        text = text.substr(0, half) + "\n[...]\n" + text.substr(text.size() - half);
        text = to_valid_utf8(text);
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

std::vector<std::string> last_lines(const std::deque<std::string>& lines) {
    const auto count = std::min(lines.size(), last_lines_max);
    std::vector<std::string> result(lines.end() - static_cast<std::ptrdiff_t>(count), lines.end());
    for (auto& line : result)
        if (line.size() > last_line_bytes_max) {
            line.resize(last_line_bytes_max);
            line = to_valid_utf8(line);
        }
    return result;
}

} // namespace muster::io
