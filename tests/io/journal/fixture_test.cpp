// Journals of every released format must stay readable: a fact's tag and fields never change their
// meaning (docs/checklists/add-a-fact.md).

#include "control/ledger.hpp"
#include "io/posix/files.hpp"

#include "codec/json.hpp"

#include <gtest/gtest.h>
#include <set>

namespace muster::io {
namespace {

TEST(Fixture, JournalOfFormat1DecodesAndReplays) {
    const auto text = read_file(std::string(MUSTER_FIXTURES) + "/journal-1.jsonl");
    ASSERT_TRUE(text) << to_text(text.error());
    control::Ledger ledger;
    std::set<std::size_t> kinds;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        ASSERT_NE(end, std::string_view::npos);
        const auto record = codec::from_json<FactRecord>(rest.substr(0, end));
        ASSERT_TRUE(record) << to_text(record.error()) << "\n" << rest.substr(0, end);
        kinds.insert(record->fact.index());
        ledger.apply(*record);
        rest.remove_prefix(end + 1);
    }
    constexpr std::size_t kinds_of_format_1 = 17;
    EXPECT_EQ(kinds.size(), kinds_of_format_1);
    EXPECT_EQ(ledger.last_sequence, 27);
    EXPECT_EQ(to_text(ledger.installation), "06e6cb28c00000000000000001");
    ASSERT_NE(ledger.node(NodeName{"n1"}), nullptr);
    EXPECT_EQ(ledger.node(NodeName{"n1"})->inventory.cpus, 8);
    EXPECT_TRUE(ledger.node(NodeName{"n1"})->holders.empty());
    EXPECT_EQ(ledger.workloads.size(), 1u);
    const auto& job = ledger.workloads.begin()->second;
    EXPECT_EQ(job.phase, WorkloadPhase::succeeded);
    EXPECT_EQ(job.attempts_made, 2);
    EXPECT_EQ(job.last_step, 99);
    ASSERT_EQ(job.attempts.size(), 2u);
    ASSERT_TRUE(job.attempts[0].cause);
    EXPECT_EQ(job.attempts[0].cause->exit_code, 137);
    // A snapshot of this ledger reads back as it is.
    EXPECT_EQ(
        codec::from_json<control::Ledger>(codec::to_json(ledger, codec::Style::exact)).value(),
        ledger);
}

} // namespace
} // namespace muster::io
