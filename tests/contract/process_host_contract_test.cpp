// What a launcher's core is told of its ranks' processes (launch/core.hpp: StartRanks,
// TerminateRanks, KillRanks and their answers), asked of real processes and of the simulator's
// alike: what the simulator assumes is what machines do.

#include "app/rank_set.hpp"
#include "io/posix/files.hpp"
#include "io/posix/mailbox.hpp"
#include "io/process/proc.hpp"
#include "sim/world.hpp"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

constexpr int step_ms = 20'000; // between two events of real processes
constexpr std::int64_t ranks_number = 2;

enum class Program {
    obedient,   // runs until it is ended
    deaf,       // ignores SIGTERM
    with_child, // leaves a child that ignores SIGTERM and has a session of its own
    none,       // there is no such program
};

/// What a core heard, in order.
struct Heard {
    std::vector<launch::RankExited> exits;
    std::int64_t started = 0;
    std::optional<std::int64_t> leftover; // of the newest RanksCleared

    void take(const launch::LaunchEvent& event) {
        if (std::holds_alternative<launch::RanksStarted>(event)) ++started;
        if (const auto* exited = std::get_if<launch::RankExited>(&event)) {
            EXPECT_FALSE(leftover == 0)
                << "a rank's end is told before it is told that all is clear";
            exits.push_back(*exited);
        }
        if (const auto* cleared = std::get_if<launch::RanksCleared>(&event))
            leftover = cleared->leftover;
    }
    const RankExit& of(std::int64_t local_rank) const {
        static const RankExit none{.local_rank = -1};
        const auto at = std::ranges::find_if(exits, [&](const launch::RankExited& event) {
            return event.exit.local_rank == local_rank;
        });
        return at == exits.end() ? none : at->exit;
    }
};

/// Both forms offer: a gang of two ranks that run; end(): one ends by a code or a signal;
/// end_all(): SIGTERM to all, then SIGKILL, until it is told that nothing is left; alive().

class RealProcesses {
  public:
    explicit RealProcesses(Program program) {
        ::sigemptyset(&child_);
        ::sigaddset(&child_, SIGCHLD);
        ::pthread_sigmask(SIG_BLOCK, &child_, nullptr);
        signals_ = io::UniqueFd(::signalfd(-1, &child_, SFD_CLOEXEC | SFD_NONBLOCK));
        set_up(program);
        ranks_.emplace(
            setup_, clock_, [this](launch::LaunchEvent event) { mailbox_.post(std::move(event)); },
            app::Echo{});
        const auto opened = ranks_->open();
        EXPECT_TRUE(opened) << to_text(opened.error());
        RankTable table;
        table.generation = 1;
        for (std::int64_t i = 0; i < ranks_number; ++i)
            table.ranks.push_back({i, i, i, 0, setup_.config.order.spec.roles[0].name, {}});
        ranks_->start(table);
        wait([&] { return heard.started == 1; });
        if (program == Program::none) return;
        // Ready once each has said so: then it has set its traps and left its child.
        wait([&] { return marks() == ranks_number; });
    }
    ~RealProcesses() {
        end_all();
        ranks_->close();
        ranks_.reset();
        (void)!std::system(("rm -rf " + folder_).c_str());
        ::pthread_sigmask(SIG_UNBLOCK, &child_, nullptr);
    }

    void end(std::int64_t rank, int code, int signal) {
        const auto path = folder_ + "/end." + std::to_string(rank);
        const std::string how = signal != 0 ? "kill -" + std::to_string(signal) + " $$\n"
                                            : "exit " + std::to_string(code) + "\n";
        EXPECT_TRUE(io::write_file_atomically(path, how));
        wait([&] { return heard.of(rank).local_rank == rank; });
    }
    void end_all() {
        heard.leftover.reset();
        ranks_->terminate(1);
        ranks_->kill(1);
        wait([&] { return heard.leftover == 0; });
    }
    /// SIGTERM alone, to those that take it.
    void terminate() {
        ranks_->terminate(1);
        wait([&] { return heard.exits.size() == ranks_number; });
    }
    std::size_t alive() const {
        const auto all = io::all_processes();
        return static_cast<std::size_t>(std::ranges::count_if(all, [&](const io::ProcStat& stat) {
            return !stat.dead() && io::read_proc_environment(stat.pid, "CONTRACT") == folder_;
        }));
    }

    Heard heard;

