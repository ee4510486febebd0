#include "app/server.hpp"

#include "app/control_shell.hpp"
#include "app/random.hpp"
#include "app/server_state.hpp"
#include "io/posix/clock.hpp"
#include "io/posix/fd.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"

#include <atomic>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr Duration stop_grace = Duration::seconds(5); // for answers that matter

/// SIGTERM and SIGINT as a descriptor; blocked for this thread and all that it starts.
class EndSignals {
  public:
    EndSignals() {
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, SIGTERM);
        sigaddset(&wanted, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
        std::signal(SIGPIPE, SIG_IGN);
        signals_ = io::UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
        failure_ = io::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    }
    ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// From any thread: ends wait() too.
    void give_up() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(failure_.get(), &one, sizeof one);
    }

    /// The signal's name, or empty after give_up().
    std::string wait() {
        pollfd waits[2] = {{signals_.get(), POLLIN, 0}, {failure_.get(), POLLIN, 0}};
        while (::poll(waits, 2, -1) < 0 && errno == EINTR) {
        }
        signalfd_siginfo info{};
        if (::read(signals_.get(), &info, sizeof info) != sizeof info) return {};
        return info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
    }

  private:
    sigset_t before_{};
    io::UniqueFd signals_;
    io::UniqueFd failure_;
};

api::WorkloadNames names_in(const control::Ledger& ledger) {
    api::WorkloadNames names;
    for (const auto& [id, workload] : ledger.workloads) names.learn(id, workload.name);
    return names;
}

control::ControlConfig config_for(const control::Ledger& ledger, Instant now) {
    control::ControlConfig config;
    config.installation = ledger.last_sequence > 0
                              ? ledger.installation
                              : InstallationId::make(now, random_bits(), random_bits());
    config.version = MUSTER_VERSION;
    return config;
}

/// Tokens are made after the journal: where they are and it is not, it was lost. To begin anew
/// would forget every job and lock out the agents.
Status refuse_lost_journal(const std::string& folder) {
    const auto bytes = [&](const char* name) -> std::int64_t {
        struct stat info{};
        return ::stat((folder + name).c_str(), &info) == 0 ? info.st_size : -1;
    };
    if (bytes("/node.token") < 0 || bytes("/journal.db") > 0) return ok();
    if (bytes("/journal.db") == 0 && bytes("/journal.db-wal") > 0) return ok();
    return fail(Code::data_loss,
                "this state was in use, but its journal " + folder +
                    "/journal.db is missing or empty",
                "restore the journal from a copy; to begin anew without any job and node, choose "
                "another directory with --state");
}

class Server {
  public:
    Server(const ServerOptions& options, EndSignals& end) : options_(options), end_(end) {}

    Status start() {
        const auto listen = parse_listen(options_.listen);
        if (!listen) return fail(listen.error());
        if (auto made = io::make_directories(options_.state + "/server", 0700); !made) return made;
        if (auto there = refuse_lost_journal(options_.state + "/server"); !there) return there;
        auto opened = io::open_journal<control::Ledger>({.directory = options_.state + "/server"});
        if (!opened) return fail(opened.error());
        auto tokens = open_tokens(options_.state);
        if (!tokens) return fail(tokens.error());
        journal_ = std::move(opened->journal);
        durable_ = std::move(opened->durable);
        build(std::move(opened->ledger), *tokens);
        return serve(*listen, tokens->user);
    }

    Status stop() {
        if (http_ != nullptr) http_->stop(stop_grace);
        if (shell_) shell_->stop();
        if (feed_) feed_->stop();
        const Status written = journal_ == nullptr ? ok() : journal_->stop();
        http_.reset();
        return written;
    }

  private:
    void build(control::Ledger ledger, const ServerTokens& tokens) {
        const Sequence last = ledger.last_sequence;
        clock_.emplace(
            io::ClockOptions{.not_before = ledger.last_at, .read = {}, .tell = io::log_clock_news});
        feed_.emplace([this](Sequence after, std::size_t limit) {
            return journal_->reader().read(after, limit);
        });
        feed_->start(last, names_in(ledger));
        auto config = config_for(ledger, clock_->now());
        shell_.emplace(std::move(config), std::move(ledger), *clock_, *journal_);
        api::RestOptions rest;
        rest.user_token = tokens.user;
        rest.node_token = tokens.node;
        rest.user_name = own_user_name();
        rest.version = MUSTER_VERSION;
        rest_.emplace(std::move(rest), *shell_, *feed_);
        io::log_event("journal_open", {{"state", options_.state}, {"facts", std::to_string(last)}});
        journal_->start({.durable = [this](Sequence sequence) { shell_->durable(sequence); },
                         .trouble =
                             [this](const Error& error) {
                                 io::log_event("journal_waits", {{"error", to_text(error)}});
                                 shell_->stalled(error, durable_());
                             },
                         .relieved =
                             [this] {
                                 io::log_event("journal_writes_again");
                                 shell_->relieved();
                             },
                         .failed =
                             [this](const Error& error) {
                                 io::log_event("journal_failed", {{"error", to_text(error)}});
                                 end_.give_up();
                             }});
        shell_->start(*rest_, *feed_);
    }

    Status serve(const ListenAddress& listen, const std::string& user_token) {
        http::HttpServerOptions http;
        http.address = listen.address;
        http.port = listen.port;
        http.threads = options_.io_threads;
        http.connections_max = connections_possible();
        rest_->set_transport([this] { // asked for from the first request on
            const auto* http_server = listening_.load();
            return http_server == nullptr ? http::HttpCounters{} : http_server->counters();
        });
        auto server = http::HttpServer::start(
            http, [this](http::HttpRequest request, http::Responder responder) {
                rest_->handle(std::move(request), std::move(responder));
            });
        if (!server) return fail(server.error());
        http_ = std::move(*server);
        listening_ = http_.get();
        if (auto written = write_client_file(options_.state, http_->url(), user_token); !written)
            return written;
        io::log_event("server_listening", {{"url", http_->url()},
                                           {"version", MUSTER_VERSION},
                                           {"pid", std::to_string(::getpid())}});
        return ok();
    }

    const ServerOptions& options_;
    EndSignals& end_;
    // In the order of their lives: each may use those above it.
    std::unique_ptr<io::SqliteJournal> journal_;
    std::function<control::Ledger()> durable_;
    std::optional<io::SystemClock> clock_;
    std::optional<api::EventFeed> feed_;
    std::optional<ControlShell> shell_;
    std::optional<api::Rest> rest_;
    std::unique_ptr<http::HttpServer> http_;
    std::atomic<const http::HttpServer*> listening_{nullptr};
};

} // namespace

Status run_server(const ServerOptions& options) {
    EndSignals end;
    Server server(options, end);
    if (auto started = server.start(); !started) {
        static_cast<void>(server.stop());
        return fail(started.error());
    }
    const std::string signal = end.wait();
    io::log_event("server_stopping", {{"cause", signal.empty() ? "journal failure" : signal}});
    const Status stopped = server.stop();
    if (!stopped) return fail(stopped.error());
    if (signal.empty())
        return fail(Code::data_loss, "the journal could not be written, so the server ended",
                    "look at the disk, then start it again: what was acknowledged is safe");
    io::log_event("server_stopped");
    return ok();
}

} // namespace muster::app
