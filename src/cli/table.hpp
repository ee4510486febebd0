#pragma once
// fit_table(): a borderless text table no wider than the terminal. Columns shrink in the order of
// their `gives_way` (largest first) down to `least`; one that would fall below it is left out.

#include <string>
#include <vector>

namespace muster::cli {

struct Column {
    std::string title;
    bool right = false; // numbers
    int gives_way = 0;  // 0: never cut nor left out
    int least = 8;      // columns, where it is cut
};

/// `width` 0: no limit. Rows may hold colour sequences; missing cells are empty.
std::string fit_table(const std::vector<Column>& columns,
                      const std::vector<std::vector<std::string>>& rows, int width);

/// "Name      value" lines with the values aligned; an empty name continues the value above.
std::string field_list(const std::vector<std::pair<std::string, std::string>>& fields, int width);

} // namespace muster::cli
