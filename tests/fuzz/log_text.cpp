// What ranks print, as the command line shows it: a chunk of stored lines, cut and cleaned for a
// terminal; and a list of ranks as typed.

#include "base/require.hpp"
#include "base/text.hpp"
#include "cli/log_lines.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    LogChunk chunk;
    chunk.node.text = "n1";
    chunk.text = text;
    chunk.next = static_cast<std::int64_t>(size) + 1;
    cli::LogMerge merge;
    merge.add_rank(0, 0);
    merge.take(chunk);
    for (const auto& line : merge.rest()) {
        REQUIRE(line.text.find('\n') == std::string::npos, "a line is one line");
        const std::string clean = cli::printable(line.text, false);
        for (const char c : clean)
            REQUIRE(static_cast<unsigned char>(c) >= 0x20 || c == '\t',
                    "nothing drives a terminal");
    }
    const std::string valid = to_valid_utf8(cli::printable(text, false));
    for (const int width : {1, 2, 7, 80})
        REQUIRE(cli::display_width(cli::fitted(valid, width)) <= width, "fitted text fits");
    static_cast<void>(cli::fit_table({{"A", false, 1, 4}, {"B"}}, {{std::string(text), "x"}}, 20));
    if (size < 64) static_cast<void>(cli::parse_ranks(text));
    return 0;
}
