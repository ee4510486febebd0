#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace muster {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, change});
            diagonal = above;
        }
    }
    return row[b.size()];
}

struct UnitOfTime {
    std::string_view name;
    std::int64_t ns;
};
constexpr std::array<UnitOfTime, 7> units = {{{"d", 86'400'000'000'000},
                                              {"h", 3'600'000'000'000},
                                              {"m", 60'000'000'000},
                                              {"s", 1'000'000'000},
                                              {"ms", 1'000'000},
                                              {"us", 1'000},
                                              {"ns", 1}}};

std::int64_t unit_of(std::string_view name) {
    for (const auto& unit : units)
        if (unit.name == name) return unit.ns;
    return 0;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Days since 1970-01-01 of a proleptic Gregorian date, and back (Howard Hinnant's algorithms).
std::int64_t days_from_civil(std::int64_t y, unsigned m, unsigned d) {
    y -= m <= 2 ? 1 : 0;
    const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
    const auto yoe = static_cast<unsigned>(y - era * 400);
    const unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

struct CivilDate {
    std::int64_t year;
    unsigned month;
    unsigned day;
};

CivilDate civil_from_days(std::int64_t z) {
    z += 719468;
    const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    const auto doe = static_cast<unsigned>(z - era * 146097);
    const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    const unsigned mp = (5 * doy + 2) / 153;
    const unsigned month = mp < 10 ? mp + 3 : mp - 9;
    return {static_cast<std::int64_t>(yoe) + era * 400 + (month <= 2 ? 1 : 0), month,
            doy - (153 * mp + 2) / 5 + 1};
}

/// Length of the valid UTF-8 sequence at the front of `bytes`, 0 where there is none.
std::size_t utf8_length(std::string_view bytes) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (length == 0 || first > 0xf4 || bytes.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    if (first == 0xed && byte(1) > 0x9f) return 0; // surrogates
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) > 0x8f) return 0;
    return length;
}

} // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    const std::size_t allowed = std::max<std::size_t>(2, word.size() / 3);
    std::size_t best = allowed + 1;
    std::string found;
    for (const auto& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best && distance < candidate.size()) {
            best = distance;
            found = candidate;
        }
    }
    return found;
}

std::string to_text(Duration duration) {
    if (duration.ns == 0) return "0s";
    std::string text = duration.ns < 0 ? "-" : "";
    auto left = duration.ns < 0 ? 0 - static_cast<std::uint64_t>(duration.ns)
                                : static_cast<std::uint64_t>(duration.ns);
    for (const auto& unit : units) {
        const auto size = static_cast<std::uint64_t>(unit.ns);
        if (left < size) continue;
        text += std::to_string(left / size) + std::string(unit.name);
        left %= size;
    }
    return text;
}

Result<Duration> parse_duration(std::string_view text) {
    const auto wrong = [&](std::string why) {
        return fail(Code::invalid_argument, "\"" + std::string(text) + "\" " + std::move(why),
                    "write a duration as 90s, 10m or 1h30m");
    };
    std::size_t at = 0;
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) ++at;
    if (at == text.size()) return wrong("is not a duration");
    __int128 total = 0;
    while (at < text.size()) {
        __int128 number = 0;
        const std::size_t start = at;
        while (at < text.size() && is_digit(text[at]) && at - start < 19)
            number = number * 10 + (text[at++] - '0');
        if (at == start) return wrong("is not a duration");
        const std::size_t unit_start = at;
        while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
        const std::int64_t unit = unit_of(text.substr(unit_start, at - unit_start));
        if (unit == 0) return wrong("has no unit that is known");
        total += number * unit;
        if (total > std::numeric_limits<std::int64_t>::max()) return wrong("is too long");
    }
    const auto ns = static_cast<std::int64_t>(total);
    return Duration{negative ? -ns : ns};
}

std::string to_text(Instant instant) {
    std::int64_t ms = instant.ns / 1'000'000;
    if (instant.ns % 1'000'000 < 0) --ms;
    std::int64_t day = ms / 86'400'000;
    std::int64_t rest = ms % 86'400'000;
    if (rest < 0) {
        rest += 86'400'000;
        --day;
    }
    const CivilDate date = civil_from_days(day);
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%04lld-%02u-%02uT%02d:%02d:%02d.%03dZ",
                  static_cast<long long>(date.year), date.month, date.day,
                  static_cast<int>(rest / 3'600'000), static_cast<int>(rest / 60'000 % 60),
                  static_cast<int>(rest / 1000 % 60), static_cast<int>(rest % 1000));
    return buffer;
}

Result<Instant> parse_instant(std::string_view text) {
    const auto wrong = [&] {
        return fail(Code::invalid_argument, "\"" + std::string(text) + "\" is not a time",
                    "write a time as 2026-11-30T19:12:34.123Z");
    };
    constexpr std::string_view shape = "dddd-dd-ddTdd:dd:dd";
    if (text.size() < shape.size() + 1 || text.back() != 'Z') return wrong();
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) return wrong();
    const auto number = [&](std::size_t from, std::size_t count) {
        int value = 0;
        for (std::size_t i = from; i < from + count; ++i) value = value * 10 + (text[i] - '0');
        return value;
    };
    const int month = number(5, 2);
    const int day = number(8, 2);
    if (month < 1 || month > 12 || day < 1 || day > 31 || number(11, 2) > 23 ||
        number(14, 2) > 59 || number(17, 2) > 60)
        return wrong();
    const int year = number(0, 4);
    if (year < 1970 || year > 2200) return wrong();
    std::int64_t fraction = 0;
    if (text.size() > shape.size() + 1) {
        const std::string_view digits =
            text.substr(shape.size() + 1, text.size() - shape.size() - 2);
        if (text[shape.size()] != '.' || digits.empty() || digits.size() > 9) return wrong();
        std::int64_t scale = 1'000'000'000;
        for (const char c : digits) {
            if (!is_digit(c)) return wrong();
            scale /= 10;
            fraction += (c - '0') * scale;
        }
    }
    const std::int64_t days =
        days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
    const std::int64_t seconds =
        days * 86400 + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2);
    return Instant{seconds * 1'000'000'000 + fraction};
}

std::string to_valid_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t length = utf8_length(bytes);
        if (length == 0) {
            text += "\xef\xbf\xbd";
            bytes.remove_prefix(1);
        } else {
            text.append(bytes.substr(0, length));
            bytes.remove_prefix(length);
        }
    }
    return text;
}

std::string duration_for_people(Duration duration) {
    char buffer[64];
    const std::int64_t seconds = duration.ns / 1'000'000'000;
    if (seconds < 1)
        std::snprintf(buffer, sizeof buffer, "%lld ms",
                      static_cast<long long>(duration.whole_millis()));
    else if (seconds < 60)
        std::snprintf(buffer, sizeof buffer, "%.1f s", duration.as_seconds());
    else if (seconds < 3600)
        std::snprintf(buffer, sizeof buffer, "%lld min %lld s",
                      static_cast<long long>(seconds / 60), static_cast<long long>(seconds % 60));
    else
        std::snprintf(buffer, sizeof buffer, "%lld h %lld min",
                      static_cast<long long>(seconds / 3600),
                      static_cast<long long>(seconds / 60 % 60));
    return buffer;
}

} // namespace muster
