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

constexpr Duration wait_max = Duration::seconds(5);           // looked at least this often
constexpr Duration progress_interval = Duration::millis(250); // pages are looked at
constexpr std::array handled_signals{SIGCHLD, SIGTERM, SIGINT, SIGHUP};

io::UniqueFd take_over_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : handled_signals) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return io::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string hold_query(Duration hold) {
    return hold.ns > 0 ? "?hold=" + to_text(hold) : std::string{};
}

template <class Order>
Result<Order> decoded(Result<std::string> body) {
    if (!body) return fail(body.error());
    return codec::from_json<Order>(*body, codec::UnknownKeys::ignore);
}

} // namespace

Launcher::Launcher(LaunchSetup setup, io::SystemClock& clock)
    : setup_(std::move(setup)), clock_(clock), epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      signals_(take_over_signals()) {
    REQUIRE(epoll_ && signals_, "no descriptors for the launcher");
    if (setup_.standalone()) guard_.emplace();
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
        setup_, clock_, [this](launch::LaunchEvent event) { mailbox_.post(std::move(event)); },
        std::move(echo));
    if (const auto opened = open(); !opened) {
        tell_error(opened);
        return EXIT_FAILURE;
    }
    core_.emplace(setup_.config);
    loop_.emplace(*core_, journal_, *this);
    step(launch::Begin{});
    while (!exit_code_) {
        std::array<epoll_event, 8> events;
        const int count =
            ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
        for (int i = 0; i < count; ++i)
            if (events[static_cast<std::size_t>(i)].data.fd == signals_.get()) take_signals();
        take_mail();
        look_at_progress();
        if (!exit_code_ && clock_.now() >= loop_->wake_at()) step(launch::Wake{});
    }
    if (listener_) listener_->stop(); // answers first, or members would wait in vain
    ranks_->close();
    if (guard_) guard_->dismiss();
    if (terminal_) terminal_->finish(*exit_code_);
    return *exit_code_;
}

Status Launcher::open() {
    if (!setup_.attempt_dir.empty()) tell_error(result_file_.emplace(setup_.attempt_dir).reserve());
    if (auto opened = ranks_->open(); !opened) return opened;
    if (guard_) guard_->watch(ranks_->group(), ranks_->pages());
    if (setup_.standalone() || setup_.config.order.placement.nodes.size() < 2) return ok();
    auto listener = MemberListener::start(
        {setup_.config.address, setup_.token,
         [this](launch::MemberAsked asked) { return mailbox_.offer(std::move(asked)); }});
    if (!listener) return fail(listener.error());
    listener_ = std::move(*listener);
    setup_.config.endpoint = listener_->endpoint();
    return ok();
}

int Launcher::wait_ms() {
    Instant until = std::min(loop_->wake_at(), clock_.now() + wait_max);
    if (ranks_->running()) until = std::min(until, progress_at_);
    const Duration left = until - clock_.now();
    if (left.ns <= 0) return 0;
    return static_cast<int>((left.ns + 999'999) / 1'000'000);
}

void Launcher::step(const launch::LaunchEvent& event) {
    if (exit_code_) return;
    loop_->step(clock_.now(), event);
}

void Launcher::look_at_progress() {
    const Instant now = clock_.now();
    if (now < progress_at_) return;
    progress_at_ = now + progress_interval;
    if (const auto news = ranks_->read_progress()) step(*news);
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
    for (auto events = mailbox_.take({}); !events.empty(); events = mailbox_.take({}))
        for (const auto& event : events) {
            if (const auto* cleared = std::get_if<launch::RanksCleared>(&event)) {
                // Those that were killed are told of before it is told that nothing is left.
                for (const auto& exit : ranks_->reap()) step(exit);
                if (cleared->leftover == 0) {
                    ranks_->cleared(cleared->generation);
                    ports_.erase(cleared->generation);
                }
            }
            step(event);
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
    mailbox_.post(std::move(bound));
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

void Launcher::tell_error(const Status& status) {
    if (status) return;
    launch::Tell tell{to_text(status.error())};
    carry_out(tell);
}

void Launcher::carry_out(launch::Leave& command) {
    if (result_file_) tell_error(result_file_->write(command.result));
    exit_code_ = static_cast<int>(command.exit_code);
}

LaunchLane& Launcher::server_lane(Lane lane) {
    auto& found = server_lanes_[lane];
    if (!found)
        found = std::make_unique<LaunchLane>(setup_.token, [this, lane](Result<std::string> body) {
            auto order = decoded<LauncherOrder>(std::move(body));
            if (order)
                mailbox_.post(launch::ServerSaid{lane, std::move(*order)});
            else
                mailbox_.post(launch::ServerSilent{lane, order.error()});
        });
    return *found;
}

LaunchLane& Launcher::lead_lane(Lane lane) {
    auto& found = lead_lanes_[lane];
    if (!found)
        found = std::make_unique<LaunchLane>(setup_.token, [this, lane](Result<std::string> body) {
            auto order = decoded<MemberOrder>(std::move(body));
            if (order)
                mailbox_.post(launch::LeadSaid{lane, std::move(*order)});
            else
                mailbox_.post(launch::LeadSilent{lane, order.error()});
        });
    return *found;
}

void Launcher::carry_out(launch::SendServerBeat& command) {
    const Duration hold = command.lane == Lane::poll ? launch::server_beat_interval : Duration{};
    server_lane(command.lane)
        .send({setup_.server, "/v1/launchers:beat" + hold_query(hold),
               codec::to_json(command.beat, codec::Style::exact), hold});
}

void Launcher::carry_out(launch::SendMemberBeat& command) {
    const Duration hold = command.lane == Lane::poll ? launch::member_beat_interval : Duration{};
    lead_lane(command.lane)
        .send({"http://" + command.endpoint, "/v1/members:beat" + hold_query(hold),
               codec::to_json(command.beat, codec::Style::exact), hold});
}

void Launcher::carry_out(launch::AnswerMember& command) {
    if (listener_) listener_->answer(command.reply, command.order);
}

} // namespace muster::app
