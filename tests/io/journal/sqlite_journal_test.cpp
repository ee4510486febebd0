#include "support.hpp"

#include "random_value.hpp"

#include <csignal>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::io {
namespace {

/// Appends facts up to `last` and stops cleanly.
void fill(const std::string& directory, Sequence last, Sequence snapshot_every = 50'000) {
    auto opened = open_counting(directory, snapshot_every);
    ASSERT_TRUE(opened) << to_text(opened.error());
    Hearing hearing;
    opened->journal->start(hearing.callbacks());
    opened->journal->append(facts_between(opened->ledger.last_sequence + 1, last));
    ASSERT_TRUE(hearing.wait_durable(last));
    ASSERT_TRUE(opened->journal->stop());
}

/// Runs SQL on a journal that nobody has open.
void tamper(const std::string& directory, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open((directory + "/journal.db").c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_close(handle);
}

std::string open_error(const std::string& directory) {
    auto opened = open_counting(directory);
    return opened ? "opened" : to_text(opened.error());
}

TEST(SqliteJournal, KeepsRandomFactsOverARestart) {
    const TemporaryFolder folder;
    Prng prng(3);
    std::vector<FactRecord> facts;
    for (Sequence s = 1; s <= 300; ++s) {
        auto record = codec::random_value<FactRecord>(prng);
        record.sequence = s;
        facts.push_back(record);
    }
    {
        auto opened = open_counting(folder.path());
        ASSERT_TRUE(opened) << to_text(opened.error());
        Hearing hearing;
        opened->journal->start(hearing.callbacks());
        for (const auto& record : facts) opened->journal->append({record});
        ASSERT_TRUE(hearing.wait_durable(300));
        EXPECT_TRUE(hearing.orderly());
        auto health = opened->journal->reader().verify();
        ASSERT_TRUE(health) << to_text(health.error());
        EXPECT_EQ(health->facts, 300);
        ASSERT_TRUE(opened->journal->stop());
    }
    auto opened = open_counting(folder.path());
    ASSERT_TRUE(opened) << to_text(opened.error());
    EXPECT_EQ(opened->ledger.last_sequence, 300);
    EXPECT_EQ(opened->journal->reader().read(0, 1000).value(), facts);
    EXPECT_EQ(opened->journal->reader().read(298, 1000).value().size(), 2u);
    EXPECT_EQ(opened->journal->reader().read(10, 5).value().front().sequence, 11);
}

TEST(SqliteJournal, ReplayFromASnapshotEqualsReplayOfAll) {
    const TemporaryFolder with, without;
    for (const Sequence last : {40, 77, 130}) {
        fill(with.path(), last, 10);
        fill(without.path(), last);
    }
    tamper(without.path(), "DELETE FROM snapshots");
    const auto a = open_counting(with.path());
    const auto b = open_counting(without.path());
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->ledger, b->ledger);
    EXPECT_EQ(a->journal->reader().verify()->snapshots, 2);
}

TEST(SqliteJournal, ReadersSeeOnlyWhatIsDurableWhileItIsWritten) {
    const TemporaryFolder folder;
    auto opened = open_counting(folder.path());
    ASSERT_TRUE(opened);
    Hearing hearing;
    opened->journal->start(hearing.callbacks());
    auto other = JournalReader::open(folder.path() + "/journal.db");
    ASSERT_TRUE(other) << to_text(other.error());
    Sequence seen = 0;
    for (Sequence s = 1; s <= 2000; s += 10) {
        opened->journal->append(facts_between(s, s + 9));
        const auto page = (*other)->read(seen, 100);
        ASSERT_TRUE(page) << to_text(page.error());
        for (const auto& record : *page) EXPECT_EQ(record, fact_number(++seen));
    }
    ASSERT_TRUE(hearing.wait_durable(2000));
    EXPECT_EQ((*other)->last().value(), 2000);
}

TEST(SqliteJournal, ASecondServerIsRefusedWithThePid) {
    const TemporaryFolder folder;
    const auto first = open_counting(folder.path());
    ASSERT_TRUE(first);
    const std::string error = open_error(folder.path());
    EXPECT_NE(error.find("(pid " + std::to_string(::getpid()) + ")"), std::string::npos) << error;
    EXPECT_NE(error.find("--state"), std::string::npos) << error;
}

TEST(SqliteJournal, EveryColumnIsCovered) {
    for (const std::string change :
         {"at = at + 1", "tag = 'NodeLost'", "body = replace(body, 'fact 17', 'fact 71')",
          "hash = zeroblob(32)", "hash = x'00'", "seq = 1000"}) {
        const TemporaryFolder folder;
        fill(folder.path(), 30);
        tamper(folder.path(), "UPDATE facts SET " + change + " WHERE seq = 17");
        const std::string error = open_error(folder.path());
        EXPECT_NE(error.find("broken at sequence 17"), std::string::npos)
            << change << ": " << error;
        EXPECT_NE(error.find("restore the journal"), std::string::npos) << error;
        auto reader = JournalReader::open(folder.path() + "/journal.db");
        ASSERT_TRUE(reader);
        EXPECT_FALSE((*reader)->verify());
    }
}

TEST(SqliteJournal, MissingMovedAndAddedRowsShow) {
    const TemporaryFolder gap, swapped, tail, added;
    for (const auto* folder : {&gap, &swapped, &tail, &added}) fill(folder->path(), 30);
    tamper(gap.path(), "DELETE FROM facts WHERE seq BETWEEN 5 AND 8");
    EXPECT_NE(open_error(gap.path()).find("sequence 5: facts up to 8 are missing"),
              std::string::npos)
        << open_error(gap.path());
    tamper(swapped.path(),
           "UPDATE facts SET seq = -9 WHERE seq = 9; UPDATE facts SET seq = 9 WHERE "
           "seq = 10; UPDATE facts SET seq = 10 WHERE seq = -9");
    EXPECT_NE(open_error(swapped.path()).find("broken at sequence 9"), std::string::npos);
    tamper(tail.path(), "DELETE FROM facts WHERE seq > 20");
    EXPECT_NE(open_error(tail.path()).find("broken at sequence 30"), std::string::npos)
        << open_error(tail.path());
    tamper(added.path(),
           "INSERT INTO facts SELECT 31, at, tag, body, hash FROM facts WHERE seq = 30");
    EXPECT_NE(open_error(added.path()).find("broken at sequence 31"), std::string::npos);
}

TEST(SqliteJournal, ABrokenSnapshotSaysHowToGoOn) {
    for (const std::string change : {"body = replace(body, 'actor1', 'actorX')", "format = 0",
                                     "ledger_hash = x'11'", "format = 99"}) {
        const TemporaryFolder folder;
        fill(folder.path(), 30);
        tamper(folder.path(), "UPDATE snapshots SET " + change);
        const std::string error = open_error(folder.path());
        EXPECT_NE(error.find("snapshot at sequence 30 is broken"), std::string::npos) << error;
        EXPECT_NE(error.find("DELETE FROM snapshots WHERE seq=30"), std::string::npos) << error;
        tamper(folder.path(), "DELETE FROM snapshots WHERE seq=30"); // as it says
        auto opened = open_counting(folder.path());
        ASSERT_TRUE(opened) << to_text(opened.error());
        EXPECT_EQ(opened->ledger.last_sequence, 30);
    }
}

TEST(SqliteJournal, OtherFilesAreNotTaken) {
    const TemporaryFolder garbage, foreign, newer;
    std::filesystem::create_directories(garbage.path());
    FILE* file = std::fopen((garbage.path() + "/journal.db").c_str(), "w");
    std::fputs("this is not a database, but it is long enough to look like one at first", file);
    std::fclose(file);
    EXPECT_NE(open_error(garbage.path()).find("damaged"), std::string::npos)
        << open_error(garbage.path());
    tamper(foreign.path(), "CREATE TABLE users(name)");
    EXPECT_NE(open_error(foreign.path()).find("not a journal of Muster"), std::string::npos)
        << open_error(foreign.path());
    fill(newer.path(), 3);
    tamper(newer.path(), "PRAGMA user_version = 2");
    EXPECT_NE(open_error(newer.path()).find("has format 2"), std::string::npos);
}

/// A child appends and writes each acknowledged sequence to a pipe until it is killed.
[[noreturn]] void append_until_killed(const std::string& directory, int acknowledged) {
    auto opened = open_counting(directory, 50);
    if (!opened) ::_exit(2);
    JournalCallbacks callbacks;
    callbacks.durable = [&](Sequence s) {
        if (::write(acknowledged, &s, sizeof s) != sizeof s) ::_exit(3);
    };
    opened->journal->start(callbacks);
    for (Sequence s = opened->ledger.last_sequence + 1;; s += 3)
        opened->journal->append(facts_between(s, s + 2));
}

TEST(SqliteJournal, NothingAcknowledgedIsLostByKill) {
    const TemporaryFolder folder;
    Prng prng(5);
    Sequence acknowledged = 0;
    for (int round = 0; round < 6; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) append_until_killed(folder.path(), ends[1]);
        ::close(ends[1]);
        const Sequence until = acknowledged + prng.between(5, 400);
        Sequence heard = 0;
        while (::read(ends[0], &heard, sizeof heard) == sizeof heard) {
            acknowledged = heard;
            if (heard >= until) ::kill(child, SIGKILL);
        }
        ::close(ends[0]);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
        auto opened = open_counting(folder.path());
        ASSERT_TRUE(opened) << to_text(opened.error());
        EXPECT_GE(opened->ledger.last_sequence, acknowledged);
        const auto tail = opened->journal->reader().read(acknowledged - 1, 1);
        ASSERT_TRUE(tail);
        EXPECT_EQ(tail->front(), fact_number(acknowledged));
    }
}

} // namespace
} // namespace muster::io
