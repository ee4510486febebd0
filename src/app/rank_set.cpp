#include "app/rank_set.hpp"

#include "app/install.hpp"
#include "base/require.hpp"
#include "io/posix/files.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/reap.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>

namespace muster::app {
namespace {

// Well under launch::kill_retry: the answer arrives before the core asks again.
constexpr Duration kill_look = Duration::seconds(3);
constexpr std::int64_t cannot_execute_code = 127; // as a shell has it

std::string group_name(const launch::LaunchConfig& config) {
    return to_text(config.order.workload) + "." + std::to_string(config.order.attempt) + "." +
           std::to_string(config.order.launcher_index);
}

} // namespace

RankSet::RankSet(const LaunchSetup& setup, io::SystemClock& clock, PostEvent post, Echo echo)
    : setup_(setup), clock_(clock), post_(std::move(post)), echo_(std::move(echo)),
      library_(find_library()), python_path_(find_python_path()) {}

RankSet::~RankSet() {
    if (killer_.joinable()) killer_.join();
}

Status RankSet::open() {
    const char* forced = std::getenv("MUSTER_GROUPS");
    auto groups = io::probe_groups(forced == nullptr ? "" : forced);
    if (!groups) return fail(groups.error());
    groups_ = std::move(*groups);
    groups_->sweep();
    auto group = groups_->create(group_name(setup_.config));
    if (!group) return fail(group.error());
    attempt_group_ = std::move(*group);
    if (!setup_.attempt_dir.empty()) {
        if (auto wrote = io::write_group_file(setup_.attempt_dir, attempt_group_->address());
            !wrote)
            return wrote;
    }
    open_pages();
    pump_ = std::make_unique<io::LogPump>(clock_);
    return ok();
}

void RankSet::open_pages() {
    io::sweep_page_folders();
    const std::string name = io::page_folder_name(group_name(setup_.config));
    const std::string own =
        setup_.attempt_dir.empty() ? "/tmp/" + name : setup_.attempt_dir + "/" + io::pages_name;
    pages_ = std::make_unique<io::PageFolder>(name, own);
    if (pages_->path() == own || setup_.attempt_dir.empty()) return;
    // For clear_group(), should we not come to remove them.
    (void)::unlink(own.c_str());
    (void)!::symlink(pages_->path().c_str(), own.c_str());
}

io::RankLog& RankSet::log_of(std::int64_t rank) {
    auto& log = logs_[rank];
    if (!log) {
        io::RankLogOptions options;
        options.folder = setup_.log_folder;
        options.rank = rank;
        options.attempt = setup_.config.order.attempt;
        if (echo_)
            options.echo = [this, rank](io::LogStream stream, std::string_view line, bool first) {
                echo_(rank, stream, line, first);
            };
        log = std::make_unique<io::RankLog>(std::move(options));
    }
    return *log;
}

void RankSet::start(const RankTable& table) {
    REQUIRE(table.generation > generation_, "generations only grow");
    generation_ = table.generation;
    ending_ = false;
    ranks_.clear();
    group_.reset();
    failed_starts_.clear();
    auto group = groups_->create_in(*attempt_group_, "g" + std::to_string(table.generation));
    const Environment own = own_environment();
    for (const auto& row : table.ranks) {
        if (row.launcher != setup_.config.order.launcher_index) continue;
        if (group) {
            if (!group_) group_ = std::move(*group);
            start_rank(table, row, own);
            continue;
        }
        Rank rank;
        rank.row = row;
        rank.started_at = clock_.now();
        auto failed = exit_of(rank, 0, 0);
        failed.exit.cannot_execute = true;
        failed.exit.exit_code = cannot_execute_code;
        failed.exit.start_error = to_text(group.error());
        failed_starts_.push_back(std::move(failed));
        ranks_.push_back(std::move(rank));
    }
    post_(launch::RanksStarted{table.generation});
    for (auto& failed : failed_starts_) post_(std::move(failed));
    failed_starts_.clear();
}

void RankSet::start_rank(const RankTable& table, const RankRow& row, const Environment& own) {
    const auto& order = setup_.config.order;
    RankPlace place;
    place.table = &table;
    place.row = &row;
    place.spec = &order.spec;
    place.workload = order.workload;
    place.attempt = order.attempt;
    place.job = order.name;
    place.node = setup_.node;
    place.launchers = static_cast<std::int64_t>(order.placement.nodes.size());
    place.gpus = setup_.devices == DeviceKind::gpu;
    place.checkpoint_dir = setup_.checkpoint_dir;
    place.library = library_;
    place.python_path = python_path_;

    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (::pipe2(out, O_CLOEXEC) != 0) out[0] = out[1] = -1;
    if (::pipe2(err, O_CLOEXEC) != 0) err[0] = err[1] = -1;
    const io::UniqueFd out_end(out[1]);
    const io::UniqueFd err_end(err[1]);
    io::LogPump::Pipes pipes{io::UniqueFd(out[0]), io::UniqueFd(err[0])};

    Rank rank;
    rank.row = row;
    auto page = io::ProgressPage::create(pages_->path() + "/rank-" + std::to_string(row.rank) +
                                             "." + std::to_string(table.generation),
                                         table.generation);
    if (page) {
        place.progress_page = page->path();
        rank.page = std::move(*page);
    }
    const std::string page_error = page ? "" : to_text(page.error());
    place.error_file = pages_->path() + "/error-" + std::to_string(row.rank) + ".json";

    io::SpawnSpec spec;
    for (const auto& role : order.spec.roles)
        if (role.name == row.role) spec.argv = role.command;
    spec.env = to_entries(rank_environment(own, place));
    spec.cwd = order.spec.workdir.empty() ? "/" : order.spec.workdir;
    spec.stdout_fd = out_end.get();
    spec.stderr_fd = err_end.get();
    spec.group = group_.get();
    spec.die_with_parent = true;

    io::RankLog& log = log_of(row.rank);
    log.begin(table.generation);
    if (!page_error.empty()) log.note("no progress will be seen: " + page_error, clock_.now());
    rank.started_at = clock_.now();
    if (table.generation > 1)
        log.note("generation " + std::to_string(table.generation) + " begins", rank.started_at);
    auto child = io::spawn(spec);
    if (child) {
        rank.pid = child->pid;
        rank.pidfd = std::move(child->pidfd);
        pump_->watch(log, std::move(pipes));
    } else {
        log.note(to_text(child.error()), clock_.now());
        auto failed = exit_of(rank, 0, 0);
        failed.exit.cannot_execute = true;
        failed.exit.exit_code = cannot_execute_code;
        failed.exit.start_error = to_text(child.error());
        failed_starts_.push_back(std::move(failed));
    }
    ranks_.push_back(std::move(rank));
}

launch::RankExited RankSet::exit_of(Rank& rank, int exit_code, int signal) {
    rank.ended = true;
    launch::RankExited event;
    event.generation = generation_;
    event.exit.local_rank = rank.row.local_rank;
    event.exit.exit_code = exit_code;
    event.exit.signal = signal;
    event.exit.killed_by_us = ending_;
    event.exit.at = clock_.now();
    event.exit.lived = event.exit.at - rank.started_at;
    return event;
}

std::vector<launch::LaunchEvent> RankSet::reap() {
    std::vector<launch::LaunchEvent> events;
    const auto children = io::reap_all();
    if (children.empty()) return events;
    // How far a rank came is known before it is known to be gone.
    if (auto progress = read_progress()) events.push_back(std::move(*progress));
    for (const auto& child : children) {
        const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& candidate) {
            return candidate.pid == child.pid && !candidate.ended;
        });
        if (rank == ranks_.end()) continue; // an orphan that came to us
        auto event = exit_of(*rank, child.exit.exit_code, child.exit.signal);
        auto output = pump_->drain(log_of(rank->row.rank));
        event.exit.last_lines = std::move(output.last_lines);
        event.exit.traceback = std::move(output.traceback);
        events.push_back(std::move(event));
    }
    return events;
}

