#pragma once
// Table: borderless columns for terminals, fitted to a width.
//
//     Table table({{"NAME"}, {"RANKS", Align::right}});
//     table.add({"charlm", "4"});
//     print(table.text({.width = 80}));
//
// Cells may hold anything: control characters become spaces, so that no job's text drives a
// terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::codec {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
    bool keep = false; // never cut to fit: names and ids that people copy
};

struct TableOptions {
    std::size_t width = 0; // of the terminal; 0: as wide as needed
    bool titles = true;
};

/// Columns of a terminal that the text takes: East Asian wide characters two, combining ones none.
std::size_t display_width(std::string_view text);
/// The text cut to `width` columns, with "…" at the end where something was cut.
std::string cut_to_width(std::string_view text, std::size_t width);

class Table {
  public:
    explicit Table(std::vector<Column> columns);

    /// As many cells as columns; missing ones are empty.
    void add(std::vector<std::string> cells);
    std::size_t rows() const { return rows_.size(); }
    /// Lines with a line break each, without spaces at their ends.
    std::string text(const TableOptions& options = {}) const;

  private:
    std::vector<std::size_t> fitted(const TableOptions& options) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace muster::codec
