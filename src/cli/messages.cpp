#include "cli/messages.hpp"

#include <cstddef>

namespace muster::cli {

std::string_view translated(std::string_view english) { return english; }

std::string fill_in(std::string_view pattern, std::initializer_list<std::string> arguments) {
    std::string text;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const std::size_t close = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
        if (close == std::string_view::npos || close > i + 2) {
            text += pattern[i];
            continue;
        }
        const std::size_t index =
            close == i + 1 ? next++ : static_cast<std::size_t>(pattern[i + 1] - '0');
        if (index < arguments.size()) text += arguments.begin()[index];
        i = close;
    }
    return text;
}

std::string counted(long long number, std::string_view one, std::string_view many) {
    return std::to_string(number) + ' ' + std::string(translated(number == 1 ? one : many));
}

} // namespace muster::cli
