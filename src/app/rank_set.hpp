#pragma once
// RankSet: the processes of this launcher's ranks, one generation at a time. Carries out
// StartRanks, TerminateRanks and KillRanks, and tells what became of them as events for the core.
//
// Life: as long as the launcher. Used by the launcher's thread; only `post` is called from others.

#include "app/launch_setup.hpp"
#include "app/rank_environment.hpp"
#include "io/logs/log_pump.hpp"
#include "io/page/page_folder.hpp"
#include "io/page/progress_page.hpp"
#include "io/posix/clock.hpp"
#include "io/process/group.hpp"
#include "io/process/spawn.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>

namespace muster::app {

using PostEvent = std::function<void(launch::LaunchEvent)>;
using Echo =
    std::function<void(std::int64_t rank, io::LogStream, std::string_view, bool first_error)>;

class RankSet {
  public:
    RankSet(const LaunchSetup& setup, io::SystemClock& clock, PostEvent post, Echo echo);
    ~RankSet();

    /// Finds a group backend and makes the attempt's group; before anything else.
    Status open();
    const std::vector<std::string>& notes() const { return groups_->notes(); }
    const io::GroupAddress& group() const { return attempt_group_->address(); }
    /// The folder of the ranks' progress pages.
    const std::string& pages() const { return pages_->path(); }

    void start(const RankTable& table);
    void terminate(Generation generation);
    /// In a thread of its own: posts RanksCleared.
    void kill(Generation generation);
    /// At once and without an answer: a person insists.
    void kill_now();
    /// Exits since the last call, in the order they were seen.
    std::vector<launch::LaunchEvent> reap();
    /// What the ranks' pages say, where one of them has news.
    std::optional<launch::LaunchEvent> read_progress();
    bool running() const { return !ranks_.empty(); }
    /// The group of a generation that was verified empty goes back to the kernel.
    void cleared(Generation generation);
    /// Everything is over: gives the groups back.
    void close();

  private:
    struct Rank {
        RankRow row;
        pid_t pid = 0;
        io::UniqueFd pidfd;
        std::optional<io::ProgressPage> page;
        std::optional<RankProgress> progress; // newest read
        Instant started_at;
        bool ended = false;
    };
    void open_pages();
    void start_rank(const RankTable& table, const RankRow& row, const Environment& own);
    launch::RankExited exit_of(Rank& rank, int exit_code, int signal);
    io::RankLog& log_of(std::int64_t rank);

    const LaunchSetup& setup_;
    io::SystemClock& clock_;
    PostEvent post_;
    Echo echo_;
    std::optional<io::ProcessGroups> groups_;
    std::unique_ptr<io::ProcessGroup> attempt_group_;
    std::unique_ptr<io::ProcessGroup> group_; // of the generation
    std::map<std::int64_t, std::unique_ptr<io::RankLog>>
        logs_; // by rank; before pump_: it outlives it
    std::unique_ptr<io::LogPump> pump_;
    std::vector<Rank> ranks_;
    Generation generation_ = 0;
    bool ending_ = false; // we have begun to end this generation
    std::thread killer_;
    std::atomic<bool> killing_ = false;
    std::vector<launch::LaunchEvent> failed_starts_;
    std::unique_ptr<io::PageFolder> pages_;
    std::string library_;
    std::string python_path_;
};

} // namespace muster::app
