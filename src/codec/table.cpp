#include "codec/table.hpp"

#include "base/require.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace muster::codec {
namespace {

constexpr std::size_t gap = 2;           // spaces between columns
constexpr std::size_t cut_width_min = 6; // a column is not cut below this

struct CodePoint {
    char32_t value;
    std::size_t bytes;
};

/// `text` is valid UTF-8 and not empty.
CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t value = length == 1 ? lead : lead & (0x7fu >> length);
    for (std::size_t i = 1; i < length && i < text.size(); ++i)
        value = value << 6 | (byte(i) & 0x3f);
    return {value, std::min(length, text.size())};
}

std::size_t columns_of(char32_t c) {
    const auto within = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
    if (within(0x300, 0x36f) || within(0x200b, 0x200f) || within(0xfe00, 0xfe0f)) return 0;
    const bool wide = within(0x1100, 0x115f) || within(0x2e80, 0x303e) || within(0x3041, 0xa4cf) ||
                      within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) || within(0xfe30, 0xfe6f) ||
                      within(0xff00, 0xff60) || within(0xffe0, 0xffe6) ||
                      within(0x1f300, 0x1f64f) || within(0x1f900, 0x1f9ff) ||
                      within(0x20000, 0x3fffd);
    return wide ? 2 : 1;
}

std::string cleaned(std::string_view text) {
    std::string valid = to_valid_utf8(text);
    std::string clean;
    for (std::size_t at = 0; at < valid.size();) {
        const auto [value, bytes] = first_code_point(std::string_view(valid).substr(at));
        if (value < 0x20 || (value >= 0x7f && value < 0xa0))
            clean += ' ';
        else
            clean.append(valid, at, bytes);
        at += bytes;
    }
    return clean;
}

} // namespace

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const auto [value, bytes] = first_code_point(text);
        width += columns_of(value);
        text.remove_prefix(bytes);
    }
    return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    if (width == 0) return {};
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto [value, bytes] = first_code_point(text.substr(at));
        if (used + columns_of(value) > width - 1) break;
        used += columns_of(value);
        at += bytes;
    }
    return std::string(text.substr(0, at)) + "\xe2\x80\xa6";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
    REQUIRE(cells.size() <= columns_.size(), "a row has more cells than the table has columns");
    cells.resize(columns_.size());
    for (auto& cell : cells) cell = cleaned(cell);
    rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::fitted(const TableOptions& options) const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = options.titles ? display_width(columns_[i].title) : 0;
        for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
        widths.push_back(width);
    }
    if (options.width == 0 || widths.empty()) return widths;
    std::size_t total = gap * (widths.size() - 1);
    for (const std::size_t width : widths) total += width;
    while (total > options.width) { // the widest gives, one column at a time
        std::size_t* widest = nullptr;
        for (std::size_t i = 0; i < widths.size(); ++i)
            if (!columns_[i].keep && (widest == nullptr || widths[i] > *widest))
                widest = &widths[i];
        if (widest == nullptr || *widest <= cut_width_min) break;
        --*widest;
        --total;
    }
    return widths;
}

std::string Table::text(const TableOptions& options) const {
    const auto widths = fitted(options);
    std::string out;
    const auto line = [&](auto cell_of) {
        std::string text;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string cell = cut_to_width(cell_of(i), widths[i]);
            const std::string pad(widths[i] - std::min(widths[i], display_width(cell)), ' ');
            if (i != 0) text.append(gap, ' ');
            text += columns_[i].align == Align::right ? pad + cell : cell + pad;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    };
    if (options.titles)
        line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
    for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
    return out;
}

} // namespace muster::codec
