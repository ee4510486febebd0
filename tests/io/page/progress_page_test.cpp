// The page between a rank (libmuster) and its launcher: each writer here is a process of its own,
// since a process opens one page in its life.

#include "base/id.hpp"
#include "io/page/page_folder.hpp"
#include "io/page/progress_page.hpp"
#include "io/posix/files.hpp"
#include "muster.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace muster::io {
namespace {

class Page : public testing::Test {
  protected:
    Page() : path_("/tmp/muster-page-test." + std::to_string(::getpid())) {
        page_ = *ProgressPage::create(path_, 4);
    }

    /// Runs `body` as a rank of the generation; returns its exit status.
    int as_rank(const std::function<int()>& body, const char* generation = "4") {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::setenv("MUSTER_PROGRESS_PAGE", path_.c_str(), 1);
            ::setenv("MUSTER_GENERATION", generation, 1);
            ::_exit(body());
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return status;
    }

    std::string path_;
    std::optional<ProgressPage> page_;
    SystemClock clock_;
};

TEST_F(Page, TellsNothingUntilTheRankDoes) {
    EXPECT_FALSE(page_->read(0, clock_).has_value());
    EXPECT_EQ(as_rank([] { return muster_open(); }), 0);
    EXPECT_FALSE(page_->read(0, clock_).has_value());
}

TEST_F(Page, CarriesStepsLossSamplesMetricsAndPhases) {
    const Instant before = clock_.now();
    EXPECT_EQ(as_rank([] {
                  muster_open();
                  muster_progress(10, 100, 32, 2.5, 1);
                  muster_phase_begin("checkpoint");
                  muster_phase_begin("upload");
                  muster_phase_end();
                  muster_phase_end();
                  muster_metric("lr", 0.125);
                  muster_metric("lr", 0.25);
                  return muster_progress(11, 0, 32, 0, 0);
              }),
              0);
    const auto progress = page_->read(3, clock_);
    ASSERT_TRUE(progress.has_value());
    EXPECT_EQ(progress->local_rank, 3);
    EXPECT_EQ(progress->step, 11);
    EXPECT_EQ(progress->total, 100);
    EXPECT_EQ(progress->samples, 64);
    EXPECT_TRUE(progress->has_loss);
    EXPECT_EQ(progress->loss, 2.5);
    EXPECT_EQ(progress->phase, "");
    EXPECT_EQ(progress->phases.size(), 2U);
    EXPECT_EQ(progress->metrics.at("lr"), 0.25);
    EXPECT_GE(progress->first_step_at, before);
    EXPECT_LE(progress->first_step_at, progress->step_at);
    EXPECT_LE(progress->step_at, clock_.now());
    EXPECT_FALSE(page_->read(3, clock_).has_value()) << "no news";
}

TEST_F(Page, AnOpenPhaseGrows) {
    EXPECT_EQ(as_rank([] { return muster_open() + muster_phase_begin("setup"); }), 0);
    const auto first = page_->read(0, clock_);
    const auto second = page_->read(0, clock_);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->phase, "setup");
    EXPECT_GT(second->phases.at("setup"), first->phases.at("setup"));
    EXPECT_EQ(first->step, -1);
}

TEST_F(Page, AStaleGenerationCannotWrite) {
    EXPECT_NE(as_rank([] { return muster_open() == MUSTER_BAD_PAGE ? 7 : 0; }, "3"), 0);
    EXPECT_FALSE(page_->read(0, clock_).has_value());
}

TEST_F(Page, AForkedChildOfTheRankReportsNothing) {
    EXPECT_EQ(as_rank([] {
                  muster_open();
                  muster_progress(1, 0, 0, 0, 0);
                  if (::fork() == 0) {
                      muster_progress(999, 0, 0, 0, 0);
                      ::_exit(0);
                  }
                  ::wait(nullptr);
                  return 0;
              }),
              0);
    EXPECT_EQ(page_->read(0, clock_)->step, 1);
}

TEST_F(Page, TooManyNamesAreRefusedAndTheRestStands) {
    EXPECT_EQ(as_rank([] {
                  muster_open();
                  for (int i = 0; i < MUSTER_METRICS_MAX; ++i)
                      if (muster_metric(("m" + std::to_string(i)).c_str(), i) != MUSTER_OK)
                          return 1;
                  if (muster_metric("one more", 1) != MUSTER_FULL) return 2;
                  for (int i = 0; i < 2 * MUSTER_PHASES_MAX; ++i) {
                      muster_phase_begin(("p" + std::to_string(i)).c_str());
                      muster_phase_end();
                  }
                  return muster_progress(5, 0, 0, NAN, 1);
              }),
              0);
    const auto progress = page_->read(0, clock_);
    ASSERT_TRUE(progress.has_value());
    EXPECT_EQ(progress->metrics.size(), static_cast<std::size_t>(MUSTER_METRICS_MAX));
    EXPECT_EQ(progress->phases.size(), static_cast<std::size_t>(MUSTER_PHASES_MAX));
    EXPECT_TRUE(std::isnan(progress->loss));
}

