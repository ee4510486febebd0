#include "base/id.hpp"

namespace muster {
namespace {

constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto at = alphabet.find(c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

} // namespace

RawId make_raw_id(Instant now, std::uint64_t random_high, std::uint64_t random_low) {
    const auto ms = static_cast<std::uint64_t>(now.ns / 1'000'000);
    return RawId{(ms << 16) | (random_high & 0xffff), random_low};
}

std::string raw_id_to_text(const RawId& id) {
    std::string text(id_text_length, '0');
    std::uint64_t high = id.high;
    std::uint64_t low = id.low;
    for (std::size_t i = id_text_length; i-- > 0;) {
        text[i] = alphabet[low & 31];
        low = (low >> 5) | (high << 59);
        high >>= 5;
    }
    return text;
}

Result<RawId> raw_id_from_text(std::string_view text) {
    if (text.size() != id_text_length)
        return fail(Code::invalid_argument, "an id has 26 characters");
    RawId id;
    for (const char c : text) {
        const int digit = digit_of(c);
        if (digit < 0) return fail(Code::invalid_argument, "an id has characters 0-9 and a-z only");
        if ((id.high >> 59) != 0) return fail(Code::invalid_argument, "the id is out of range");
        id.high = (id.high << 5) | (id.low >> 59);
        id.low = (id.low << 5) | static_cast<std::uint64_t>(digit);
    }
    return id;
}

bool is_dns_label(std::string_view text) {
    if (text.empty() || text.size() > name_length_max) return false;
    if (text.front() == '-' || text.back() == '-') return false;
    for (const char c : text) {
        const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (!fine) return false;
    }
    return true;
}

} // namespace muster
