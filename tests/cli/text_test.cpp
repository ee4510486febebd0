#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/terminal.hpp"
#include "cli/views_text.hpp"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(Say, FillsInByOrderAndByNumber) {
    EXPECT_EQ(say("no answer from {} after {} s", "x", 3), "no answer from x after 3 s");
    EXPECT_EQ(say("{1} before {0}", "a", "b"), "b before a");
    EXPECT_EQ(say("{0} and {0}", "a"), "a and a");
    EXPECT_EQ(say("a {brace} stays"), "a {brace} stays");
    EXPECT_EQ(say("{} {}", "only one"), "only one ");
    EXPECT_EQ(say("{}", "{}"), "{}");
    EXPECT_EQ(counted(1, "rank", "ranks"), "1 rank");
    EXPECT_EQ(counted(0, "rank", "ranks"), "0 ranks");
}

TEST(ErrorLine, WhatFieldHint) {
    EXPECT_EQ(error_line({Code::invalid_argument, "0 is out of range", "at least 1", "nodes"}),
              "0 is out of range (nodes) - at least 1");
    EXPECT_EQ(error_line({Code::internal, "broken", "", ""}), "broken");
    EXPECT_EQ(error_line({Code::invalid_argument, "roles[0].x: unknown key", "", "roles[0].x"}),
              "roles[0].x: unknown key");
}

TEST(ExitCode, OfEachError) {
    EXPECT_EQ(exit_code_of({Code::invalid_argument, "", "", ""}), 2);
    EXPECT_EQ(exit_code_of({Code::not_found, "", "", ""}), 3);
    EXPECT_EQ(exit_code_of({Code::failed_precondition, "", "", ""}), 4);
    EXPECT_EQ(exit_code_of({Code::unavailable, "", "", ""}), 5);
    EXPECT_EQ(exit_code_of({Code::data_loss, "", "", ""}), 6);
    EXPECT_EQ(exit_code_of({Code::internal, "", "", ""}), 1);
}

TEST(Printable, DropsWhatDrivesATerminal) {
    EXPECT_EQ(printable("a\x1b[31mb\x1b[0m", true), "a\x1b[31mb\x1b[0m");
    EXPECT_EQ(printable("a\x1b[31mb\x1b[0m", false), "ab");
    EXPECT_EQ(printable("a\x1b]0;title\a b\tc", true), "a0;title b\tc");
    EXPECT_EQ(printable("a\x1b", true), "a");
    EXPECT_EQ(printable("a\x1b[", true), "a");
    EXPECT_EQ(printable("a\x1b[12;", true), "a");
}

TEST(Pieces, OfViews) {
    EXPECT_EQ(indices_text({0, 1, 2, 3, 6}), "0-3,6");
    EXPECT_EQ(indices_text({}), "");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(12), "12 B");
    EXPECT_EQ(age_text(Instant{0}, Instant{5}), "");
    EXPECT_EQ(short_duration(Duration::hours(49)), "2 d");
    NodeView node;
    node.contact = Contact::connected;
    node.schedulable = true;
    EXPECT_EQ(node_state_word(node), "ready");
    node.cordons = {{CordonOwner::admin, "disk", {}}};
    EXPECT_EQ(node_state_word(node), "cordoned");
    EXPECT_EQ(node_note(node), "disk");
    node.contact = Contact::lost;
    node.since_beat = Duration::seconds(20);
    EXPECT_EQ(node_state_word(node), "lost");
    EXPECT_EQ(node_note(node), "no sign for 20.0 s");
}

} // namespace
} // namespace muster::cli
