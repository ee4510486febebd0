// Journals of every released format must stay readable: a fact's tag and fields never change their
// meaning (docs/checklists/add-a-fact.md).

#include "control/ledger.hpp"
#include "io/posix/files.hpp"

#include "codec/json.hpp"

#include <gtest/gtest.h>
#include <set>

namespace muster::io {
namespace {

/// Replays a fixture; the kinds of facts in it by their place in the variant.
control::Ledger replay(const std::string& name, std::set<std::size_t>& kinds) {
    control::Ledger ledger;
    const auto text = read_file(std::string(MUSTER_FIXTURES) + "/" + name);
    EXPECT_TRUE(text) << to_text(text.error());
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        EXPECT_NE(end, std::string_view::npos);
        const auto record = codec::from_json<FactRecord>(rest.substr(0, end));
        EXPECT_TRUE(record) << to_text(record.error()) << "\n" << rest.substr(0, end);
        if (end == std::string_view::npos || !record) break;
        kinds.insert(record->fact.index());
        ledger.apply(*record);
        rest.remove_prefix(end + 1);
    }
    return ledger;
}

/// A snapshot of this ledger reads back as it is.
void expect_snapshot_reads_back(const control::Ledger& ledger) {
    EXPECT_EQ(
        codec::from_json<control::Ledger>(codec::to_json(ledger, codec::Style::exact)).value(),
        ledger);
}

TEST(Fixture, JournalOfFormat1DecodesAndReplays) {
    std::set<std::size_t> kinds;
    const auto ledger = replay("journal-1.jsonl", kinds);
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
    expect_snapshot_reads_back(ledger);
}

/// With the kinds of facts that came later.
TEST(Fixture, JournalWithAStepOnRecordDecodesAndReplays) {
    std::set<std::size_t> kinds;
    const auto ledger = replay("journal-2.jsonl", kinds);
    EXPECT_TRUE(kinds.contains(Fact{GenerationProgressed{}}.index()));
    const auto& attempt = ledger.workloads.begin()->second.attempts.at(0);
    ASSERT_TRUE(attempt.open);
    EXPECT_EQ(attempt.open->last_step, 30);
    EXPECT_EQ(attempt.open->last_loss, 2.5);
    expect_snapshot_reads_back(ledger);
}

/// A snapshot from before the reason of a cancel was kept beside that of the newest transition.
TEST(Fixture, SnapshotWithoutTheReasonOfACancelReads) {
    control::Ledger ledger;
    const WorkloadId id{RawId{1, 1}};
    auto& job = ledger.workloads[id];
    job.id = id;
    job.stop_asked = true;
    auto text = codec::to_json(ledger, codec::Style::exact);
    const auto at = text.find("\"stop_reason\":{");
    ASSERT_NE(at, std::string::npos) << text;
    text.erase(at, text.find("},", at) + 2 - at);
    const auto read = codec::from_json<control::Ledger>(text);
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(*read, ledger);
}

} // namespace
} // namespace muster::io
