#pragma once
// Small text helpers that messages to people share.

#include "base/result.hpp"
#include "base/time.hpp"

#include <span>
#include <string>
#include <string_view>

namespace muster {

/// The nearest candidate within two edits (a third of the word for long words), or empty.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "90s", "2m30s", "1h5m", "250ms", "0s": the shortest exact form that parse_duration() reads back.
std::string to_text(Duration duration);
/// Accepts the units ns, us, ms, s, m, h, d, also combined ("1h30m"). A bare number is refused.
Result<Duration> parse_duration(std::string_view text);

/// RFC 3339 in UTC with milliseconds: 2026-11-30T19:12:34.123Z.
std::string to_text(Instant instant);
/// RFC 3339 in UTC ("Z"), with up to nine digits of a second's fraction.
Result<Instant> parse_instant(std::string_view text);

/// Replaces each byte that is not part of valid UTF-8 by U+FFFD; never fails.
std::string to_valid_utf8(std::string_view bytes);

/// For people, rounded: "1.2 s", "3 min 20 s", "2 h 5 min".
std::string duration_for_people(Duration duration);

} // namespace muster