  private:
    void set_up(Program program) {
        char name[] = "/tmp/muster-contract-XXXXXX";
        folder_ = ::mkdtemp(name);
        auto& order = setup_.config.order;
        order.workload = WorkloadId::make(clock_.now(), static_cast<std::uint64_t>(::getpid()), 1);
        order.attempt = 1;
        order.name = WorkloadName{"contract"};
        Role role;
        role.ranks = ranks_number;
        role.env["CONTRACT"] = folder_;
        // Looks for its orders as rank.py does, without Python.
        const std::string wait_for_end =
            "while [ ! -e end.$RANK ]; do read -t 0.01 _ <> fifo; done\n"
            ". ./end.$RANK\n";
        std::string script;
        if (program == Program::deaf) script = "trap '' TERM\n";
        if (program == Program::with_child)
            script += "setsid sh -c \"trap '' TERM; echo > child.$RANK; exec sleep 1000\" &\n"
                      "while [ ! -e child.$RANK ]; do read -t 0.01 _ <> fifo; done\n";
        role.command = {"/bin/bash", "-c", script + "echo > mark.$RANK\n" + wait_for_end};
        if (program == Program::none) role.command = {"/no/such/program"};
        order.spec.roles = {role};
        order.spec.workdir = folder_;
        PlacedNode node{NodeName{"local"}, 1, {}};
        for (std::int64_t i = 0; i < ranks_number; ++i) node.seats.push_back(Seat{role.name, {}});
        order.placement.nodes = {node};
        setup_.config.standalone = true;
        setup_.node = node.node;
        EXPECT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
    }
    std::int64_t marks() const {
        std::int64_t found = 0;
        for (std::int64_t i = 0; i < ranks_number; ++i)
            found += ::access((folder_ + "/mark." + std::to_string(i)).c_str(), F_OK) == 0;
        return found;
    }
    void take_all() {
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) > 0) {
        }
        for (const auto& event : ranks_->reap()) heard.take(event);
        for (const auto& event : mailbox_.take({})) {
            for (const auto& exit : ranks_->reap()) heard.take(exit); // as app/launcher.cpp does
            heard.take(event);
        }
    }
    void wait(const std::function<bool()>& done) {
        constexpr int look_ms = 10; // for what has no event: a file of a rank
        for (int waited = 0; waited < step_ms; waited += look_ms) {
            take_all();
            if (done()) return;
            pollfd waits[2] = {{signals_.get(), POLLIN, 0}, {mailbox_.fd(), POLLIN, 0}};
            ::poll(waits, 2, look_ms);
        }
        ADD_FAILURE() << "what was awaited did not come";
    }

    sigset_t child_;
    io::UniqueFd signals_;
    io::SystemClock clock_;
    std::string folder_;
    app::LaunchSetup setup_;
    io::BoundedMailbox<launch::LaunchEvent> mailbox_{0};
    std::optional<app::RankSet> ranks_;
};

class SimulatedProcesses {
  public:
    explicit SimulatedProcesses(Program program) : world_(options(), setup(program)) {
        world_.begin();
        run([&] { return world_.server.ledger()->nodes.size() == 1; });
        world_.people.submit(world_.setup.jobs[0]);
        run([&] { return heard.started == 1; });
    }

    void end(std::int64_t rank, int code, int signal) {
        for (const auto& process : group().processes)
            if (process.local_rank == rank && process.main) {
                world_.machines[0]->end_rank(
                    process.pid, {.exit_code = code, .signal = signal, .last_line = {}});
                break;
            }
        run([&] { return heard.of(rank).local_rank == rank; });
    }
    void end_all() {
        if (heard.leftover == 0) return;
        world_.machines[0]->launcher(group().launcher_pid)->deliver(launch::LeaveAsked{15});
        run([&] { return heard.leftover == 0; });
    }
    void terminate() {
        world_.machines[0]->launcher(group().launcher_pid)->deliver(launch::LeaveAsked{15});
        run([&] { return heard.exits.size() == ranks_number; });
    }
    std::size_t alive() { return static_cast<std::size_t>(group().alive(1)); }

    Heard heard;

