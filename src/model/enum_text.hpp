#pragma once
// Names of described enums, as they stand in the journal, the API and scenarios.

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>

#include <optional>
#include <string>

namespace muster {

template <class E>
std::string enum_name(E value) {
    return boost::describe::enum_to_string(value, "?");
}

template <class E>
std::optional<E> enum_from_name(const std::string& name) {
    E value{};
    if (!boost::describe::enum_from_string(name.c_str(), value)) return std::nullopt;
    return value;
}

} // namespace muster
