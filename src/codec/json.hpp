#pragma once
// JSON of described types (codec/shape.hpp). Encoding writes text directly; decoding refuses what
// it does not understand and says where: "roles[0].rank: unknown key (did you mean "ranks"?)".
//
//     std::string text = codec::to_json(beat, codec::Style::exact);
//     Result<AgentBeat> beat = codec::from_json<AgentBeat>(text, codec::UnknownKeys::ignore);
//
// Thread-safe; errors are invalid_argument with the path of the first in `field`.

#include "base/result.hpp"
#include "codec/shape.hpp"

#include <string>
#include <string_view>

namespace muster::codec {

enum class Style {
    wire,  // for people and programs: RFC 3339 times with milliseconds, durations like "90s"
    exact, // between our own parts: nanoseconds as integers, so that nothing is lost
};

enum class UnknownKeys {
    refuse, // people's input, and files of ours: a typing error must not be lost
    ignore, // peers that may be newer than we are
};

enum class BareTimes {
    accept, // a number is nanoseconds (Style::exact)
    refuse, // people's input: "15" without a unit is a mistake
};

struct DecodeOptions {
    UnknownKeys unknown = UnknownKeys::refuse;
    BareTimes bare_times = BareTimes::accept;
    std::size_t bytes_max = std::size_t{16} * 1024 * 1024;
};
inline constexpr std::size_t json_depth_max = 64;
inline constexpr std::size_t decode_errors_max = 8; // reported together

/// Appends to `out`. Optionals without a value are left out of objects. Bytes that are not UTF-8
/// become U+FFFD. NaN and infinities: null in Style::wire, "NaN", "Infinity", "-Infinity" in exact.
void write_json(const Shape& shape, const void* value, Style style, std::string& out);
/// `value` is default made; half filled after an error.
Status read_json(const Shape& shape, void* value, std::string_view text,
                 const DecodeOptions& options);

template <class T>
std::string to_json(const T& value, Style style = Style::wire) {
    std::string out;
    write_json(shape_of<T>, &value, style, out);
    return out;
}

template <class T>
Result<T> from_json(std::string_view text, const DecodeOptions& options) {
    T value{};
    if (auto status = read_json(shape_of<T>, &value, text, options); !status)
        return fail(std::move(status.error()));
    return value;
}

template <class T>
Result<T> from_json(std::string_view text, UnknownKeys unknown = UnknownKeys::refuse) {
    return from_json<T>(text, DecodeOptions{.unknown = unknown});
}

/// The text as a JSON string with its quotes.
std::string json_string(std::string_view text);
/// The same document with line breaks and two spaces a level, for people; `text` is valid JSON.
std::string pretty_json(std::string_view text);

} // namespace muster::codec