  private:
    sim::Options options() {
        sim::Options options;
        options.heard = [this](const launch::LaunchEvent& event) { heard.take(event); };
        return options;
    }
    static sim::WorldSetup setup(Program program) {
        sim::WorldSetup setup;
        setup.devices = {ranks_number};
        setup.chaos = Duration::max();
        if (program == Program::deaf) setup.faults.term_ignored_per_mille = 1000;
        if (program == Program::with_child) setup.faults.child_survives_per_mille = 1000;
        sim::JobPlan plan;
        plan.spec.name = WorkloadName{"contract"};
        Role role;
        role.ranks = ranks_number;
        role.command = {"x"};
        plan.spec.roles = {role};
        plan.spec.restarts.per_ten_minutes = 0;
        plan.steps = 1'000'000;
        plan.peers_hang = true;
        plan.cannot_execute = program == Program::none;
        plan.submit_at = Duration::max();
        setup.jobs = {plan};
        return setup;
    }
    sim::Group& group() { return world_.machines[0]->groups().begin()->second; }
    void run(const std::function<bool()>& done) {
        EXPECT_TRUE(world_.run_until(done, world_.queue.now() + Duration::minutes(5), Duration{}));
    }

    sim::World world_;
};

template <class Form>
class ProcessHost : public testing::Test {};
using Forms = testing::Types<RealProcesses, SimulatedProcesses>;
TYPED_TEST_SUITE(ProcessHost, Forms);

TYPED_TEST(ProcessHost, TellsACodeAndWhoseDoingTheEndWas) {
    TypeParam form(Program::obedient);
    form.end(0, 41, 0);
    EXPECT_EQ(form.heard.of(0).exit_code, 41);
    EXPECT_EQ(form.heard.of(0).signal, 0);
    EXPECT_FALSE(form.heard.of(0).killed_by_us);
    EXPECT_GE(form.heard.of(0).lived, Duration{});
    form.end_all();
    EXPECT_TRUE(form.heard.of(1).killed_by_us);
    EXPECT_EQ(form.heard.exits.size(), 2u) << "each end is told once";
    EXPECT_FALSE(form.heard.of(0).killed_by_us) << "what ended before is not ours";
    EXPECT_EQ(form.alive(), 0u);
}

TYPED_TEST(ProcessHost, TellsASignal) {
    for (const int signal : {SIGKILL, SIGSEGV, SIGABRT}) {
        TypeParam form(Program::obedient);
        form.end(1, 0, signal);
        EXPECT_EQ(form.heard.of(1).exit_code, 0);
        EXPECT_EQ(form.heard.of(1).signal, signal);
        EXPECT_FALSE(form.heard.of(1).killed_by_us);
        form.end_all();
    }
}

TYPED_TEST(ProcessHost, ACleanEndIsNoFailure) {
    TypeParam form(Program::obedient);
    form.end(0, 0, 0);
    EXPECT_EQ(form.heard.of(0).exit_code, 0);
    EXPECT_EQ(form.heard.of(0).signal, 0);
    EXPECT_FALSE(form.heard.of(0).cannot_execute);
    form.end_all();
}

TYPED_TEST(ProcessHost, SigtermEndsWhoTakesIt) {
    TypeParam form(Program::obedient);
    form.terminate();
    for (std::int64_t rank = 0; rank < ranks_number; ++rank) {
        EXPECT_EQ(form.heard.of(rank).signal, SIGTERM);
        EXPECT_TRUE(form.heard.of(rank).killed_by_us);
    }
    form.end_all();
}

TYPED_TEST(ProcessHost, SigkillEndsWhoDoesNot) {
    TypeParam form(Program::deaf);
    EXPECT_EQ(form.alive(), 2u);
    form.end_all();
    for (std::int64_t rank = 0; rank < ranks_number; ++rank) {
        EXPECT_EQ(form.heard.of(rank).signal, SIGKILL);
        EXPECT_TRUE(form.heard.of(rank).killed_by_us);
    }
    EXPECT_EQ(form.alive(), 0u);
}

TYPED_TEST(ProcessHost, AChildOutlivesItsRankUntilTheGroupIsCleared) {
    TypeParam form(Program::with_child);
    form.end(0, 3, 0);
    EXPECT_GE(form.alive(), 1u);
    form.end_all();
    EXPECT_EQ(form.heard.leftover, 0);
    EXPECT_EQ(form.alive(), 0u);
}

TYPED_TEST(ProcessHost, AMissingProgramIsToldAsSuch) {
    TypeParam form(Program::none);
    form.end_all();
    ASSERT_EQ(form.heard.exits.size(), 2u);
    for (std::int64_t rank = 0; rank < ranks_number; ++rank) {
        EXPECT_TRUE(form.heard.of(rank).cannot_execute);
        EXPECT_EQ(form.heard.of(rank).exit_code, 127);
        EXPECT_NE(form.heard.of(rank).start_error.find("No such file"), std::string::npos);
    }
}

} // namespace
} // namespace muster
