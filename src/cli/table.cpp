#include "cli/table.hpp"

#include "cli/terminal.hpp"

#include <algorithm>
#include <utility>

namespace muster::cli {
namespace {

constexpr int gap = 2;

int total_width(const std::vector<int>& widths) {
    int sum = 0;
    for (const int width : widths)
        if (width > 0) sum += width + gap;
    return sum == 0 ? 0 : sum - gap;
}

/// Takes columns off what gives way until the table fits; a width of 0 leaves the column out.
void shrink(std::vector<int>& widths, const std::vector<Column>& columns, int limit) {
    while (total_width(widths) > limit) {
        std::size_t chosen = columns.size();
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (widths[i] > 0 && columns[i].gives_way > 0 &&
                (chosen == columns.size() || columns[i].gives_way > columns[chosen].gives_way))
                chosen = i;
        if (chosen == columns.size()) return;
        const int over = total_width(widths) - limit;
        const int least = columns[chosen].least;
        widths[chosen] = widths[chosen] - over >= least ? widths[chosen] - over : 0;
    }
}

void add_cell(std::string& line, std::string_view cell, int width, bool right) {
    const std::string text = fitted(printable(cell, true), width);
    const auto pad = static_cast<std::size_t>(std::max(0, width - display_width(text)));
    if (!line.empty()) line.append(gap, ' ');
    if (right) line.append(pad, ' ');
    line += text;
    if (!right) line.append(pad, ' ');
}

} // namespace

std::string fit_table(const std::vector<Column>& columns,
                      const std::vector<std::vector<std::string>>& rows, int width) {
    std::vector<int> widths;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        int widest = std::max(1, display_width(columns[i].title));
        for (const auto& row : rows)
            if (i < row.size()) widest = std::max(widest, display_width(row[i]));
        widths.push_back(widest);
    }
    if (width > 0) shrink(widths, columns, width);

    std::string text;
    const auto add_row = [&](auto cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (widths[i] > 0) add_cell(line, cell_of(i), widths[i], columns[i].right);
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += line + '\n';
    };
    add_row([&](std::size_t i) { return columns[i].title; });
    for (const auto& row : rows)
        add_row([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); });
    return text;
}

std::string field_list(const std::vector<std::pair<std::string, std::string>>& fields, int width) {
    int widest = 0;
    for (const auto& [name, value] : fields) widest = std::max(widest, display_width(name));
    std::string text;
    for (const auto& [name, value] : fields) {
        std::string line = name;
        line.append(static_cast<std::size_t>(widest - display_width(name) + gap), ' ');
        line += value;
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += (width > 0 ? fitted(line, width) : line) + '\n';
    }
    return text;
}

} // namespace muster::cli
