#include "codec/table.hpp"

#include <gtest/gtest.h>

namespace muster::codec {
namespace {

Table jobs() {
    Table table({{"NAME", Align::left, true}, {"RANKS", Align::right}, {"REASON"}});
    table.add({"charlm", "4", "needs 8 devices, 2 are free"});
    table.add({"a-longer-name", "128", "running"});
    return table;
}

TEST(Table, AlignsWithoutBorders) {
    EXPECT_EQ(jobs().text(), "NAME           RANKS  REASON\n"
                             "charlm             4  needs 8 devices, 2 are free\n"
                             "a-longer-name    128  running\n");
}

TEST(Table, CutsTheWidestToFit) {
    EXPECT_EQ(jobs().text({.width = 32}), "NAME           RANKS  REASON\n"
                                          "charlm             4  needs 8 d…\n"
                                          "a-longer-name    128  running\n");
}

TEST(Table, NarrowTerminalsStillGetNames) {
    EXPECT_NE(jobs().text({.width = 1}).find("a-longer-name"), std::string::npos);
}

TEST(Table, JobTextCannotDriveTheTerminal) {
    Table table({{"A"}, {"B"}});
    table.add({"x\x1b[31m\ny\xff", "\u009bz"});
    EXPECT_EQ(table.text({.titles = false}), "x [31m y\xef\xbf\xbd   z\n");
}

TEST(Table, WideCharactersTakeTwoColumns) {
    Table table({{"A"}, {"B"}});
    table.add({"节点", "x"});
    table.add({"node", "y"});
    EXPECT_EQ(table.text({.titles = false}), "节点  x\nnode  y\n");
    EXPECT_EQ(cut_to_width("节点节点", 5), "节点…");
}

} // namespace
} // namespace muster::codec
