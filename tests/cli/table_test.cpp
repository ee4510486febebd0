#include "cli/table.hpp"
#include "cli/terminal.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const std::vector<Column> columns = {
    {"NAME", false, 1, 6}, {"STATE"}, {"RANKS", true, 3, 5}, {"WHY", false, 2, 8}};
const Rows rows = {{"charlm", "training", "4", ""},
                   {"a-rather-long-name", "queued", "1024", "needs 8 devices, 2 are free"}};

TEST(Table, AlignsAndLeavesNoSpaceAtTheEnd) {
    EXPECT_EQ(fit_table(columns, rows, 0),
              "NAME                STATE     RANKS  WHY\n"
              "charlm              training      4\n"
              "a-rather-long-name  queued     1024  needs 8 devices, 2 are free\n");
}

TEST(Table, LeavesOutThenCutsInTheOrderOfGivingWay) {
    // 60 columns: RANKS goes first, which is enough.
    EXPECT_EQ(fit_table(columns, rows, 58),
              "NAME                STATE     WHY\n"
              "charlm              training\n"
              "a-rather-long-name  queued    needs 8 devices, 2 are free\n");
    // 45: WHY is cut as well.
    EXPECT_EQ(fit_table(columns, rows, 45), "NAME                STATE     WHY\n"
                                            "charlm              training\n"
                                            "a-rather-long-name  queued    needs 8 device…\n");
    // 20: WHY is gone, NAME is cut, STATE never.
    EXPECT_EQ(fit_table(columns, rows, 20), "NAME        STATE\n"
                                            "charlm      training\n"
                                            "a-rather-…  queued\n");
}

TEST(Table, NoLineIsWiderThanTheTerminalWhereTheFixedColumnsFit) {
    for (int width = 20; width < 90; ++width) {
        const std::string text = fit_table(columns, rows, width);
        for (std::size_t at = 0; at < text.size();) {
            const auto end = text.find('\n', at);
            ASSERT_LE(display_width(text.substr(at, end - at)), width) << width;
            at = end + 1;
        }
    }
}

TEST(Table, CountsWideCharactersAndColourAsTheTerminalDoes) {
    const std::string red = "\x1b[31mfailed\x1b[0m";
    EXPECT_EQ(fit_table({{"N"}, {"S"}}, {{"训练", red}, {"ab", "x"}}, 0), "N     S\n"
                                                                          "训练  " +
                                                                              red + "\nab    x\n");
    EXPECT_EQ(display_width("训练"), 4);
    EXPECT_EQ(display_width(red), 6);
    EXPECT_EQ(fitted("训练任务", 5), "训练…");
    EXPECT_EQ(fitted("训练任务", 4), "训…");
    EXPECT_EQ(fitted("abc", 3), "abc");
    EXPECT_EQ(fitted("abc", 0), "");
}

TEST(Table, CellsCannotDriveTheTerminal) {
    EXPECT_EQ(fit_table({{"N"}}, {{"a\x1b[2Jb\nc\rd"}}, 0), "N\nabcd\n");
}

TEST(FieldList, AlignsValues) {
    EXPECT_EQ(field_list({{"Name", "charlm"}, {"Exit code", "0"}, {"", "more"}}, 0),
              "Name       charlm\n"
              "Exit code  0\n"
              "           more\n");
}

} // namespace
} // namespace muster::cli
