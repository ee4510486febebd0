#pragma once
// What every decoded document must do: write and read back as the same text.

#include "base/require.hpp"
#include "codec/json.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// The value where `text` is one. Texts are compared, since NaN does not equal itself.
template <class T>
std::optional<T> decoded(std::string_view text, codec::UnknownKeys unknown) {
    auto value = codec::from_json<T>(text, unknown);
    if (!value) {
        REQUIRE(!to_text(value.error()).empty(), "an error says what is wrong");
        return std::nullopt;
    }
    const std::string once = codec::to_json(*value, codec::Style::exact);
    const auto back = codec::from_json<T>(once);
    REQUIRE(back, "what was accepted reads back, without a key that is not known");
    REQUIRE(codec::to_json(*back, codec::Style::exact) == once, "and writes the same again");
    static_cast<void>(codec::to_json(*value)); // the form for people
    return std::move(*value);
}

} // namespace muster::fuzz
