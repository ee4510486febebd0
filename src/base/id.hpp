#pragma once
// Strong identities. Id<Tag>: 128 bits, sortable by the time of making, written as 26 characters of
// Crockford base 32. Name<Tag>: a DNS label chosen by people. Two kinds never mix.

#include "base/result.hpp"
#include "base/time.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

struct RawId {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend constexpr auto operator<=>(const RawId&, const RawId&) = default;
};

inline constexpr std::size_t id_text_length = 26;
inline constexpr std::size_t id_short_length = 8;

/// 48 bits of milliseconds, then 80 random bits given by the caller.
RawId make_raw_id(Instant now, std::uint64_t random_high, std::uint64_t random_low);
std::string raw_id_to_text(const RawId& id);
Result<RawId> raw_id_from_text(std::string_view text);

template <class Tag>
struct Id {
    RawId raw;

    static Id make(Instant now, std::uint64_t random_high, std::uint64_t random_low) {
        return Id{make_raw_id(now, random_high, random_low)};
    }
    bool empty() const { return raw == RawId{}; }
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

template <class Tag>
std::string to_text(const Id<Tag>& id) {
    return raw_id_to_text(id.raw);
}
/// The last eight characters: random, so short forms of ids made together still differ.
template <class Tag>
std::string to_short_text(const Id<Tag>& id) {
    return raw_id_to_text(id.raw).substr(id_text_length - id_short_length);
}

inline constexpr std::size_t name_length_max = 63;
/// DNS label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 characters.
bool is_dns_label(std::string_view text);

template <class Tag>
struct Name {
    std::string text;
    bool empty() const { return text.empty(); }
    friend auto operator<=>(const Name&, const Name&) = default;
};
template <class Tag>
const std::string& to_text(const Name<Tag>& name) {
    return name.text;
}

} // namespace muster
