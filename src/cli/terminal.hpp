#pragma once
// Terminal: what standard output and error can show. Colour only on a terminal, without NO_COLOR.

#include <string>
#include <string_view>

namespace muster::cli {

struct Terminal {
    bool tty = false;
    bool colour = false;
    int width = 0; // columns; 0: not a terminal, never cut
};

/// Looks at the file descriptor (1 or 2) and the environment.
Terminal look_at_terminal(int fd, bool no_color);

enum class Style { plain, bold, dim, red, green, yellow, cyan };

std::string styled(const Terminal& terminal, Style style, std::string_view text);
/// A colour for a rank's prefix: neighbours differ.
std::string styled_rank(const Terminal& terminal, long long rank, std::string_view text);

/// Columns that the text takes on a terminal: UTF-8, wide East Asian characters count two,
/// colour sequences none.
int display_width(std::string_view text);
/// Cut to at most `width` columns with "…" at the end where it was cut.
std::string fitted(std::string_view text, int width);
/// Control characters made harmless; tabs stay, colour sequences stay where `keep_colour`.
std::string printable(std::string_view text, bool keep_colour);

} // namespace muster::cli
