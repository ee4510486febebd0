#pragma once
// say(): every sentence that the CLI prints goes through here, named by its English text. A
// catalogue of another language maps that text to its own, with the same {0}, {1} ...; call sites
// do not change. English needs no catalogue. `{}` takes the next argument, `{1}` the second one.

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace muster::cli {

/// The text in the language of the reader.
std::string_view translated(std::string_view english);

std::string fill_in(std::string_view pattern, std::initializer_list<std::string> arguments);

template <class Argument>
std::string as_argument(const Argument& argument) {
    if constexpr (std::is_arithmetic_v<Argument>)
        return std::to_string(argument);
    else
        return std::string(argument);
}

template <class... Arguments>
std::string say(std::string_view english, const Arguments&... arguments) {
    return fill_in(translated(english), {as_argument(arguments)...});
}

/// "1 restart", "3 restarts".
std::string counted(long long number, std::string_view one, std::string_view many);

} // namespace muster::cli
