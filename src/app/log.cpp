#include "app/log.hpp"

#include "base/text.hpp"

#include <chrono>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr std::size_t value_bytes_max = 2'000;

std::string field_text(std::string value) {
    if (value.size() > value_bytes_max) value = value.substr(0, value_bytes_max) + "...";
    value = to_valid_utf8(value);
    if (!value.empty() && value.find_first_of(" \"\n\t=") == std::string::npos) return value;
    std::string text = "\"";
    for (const char c : value) {
        if (c == '\n')
            text += "\\n";
        else if (c == '"')
            text += "'";
        else
            text += c;
    }
    return text + "\"";
}

} // namespace

void log_event(std::string_view name, std::initializer_list<LogField> fields) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const Instant at{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
    std::string line = to_text(at) + " " + std::string(name);
    for (const auto& [key, value] : fields)
        if (!value.empty()) line += " " + std::string(key) + "=" + field_text(value);
    line += "\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace muster::app