std::optional<launch::LaunchEvent> RankSet::read_progress() {
    bool news = false;
    launch::ProgressRead event{generation_, {}};
    for (auto& rank : ranks_) {
        if (rank.page)
            if (auto read = rank.page->read(rank.row.local_rank, clock_)) {
                news = news || read != rank.progress;
                rank.progress = std::move(read);
            }
        if (rank.progress) event.ranks.push_back(*rank.progress);
    }
    if (!news) return std::nullopt;
    return event;
}

void RankSet::terminate(Generation generation) {
    if (generation != generation_ || !group_) return;
    // What has ended before this moment ended by itself.
    for (auto& event : reap()) post_(std::move(event));
    ending_ = true;
    group_->signal_all(SIGTERM);
}

void RankSet::kill(Generation generation) {
    if (generation != generation_ || !group_) {
        post_(launch::RanksCleared{generation, 0});
        return;
    }
    if (killing_) return; // its answer is on the way
    for (auto& event : reap()) post_(std::move(event));
    ending_ = true;
    if (killer_.joinable()) killer_.join();
    killing_ = true;
    killer_ = std::thread([this, generation, address = group_->address()] {
        const auto left = io::open_group(address)->kill_and_verify(kill_look);
        killing_ = false;
        post_(launch::RanksCleared{generation, static_cast<std::int64_t>(left.size()),
                                   io::names_of(left)});
    });
}

void RankSet::kill_now() {
    if (!group_) return;
    for (auto& event : reap()) post_(std::move(event));
    ending_ = true;
    group_->signal_all(SIGKILL);
}

void RankSet::cleared(Generation generation) {
    if (generation == generation_ && group_) (void)group_->remove();
}

void RankSet::close() {
    if (killer_.joinable()) killer_.join();
    pump_.reset();
    logs_.clear();
    ranks_.clear(); // with their pages
    pages_.reset();
    if (!setup_.attempt_dir.empty())
        (void)::unlink((setup_.attempt_dir + "/" + io::pages_name).c_str());
    if (attempt_group_) (void)attempt_group_->remove();
}

} // namespace muster::app
