#include "cli/terminal.hpp"

#include <array>
#include <cstdlib>
#include <cwchar>
#include <sys/ioctl.h>
#include <unistd.h>

namespace muster::cli {
namespace {

constexpr int width_fallback = 80;
constexpr int width_min = 20;

struct Glyph {
    char32_t code = 0;
    std::size_t bytes = 1;
};

Glyph glyph_at(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (length == 1 || at + length > text.size()) return {first, 1};
    char32_t code = first & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
        code = (code << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
    return {code, length};
}

struct Range {
    char32_t low;
    char32_t high;
};
// Wide in every terminal that matters: CJK, Hangul, kana, full-width forms, emoji (UAX 11,
// abridged).
constexpr std::array<Range, 8> wide = {{{0x1100, 0x115f},
                                        {0x2e80, 0xa4cf},
                                        {0xac00, 0xd7a3},
                                        {0xf900, 0xfaff},
                                        {0xfe30, 0xfe6f},
                                        {0xff00, 0xff60},
                                        {0x1f300, 0x1faff},
                                        {0x20000, 0x3fffd}}};

int columns_of(char32_t code) {
    if (code < 0x20 || (code >= 0x300 && code <= 0x36f) || code == 0x200b || code == 0x200d)
        return 0;
    for (const auto& range : wide)
        if (code >= range.low && code <= range.high) return 2;
    return 1;
}

/// Length of a colour sequence (ESC [ digits ; m) at `at`, 0 where there is none.
std::size_t colour_length(std::string_view text, std::size_t at) {
    if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
    std::size_t end = at + 2;
    while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ';')) ++end;
    return end < text.size() && text[end] == 'm' ? end - at + 1 : 0;
}

/// Length of any escape sequence at `at`, so that what is not kept goes as a whole.
std::size_t escape_length(std::string_view text, std::size_t at) {
    if (at + 1 >= text.size()) return 1;
    if (text[at + 1] != '[') return 2;
    std::size_t end = at + 2;
    while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7e)) ++end;
    return std::min(end + 1, text.size()) - at;
}

constexpr std::array<std::string_view, 7> codes = {"", "1", "2", "31", "32", "33", "36"};
constexpr std::array<std::string_view, 6> rank_codes = {"36", "35", "34", "32", "33", "96"};

std::string wrapped(std::string_view code, std::string_view text) {
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

} // namespace

Terminal look_at_terminal(int fd, bool no_color) {
    Terminal terminal;
    terminal.tty = isatty(fd) == 1;
    if (!terminal.tty) return terminal;
    const char* no_color_env = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    const bool dumb = term != nullptr && std::string_view(term) == "dumb";
    terminal.colour = !no_color && !dumb && (no_color_env == nullptr || *no_color_env == '\0');
    winsize size{};
    terminal.width =
        ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : width_fallback;
    if (terminal.width < width_min) terminal.width = width_min;
    return terminal;
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
    if (!terminal.colour || style == Style::plain || text.empty()) return std::string(text);
    return wrapped(codes[static_cast<std::size_t>(style)], text);
}

std::string styled_rank(const Terminal& terminal, long long rank, std::string_view text) {
    if (!terminal.colour) return std::string(text);
    return wrapped(rank_codes[static_cast<std::size_t>(rank) % rank_codes.size()], text);
}

int display_width(std::string_view text) {
    int width = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t skip = colour_length(text, at); skip > 0) {
            at += skip;
            continue;
        }
        const Glyph glyph = glyph_at(text, at);
        width += columns_of(glyph.code);
        at += glyph.bytes;
    }
    return width;
}

std::string fitted(std::string_view text, int width) {
    if (width <= 0) return {};
    if (display_width(text) <= width) return std::string(text);
    std::string cut;
    int used = 0;
    bool coloured = false;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t skip = colour_length(text, at); skip > 0) {
            cut.append(text.substr(at, skip));
            coloured = true;
            at += skip;
            continue;
        }
        const Glyph glyph = glyph_at(text, at);
        if (used + columns_of(glyph.code) > width - 1) break;
        used += columns_of(glyph.code);
        cut.append(text.substr(at, glyph.bytes));
        at += glyph.bytes;
    }
    return cut + "…" + (coloured ? "\x1b[0m" : "");
}

std::string printable(std::string_view text, bool keep_colour) {
    std::string clean;
    clean.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte == 0x1b) {
            const std::size_t colour = colour_length(text, at);
            const std::size_t length = colour > 0 ? colour : escape_length(text, at);
            if (colour > 0 && keep_colour) clean.append(text.substr(at, colour));
            at += length - 1;
        } else if (byte >= 0x20 || byte == '\t') {
            if (byte != 0x7f) clean += text[at];
        }
    }
    return clean;
}

} // namespace muster::cli
