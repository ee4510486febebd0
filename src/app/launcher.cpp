#include "app/launcher.hpp"

#include "base/require.hpp"
#include "base/text.hpp"
#include "codec/json.hpp"
#include "io/posix/files.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

namespace muster::app {
namespace {

constexpr Duration wait_max = Duration::seconds(5); // looked at least this often
constexpr std::array handled_signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};

io::UniqueFd take_over_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : handled_signals) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return io::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

} // namespace

Launcher::Launcher(LaunchSetup setup, io::SystemClock& clock)
    : setup_(std::move(setup)), clock_(clock), epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      signals_(take_over_signals()) {
    REQUIRE(epoll_ && signals_, "no descriptors for the launcher");
    // Orphans of ranks come to us, so that none can hide behind init.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const int fd : {signals_.get(), mailbox_.fd()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }
}

Launcher::~Launcher() = default;

int Launcher::run() {
    Echo echo;
    if (setup_.standalone()) {
        terminal_ = std::make_unique<LaunchTerminal>();
        echo = [this](std::int64_t rank, io::LogStream stream, std::string_view line, bool first) {
            terminal_->rank_line(rank, stream == io::LogStream::err, line, first);
        };
    }
    ranks_.emplace(
        setup_, clock_, [this](launch::LaunchEvent event) { mailbox_.push(std::move(event)); },
        std::move(echo));
    if (const auto opened = ranks_->open(); !opened) {
        launch::Tell tell{to_text(opened.error())};
        carry_out(tell);
        return EXIT_FAILURE;
    }
    core_.emplace(setup_.config);
    loop_.emplace(*core_, journal_, *this);
    step(launch::Begin{});
    while (!exit_code_) {
        std::array<epoll_event, 8> events;
        const int count = ::epoll_wait(epoll_.get(), events.data(),
                                       static_cast<int>(events.size()), wait_ms());
        for (int i = 0; i < count; ++i)
            if (events[static_cast<std::size_t>(i)].data.fd == signals_.get()) take_signals();
        take_mail();
        if (!exit_code_ && clock_.now() >= loop_->wake_at()) step(launch::Wake{});
    }
    ranks_->close();
    return *exit_code_;
}

int Launcher::wait_ms() {
    const Duration left = std::min(loop_->wake_at() - clock_.now(), wait_max);
    if (left.ns <= 0) return 0;
    return static_cast<int>((left.ns + 999'999) / 1'000'000);
}

void Launcher::step(const launch::LaunchEvent& event) {
    if (exit_code_) return;
    loop_->step(clock_.now(), event);
}

void Launcher::take_signals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (signal == SIGCHLD) {
            for (const auto& event : ranks_->reap()) step(event);
            continue;
        }
        // A person who asks twice does not want to wait.
        if (++asked_to_leave_ > 1 && signal == SIGINT) ranks_->kill_now();
        step(launch::LeaveAsked{signal});
    }
}

void Launcher::take_mail() {
    mailbox_.clear();
    while (auto event = mailbox_.pop()) {
        if (const auto* cleared = std::get_if<launch::RanksCleared>(&*event)) {
            // Those that were killed are told of before it is told that nothing is left.
            for (const auto& exit : ranks_->reap()) step(exit);
            if (cleared->leftover == 0) {
                ranks_->cleared(cleared->generation);
                ports_.erase(cleared->generation);
            }
        }
        step(*event);
    }
}

void Launcher::send(launch::LaunchCommand command) {
    std::visit([this](auto& each) { carry_out(each); }, command);
}

void Launcher::carry_out(launch::BindPort& command) {
    ports_.erase(command.generation);
    auto port = RendezvousPort::bind_any();
    launch::PortBound bound{command.generation, 0, {}};
    if (port) {
        bound.port = port->port();
        ports_.emplace(command.generation, std::move(*port));
    } else {
        bound.error = to_text(port.error());
    }
    mailbox_.push(std::move(bound));
}

void Launcher::carry_out(launch::StartRanks& command) { ranks_->start(command.table); }
void Launcher::carry_out(launch::TerminateRanks& command) { ranks_->terminate(command.generation); }
void Launcher::carry_out(launch::KillRanks& command) { ranks_->kill(command.generation); }

void Launcher::carry_out(launch::Tell& command) {
    if (terminal_) {
        terminal_->say(command.text);
        return;
    }
    std::fprintf(stderr, "%s %s\n", to_text(clock_.now()).c_str(), command.text.c_str());
}

void Launcher::carry_out(launch::Leave& command) {
    if (!setup_.attempt_dir.empty()) {
        const auto wrote = io::write_file_atomically(
            setup_.attempt_dir + "/result.json", codec::to_json(command.result, codec::Style::exact));
        if (!wrote) {
            launch::Tell tell{to_text(wrote.error())};
            carry_out(tell);
        }
    }
    exit_code_ = static_cast<int>(command.exit_code);
}

void Launcher::carry_out(launch::SendServerBeat&) {}
void Launcher::carry_out(launch::SendMemberBeat&) {}
void Launcher::carry_out(launch::AnswerMember&) {}

} // namespace muster::app
