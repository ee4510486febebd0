#pragma once
// YAML of described types, for people: specs and `-o yaml`. One path with JSON, the same errors.
//
// Where a text is asked, a plain scalar is taken as it is written (`command: [sleep, 10]`,
// `version: 1.10`); elsewhere plain scalars have the types of JSON: `yes`, `0x10` and `1e9` are
// texts. Times need a unit. Refused: anchors that multiply, several documents, foreign tags.

#include "base/result.hpp"
#include "codec/json.hpp"

#include <string>
#include <string_view>

namespace muster::codec {

inline constexpr std::size_t yaml_bytes_max = std::size_t{1} * 1024 * 1024;
inline constexpr std::size_t yaml_nodes_max = 100'000; // after aliases are followed
inline constexpr std::size_t yaml_json_bytes_max = std::size_t{8} * 1024 * 1024;

/// The JSON that the YAML stands for where `shape` is asked.
Result<std::string> yaml_to_json(const Shape& shape, std::string_view text);
void write_yaml(const Shape& shape, const void* value, std::string& out);

template <class T>
Result<T> from_yaml(std::string_view text, UnknownKeys unknown = UnknownKeys::refuse) {
    auto json = yaml_to_json(shape_of<T>, text);
    if (!json) return fail(std::move(json.error()));
    return from_json<T>(*json, DecodeOptions{.unknown = unknown, .bare_times = BareTimes::refuse});
}

/// Block style, Style::wire, with a line break at the end.
template <class T>
std::string to_yaml(const T& value) {
    std::string out;
    write_yaml(shape_of<T>, &value, out);
    return out;
}

} // namespace muster::codec
