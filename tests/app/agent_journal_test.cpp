#include "app/agent_journal.hpp"

#include "app/agent_node_dir.hpp"
#include "io/posix/files.hpp"
#include "small_disk.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace muster::app {
namespace {

using agent::AgentRecord;

const AttemptKey key{WorkloadId{RawId{1, 7}}, 2};

/// Takes the attempt as a running one.
std::vector<AgentRecord> taken(Sequence after) {
    agent::HoldTaken hold;
    hold.order.workload = key.workload;
    hold.order.attempt = key.attempt;
    return {{after + 1, Instant{5}, agent::NodeAdmitted{InstallationId{RawId{1, 1}}, 3}},
            {after + 2, Instant{6}, hold},
            {after + 3, Instant{7}, agent::LauncherRuns{key, 100, 77}}};
}

class AgentJournalTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/muster-agent-journal-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        folder_ = name;
        file_ = folder_ + "/agent.journal";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    AgentJournal::Opened open() {
        auto opened = AgentJournal::open(file_);
        EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
        return std::move(*opened);
    }
    std::string folder_;
    std::string file_;
};

TEST_F(AgentJournalTest, what_was_written_is_there_again) {
    {
        auto opened = open();
        EXPECT_EQ(opened.ledger.last_sequence, 0);
        opened.journal.append(taken(0));
        EXPECT_TRUE(opened.journal.pending());
        EXPECT_EQ(opened.journal.flush().value(), 3);
        EXPECT_FALSE(opened.journal.pending());
    }
    const auto opened = open();
    EXPECT_EQ(opened.ledger.incarnation, 3);
    EXPECT_EQ(opened.ledger.holds.at(key).pid, 100);
    EXPECT_EQ(opened.ledger.holds.at(key).state, HoldState::running);
}

TEST_F(AgentJournalTest, a_cut_last_line_is_dropped_at_any_length) {
    open().journal.append({});
    {
        auto opened = open();
        opened.journal.append(taken(0));
        ASSERT_TRUE(opened.journal.flush());
    }
    const std::string whole = io::read_file(file_).value();
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        ASSERT_TRUE(io::write_file_atomically(file_, whole.substr(0, length)));
        auto opened = AgentJournal::open(file_);
        ASSERT_TRUE(opened) << length << ": " << opened.error().message;
        EXPECT_LE(opened->ledger.last_sequence, 2);
        opened->journal.append({{opened->ledger.last_sequence + 1, Instant{9},
                                 agent::NodeAdmitted{InstallationId{RawId{1, 1}}, 4}}});
        ASSERT_TRUE(opened->journal.flush());
        EXPECT_EQ(open().ledger.incarnation, 4);
    }
}

TEST_F(AgentJournalTest, a_line_that_cannot_be_read_is_named) {
    ASSERT_TRUE(io::write_file_atomically(file_, "{}\nrubbish\n"));
    const auto opened = AgentJournal::open(file_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::data_loss);
    EXPECT_NE(opened.error().message.find("line "), std::string::npos);
}

TEST_F(AgentJournalTest, forgotten_attempts_leave_the_file_at_the_next_start) {
    {
        auto opened = open();
        opened.journal.append(taken(0));
        opened.journal.append({{4, Instant{8}, agent::HoldStopping{key}},
                               {5, Instant{8}, agent::HoldReleased{key, std::nullopt, "gone"}},
                               {6, Instant{8}, agent::HoldForgotten{key}}});
        ASSERT_TRUE(opened.journal.flush());
    }
    EXPECT_TRUE(open().ledger.holds.empty());
    EXPECT_EQ(io::read_file(file_).value().find(to_text(key.workload)), std::string::npos);
}

