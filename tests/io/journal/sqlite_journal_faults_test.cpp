#include "support.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace muster::io {
namespace {

/// A small file system that can be filled and made read-only; needs root.
class SmallDisk {
  public:
    SmallDisk() { mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0; }
    ~SmallDisk() {
        if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
    }
    bool mounted() const { return mounted_; }
    const std::string& path() const { return folder_.path(); }
    std::string filler() const { return path() + "/filler"; }
    void fill() const {
        const UniqueFd fd(::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        const std::string block(4096, 'x');
        while (::write(fd.get(), block.data(), block.size()) > 0) {
        }
    }
    void free() const { ::unlink(filler().c_str()); }
    bool make_read_only() const {
        return ::mount("tmpfs", path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m") == 0;
    }

  private:
    TemporaryFolder folder_;
    bool mounted_ = false;
};

#define NEEDS_MOUNT(disk) \
    if (!(disk).mounted()) GTEST_SKIP() << "needs root to mount a small file system"

/// What a kill can leave of the first start: the write-ahead log up to each of its frames.
TEST(SqliteJournalFaults, AKillAtAnyMomentOfTheFirstStartLeavesAStateThatOpens) {
    namespace fs = std::filesystem;
    constexpr std::uintmax_t log_header = 32; // of SQLite's file format
    constexpr std::uintmax_t frame = 24 + 4'096;
    const TemporaryFolder made;
    auto opened = open_counting(made.path());
    ASSERT_TRUE(opened) << to_text(opened.error());
    const auto log = made.path() + "/journal.db-wal";
    const auto size = fs::file_size(log);
    ASSERT_GT(size, log_header);
    ASSERT_EQ((size - log_header) % frame, 0U);
    for (std::uintmax_t kept = log_header; kept <= size; kept += frame) {
        const TemporaryFolder left;
        fs::copy_file(made.path() + "/journal.db", left.path() + "/journal.db");
        fs::copy_file(log, left.path() + "/journal.db-wal");
        fs::resize_file(left.path() + "/journal.db-wal", kept);
        auto again = open_counting(left.path());
        EXPECT_TRUE(again) << "with " << kept << " bytes: " << to_text(again.error());
    }
}

TEST(SqliteJournalFaults, AFullDiskIsWaitedOut) {
    const SmallDisk disk;
    NEEDS_MOUNT(disk);
    auto opened = open_counting(disk.path());
    ASSERT_TRUE(opened) << to_text(opened.error());
    Hearing hearing;
    opened->journal->start(hearing.callbacks());
    opened->journal->append(facts_between(1, 10));
    ASSERT_TRUE(hearing.wait_durable(10));
    disk.fill();
    for (Sequence s = 11; s <= 2000; s += 10) opened->journal->append(facts_between(s, s + 9));
    const std::string trouble = hearing.wait_trouble();
    EXPECT_NE(trouble.find("the disk is full"), std::string::npos) << trouble;
    EXPECT_FALSE(opened->journal->accepting());
    EXPECT_LT(hearing.durable(), 2000);
    disk.free();
    ASSERT_TRUE(hearing.wait_relieved());
    ASSERT_TRUE(hearing.wait_durable(2000));
    EXPECT_TRUE(hearing.orderly());
    ASSERT_TRUE(opened->journal->stop());
    opened->journal.reset();
    auto again = open_counting(disk.path());
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(again->ledger.last_sequence, 2000);
}

TEST(SqliteJournalFaults, AStopOnAFullDiskEndsWithTheReason) {
    const SmallDisk disk;
    NEEDS_MOUNT(disk);
    JournalOptions options;
    options.directory = disk.path();
    options.stop_wait_max = Duration::millis(100);
    auto opened = open_journal<CountingLedger>(options);
    ASSERT_TRUE(opened);
    Hearing hearing;
    opened->journal->start(hearing.callbacks());
    disk.fill();
    opened->journal->append(facts_between(1, 1000));
    hearing.wait_trouble();
    const Status stopped = opened->journal->stop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::resource_exhausted);
    EXPECT_EQ(hearing.durable(), 0);
}

TEST(SqliteJournalFaults, AReadOnlyDirectoryIsRefusedAtTheStart) {
    const SmallDisk disk;
    NEEDS_MOUNT(disk);
    ASSERT_TRUE(disk.make_read_only());
    auto opened = open_counting(disk.path());
    ASSERT_FALSE(opened);
    const std::string error = to_text(opened.error());
    EXPECT_NE(error.find("Read-only file system"), std::string::npos) << error;
    EXPECT_NE(error.find("writable"), std::string::npos) << error;
}

/// Files of this process cannot grow beyond `bytes` while the object lives.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

TEST(SqliteJournalFaults, AWriteErrorIsFinalAndNothingMoreIsAcknowledged) {
    const TemporaryFolder folder;
    auto opened = open_counting(folder.path());
    ASSERT_TRUE(opened);
    Hearing hearing;
    opened->journal->start(hearing.callbacks());
    opened->journal->append(facts_between(1, 10));
    ASSERT_TRUE(hearing.wait_durable(10));
    const FileSizeLimit limit(4096);
    opened->journal->append(facts_between(11, 20));
    const std::string failure = hearing.wait_failure();
    EXPECT_NE(failure.find("reading or writing failed"), std::string::npos) << failure;
    EXPECT_FALSE(opened->journal->accepting());
    opened->journal->append(facts_between(21, 30)); // dropped, never acknowledged
    EXPECT_EQ(hearing.durable(), 10);
    EXPECT_FALSE(opened->journal->stop());
}

} // namespace
} // namespace muster::io