TEST_F(Page, AWriterKilledAtAnyMomentLeavesAWholePage) {
    for (int round = 0; round < 50; ++round) {
        int ready[2] = {};
        ASSERT_EQ(::pipe(ready), 0);
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::setenv("MUSTER_PROGRESS_PAGE", path_.c_str(), 1);
            ::setenv("MUSTER_GENERATION", "4", 1);
            muster_open();
            for (std::int64_t i = 0;; ++i) {
                // Step and total always belong together: a torn slot would part them.
                muster_progress(i, i + 1, 0, static_cast<double>(i), 1);
                if (i == 100) (void)!::write(ready[1], "x", 1);
            }
        }
        char byte = 0;
        ASSERT_EQ(::read(ready[0], &byte, 1), 1);
        for (int i = 0; i < 100; ++i)
            if (const auto live = page_->read(0, clock_)) {
                ASSERT_EQ(live->total, live->step + 1);
            }
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        ::close(ready[0]);
        ::close(ready[1]);
        if (const auto last = page_->read(0, clock_)) {
            ASSERT_EQ(last->total, last->step + 1);
            ASSERT_EQ(last->loss, static_cast<double>(last->step));
        }
    }
}

TEST_F(Page, GarbageInThePageIsNotTakenForCounts) {
    const int fd = ::open(path_.c_str(), O_RDWR);
    void* at = ::mmap(nullptr, sizeof(muster_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    auto* raw = static_cast<muster_page*>(at);
    for (auto& slot : raw->slots) {
        std::memset(&slot, 0x7f, sizeof slot);
        slot.phase = 0;
    }
    raw->published = 6;
    const auto progress = page_->read(0, clock_);
    ASSERT_TRUE(progress.has_value());
    EXPECT_LE(progress->phases.size(), static_cast<std::size_t>(MUSTER_PHASES_MAX));
    ::munmap(at, sizeof(muster_page));
}

TEST_F(Page, TheFileGoesWithThePage) {
    page_.reset();
    EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST(PageFolder, ASweepTakesWhatAKilledLauncherLeftAndNothingElse) {
    char name[] = "/tmp/muster-shm-XXXXXX";
    const std::string shared = ::mkdtemp(name);
    const std::string id = raw_id_to_text(make_raw_id(Instant{1}, 2, 3));
    const std::string left = shared + "/" + page_folder_name(id + ".1.0");
    const std::string foreign = shared + "/muster-of-somebody-else";
    for (const auto& folder : {left, foreign}) {
        ASSERT_TRUE(make_directories(folder).has_value());
        ASSERT_TRUE(write_file_atomically(folder + "/rank-0.1", "x").has_value());
    }
    {
        const PageFolder held(page_folder_name(id + ".2.0"), "/tmp/unused", shared);
        sweep_page_folders(shared);
        EXPECT_EQ(::access(held.path().c_str(), F_OK), 0);
        EXPECT_NE(::access(left.c_str(), F_OK), 0);
        EXPECT_EQ(::access((foreign + "/rank-0.1").c_str(), F_OK), 0);
    }
    remove_pages(foreign);
    EXPECT_EQ(::rmdir(shared.c_str()), 0) << "the held one went with its holder";
}

// Launchers of one machine start together: each sweeps while others make their folders.
TEST(PageFolder, ASweepNeverTakesAFolderThatIsBeingMade) {
    constexpr int rounds = 300;
    char name[] = "/tmp/muster-shm-XXXXXX";
    const std::string shared = ::mkdtemp(name);
    std::atomic<bool> over = false;
    std::thread sweeper([&] {
        while (!over) sweep_page_folders(shared);
    });
    int lost = 0;
    for (int i = 0; i < rounds; ++i) {
        const std::string id =
            raw_id_to_text(make_raw_id(Instant{1}, 2, static_cast<std::uint64_t>(i)));
        const PageFolder held(page_folder_name(id + ".1.0"), "/tmp/unused", shared);
        const std::string page = held.path() + "/rank-0.1";
        if (!write_file_atomically(page, "x")) ++lost;
        sweep_page_folders(shared);
        if (::access(page.c_str(), F_OK) != 0) ++lost;
    }
    over = true;
    sweeper.join();
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(::rmdir(shared.c_str()), 0);
}

TEST(PageFolder, FallsBackWhereSharedMemoryCannotBeWritten) {
    const std::string fallback = "/tmp/muster-fallback." + std::to_string(::getpid());
    const PageFolder folder("muster-x", fallback, "/proc/no/such");
    EXPECT_EQ(folder.path(), fallback);
    EXPECT_EQ(::access(fallback.c_str(), W_OK), 0);
}

TEST(PageFolder, OneWhoseLockIsHeldIsLeftForTheOtherPlace) {
    const std::string shared = testing::TempDir() + "pages-held-" + std::to_string(::getpid());
    const std::string name = page_folder_name(raw_id_to_text(make_raw_id(Instant{1}, 2, 3)) + ".1");
    const std::string fallback = shared + "/fallback";
    ASSERT_TRUE(make_directories(shared + "/" + name, 0700));
    const UniqueFd held(::open((shared + "/" + name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(held.get(), LOCK_EX), 0); // as one who sweeps and is stopped meanwhile
    {
        const PageFolder folder(name, fallback, shared);
        EXPECT_EQ(folder.path(), fallback);
    }
    (void)!std::system(("rm -rf " + shared).c_str());
}

} // namespace
} // namespace muster::io