TEST_F(AgentJournalTest, a_long_file_is_shortened_while_it_is_used) {
    auto opened = open();
    agent::AgentLedger ledger = opened.ledger;
    const auto put = [&](agent::AgentFact fact) {
        const AgentRecord record{ledger.last_sequence + 1, Instant{1}, std::move(fact)};
        ledger.apply(record);
        opened.journal.append({record});
    };
    for (Incarnation i = 1; std::filesystem::file_size(file_) < agent_journal_bytes_max; ++i) {
        for (int k = 0; k < 1'000; ++k) put(agent::NodeAdmitted{InstallationId{RawId{1, 1}}, i});
        ASSERT_TRUE(opened.journal.flush());
    }
    ASSERT_TRUE(opened.journal.shorten_if_long(ledger));
    EXPECT_LT(std::filesystem::file_size(file_), 1'000U);
    put(agent::NodeAdmitted{InstallationId{RawId{1, 1}}, 1'000'000});
    EXPECT_EQ(opened.journal.flush().value(), ledger.last_sequence);
    EXPECT_EQ(open().ledger.incarnation, 1'000'000);
}

TEST_F(AgentJournalTest, a_full_disk_keeps_the_facts_for_later) {
    // /dev/full cannot be replaced by a rename: a file size limit stands in for the disk.
    auto opened = open();
    opened.journal.append(taken(0));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{100, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    EXPECT_FALSE(opened.journal.flush());
    EXPECT_TRUE(opened.journal.pending());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(opened.journal.flush().value(), 3);
    EXPECT_EQ(open().ledger.holds.size(), 1U);
}

TEST_F(AgentJournalTest, a_node_directory_keeps_its_boot_and_voids_the_journal_on_another) {
    const std::string path = folder_ + "/node";
    std::string boot;
    {
        const auto dir = NodeDir::open(path);
        ASSERT_TRUE(dir);
        EXPECT_TRUE(dir->booted());
        boot = dir->boot_id();
        const auto second = NodeDir::open(path);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, Code::failed_precondition);
        ASSERT_TRUE(io::write_file_atomically(dir->journal_file(), "facts\n"));
    }
    {
        const auto dir = NodeDir::open(path);
        ASSERT_TRUE(dir);
        EXPECT_FALSE(dir->booted());
        EXPECT_EQ(dir->boot_id(), boot);
        EXPECT_TRUE(io::read_file(dir->journal_file()).has_value());
    }
    ASSERT_TRUE(io::write_file_atomically(path + "/agent.boot", "an earlier boot\n" + boot + "\n"));
    const auto dir = NodeDir::open(path);
    ASSERT_TRUE(dir);
    EXPECT_TRUE(dir->booted());
    EXPECT_NE(dir->boot_id(), boot);
    EXPECT_FALSE(io::read_file(dir->journal_file()).has_value());
}

TEST_F(AgentJournalTest, old_attempt_folders_go_and_held_ones_stay) {
    const auto dir = NodeDir::open(folder_ + "/node");
    ASSERT_TRUE(dir);
    const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::create_directories(dir->attempt_dir(key));
    std::filesystem::last_write_time(dir->attempt_dir(key), old);
    for (std::size_t i = 0; i < attempt_dirs_kept + 20; ++i)
        std::filesystem::create_directories(dir->attempt_dir({WorkloadId{RawId{2, i}}, 1}));
    dir->sweep({key});
    EXPECT_TRUE(std::filesystem::exists(dir->attempt_dir(key)));
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(dir->attempts_dir()))
        ++count;
    EXPECT_EQ(count, attempt_dirs_kept + 1);
}

using AgentJournalOnASmallDisk = SmallDisk;

TEST_F(AgentJournalOnASmallDisk, what_ends_on_a_full_disk_is_still_written) {
    const std::string file = path_ + "/agent.journal";
    {
        auto opened = AgentJournal::open(file);
        ASSERT_TRUE(opened);
        fill();
        opened->journal.append(taken(0));
        Sequence last = 3;
        while (last < 300) { // far more than what ends while somebody frees space
            opened->journal.append({{++last, Instant{5}, agent::LauncherRuns{key, last, 77}}});
            ASSERT_TRUE(opened->journal.flush()) << "after " << last << " facts";
        }
    }
    free_room();
    const auto again = AgentJournal::open(file);
    ASSERT_TRUE(again);
}

TEST_F(AgentJournalOnASmallDisk, beyond_the_room_facts_wait_in_order) {
    auto opened = AgentJournal::open(path_ + "/agent.journal");
    ASSERT_TRUE(opened);
    fill();
    Sequence last = 0;
    bool refused = false;
    while (!refused && last < 100'000) {
        opened->journal.append({{++last, Instant{5}, agent::LauncherRuns{key, last, 77}}});
        refused = !opened->journal.flush();
    }
    ASSERT_TRUE(refused) << "the room taken ahead is bounded";
    free_room();
    EXPECT_EQ(opened->journal.flush().value(), last);
}

} // namespace
} // namespace muster::app
