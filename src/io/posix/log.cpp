#include "io/posix/log.hpp"

#include "base/text.hpp"
#include "codec/json.hpp"

#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace muster::io {
namespace {

constexpr std::size_t value_bytes_max = 2'000;

std::string bounded(std::string_view value) {
    if (value.size() <= value_bytes_max) return to_valid_utf8(value);
    return to_valid_utf8(value.substr(0, value_bytes_max)) + "...";
}

bool wants_json() {
    const char* wish = std::getenv("MUSTER_LOG");
    return wish != nullptr && std::string_view(wish) == "json";
}

bool is_plain(std::string_view text) {
    if (text.empty()) return false;
    for (const char c : text)
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return false;
    return true;
}

} // namespace

std::string log_line(bool json, std::string_view time, std::string_view name,
                     std::initializer_list<LogField> fields) {
    std::string line;
    if (json) {
        line = "{\"time\":" + codec::json_string(time) + ",\"event\":" + codec::json_string(name);
        for (const auto& [key, value] : fields)
            if (!value.empty())
                line += "," + codec::json_string(key) + ":" + codec::json_string(bounded(value));
        return line + "}\n";
    }
    line = std::string(time) + ' ' + std::string(name);
    for (const auto& [key, value] : fields) {
        if (value.empty()) continue;
        const std::string text = bounded(value);
        line += ' ' + std::string(key) + '=' + (is_plain(text) ? text : codec::json_string(text));
    }
    return line + '\n';
}

void log_event(std::string_view name, std::initializer_list<LogField> fields) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now); // for people; nothing is decided by it
    const Instant at{static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec};
    static const bool json = wants_json();
    const std::string line = log_line(json, to_text(at), name, fields);
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace muster::io
