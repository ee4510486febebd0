#include "app/up.hpp"

#include "app/agent.hpp"
#include "app/children.hpp"
#include "app/down.hpp"
#include "app/lock_file.hpp"
#include "app/signals.hpp"
#include "base/text.hpp"
#include "codec/json.hpp"
#include "control/requests.hpp"
#include "io/http/client.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"
#include "model/launch_file.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string_view>
#include <unistd.h>

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t nodes_max = 64;
constexpr Duration server_limit = Duration::seconds(60); // to listen: a long journal is replayed
constexpr Duration nodes_limit = Duration::seconds(30);  // to be in service
constexpr Duration look_every = Duration::millis(20);    // while waiting for either
constexpr Duration ask_limit = Duration::seconds(2);
constexpr Duration agent_end_limit = Duration::seconds(10);
constexpr Duration server_end_limit = Duration::seconds(20); // it writes a snapshot
constexpr std::uintmax_t disk_bytes_min = 1024 * 1024;       // below: full
constexpr Duration idle_wait = Duration::seconds(60);

/// A child that ends while it starts has said why; on a full disk it could not.
Error failed_start(const ChildEnd& end) {
    constexpr std::string_view prefix = "error: ";
    std::string why =
        end.last_line.starts_with(prefix) ? end.last_line.substr(prefix.size()) : end.last_line;
    std::error_code error;
    const auto space = fs::space(fs::path(end.log).parent_path(), error);
    if (why.empty() && !error && space.available < disk_bytes_min)
        return {Code::resource_exhausted,
                "the " + end.name + " " + end.how + " while it started: the disk of " + end.log +
                    " is full",
                "free some space, or take another directory with --state", ""};
    if (why.empty()) why = "it did not say why";
    return {Code::failed_precondition,
            "the " + end.name + " " + end.how + " while it started: " + why,
            "its whole log is " + end.log, ""};
}

enum class Waited { done, asked_to_end };

/// One cluster under this process.
class Cluster {
  public:
    Cluster(UpOptions options, io::UniqueFd signals)
        : options_(std::move(options)), signals_(std::move(signals)) {}

    /// Server and agents run and the nodes are in service, or why not.
    Result<Waited> bring_up();
    void tell_where(std::FILE* out) const;
    /// Keeps them running until a signal asks to end.
    void tend();
    /// Agents, jobs, server, in this order.
    void end();

  private:
    Result<Waited> start_server();
    Result<Waited> start_agents();
    Result<Waited> wait_until(const std::function<bool()>& is_so, Duration limit,
                              const std::function<Error()>& too_late);
    bool wait_for_events(Duration limit); // true: asked to end
    bool server_listens();
    std::int64_t nodes_in_service();
    std::string node_name(std::int64_t i) const { return "n" + std::to_string(i); }

    UpOptions options_;
    io::UniqueFd signals_;
    io::SystemClock clock_;
    Children children_;
    ClientFile client_;
    std::optional<http::HttpClient> http_;
};

Result<Waited> Cluster::bring_up() {
    auto server = start_server();
    if (!server || *server == Waited::asked_to_end) return server;
    return start_agents();
}

Result<Waited> Cluster::start_server() {
    // The server writes it once it listens; the one of an earlier start would mislead.
    const std::string file = options_.state + "/client.json";
    std::error_code error;
    fs::remove(file, error);
    if (error) return fail(io::errno_error(error.value(), "remove", file));
    ChildSpec spec{
        "server",
        {options_.program, "server", "--state", options_.state, "--listen", options_.listen},
        options_.state + "/server.log"};
    if (auto started = children_.start(spec); !started) return fail(started.error());
    auto waited = wait_until([this] { return server_listens(); }, server_limit,
                             [&] {
                                 return Error{Code::deadline_exceeded,
                                              "the server does not answer after " +
                                                  duration_for_people(server_limit),
                                              "look into " + spec.log, ""};
                             });
    if (!waited || *waited == Waited::asked_to_end) return waited;
    // Started again, it must be found in the same place.
    const auto host_end = client_.server.find("://");
    options_.listen =
        host_end == std::string::npos ? options_.listen : client_.server.substr(host_end + 3);
    spec.argv.back() = options_.listen;
    children_.change_arguments("server", spec.argv);
    return waited;
}

Result<Waited> Cluster::start_agents() {
    for (std::int64_t i = 1; i <= options_.nodes; ++i) {
        const std::string node = node_name(i);
        const std::string folder = options_.state + "/nodes/" + node;
        if (auto made = io::make_directories(folder, 0700); !made) return fail(made.error());
        ChildSpec spec{"agent " + node,
                       {options_.program, "agent", "--state", options_.state, "--server",
                        client_.server, "--token-file", options_.state + "/server/node.token",
                        "--node", node},
                       folder + "/agent.log"};
        if (options_.slots) {
            spec.argv.push_back("--slots");
            spec.argv.push_back(std::to_string(*options_.slots));
        }
        if (auto started = children_.start(spec); !started) return fail(started.error());
    }
    return wait_until([this] { return nodes_in_service() >= options_.nodes; }, nodes_limit,
                      [this] {
                          return Error{Code::deadline_exceeded,
                                       std::to_string(nodes_in_service()) + " of " +
                                           std::to_string(options_.nodes) +
                                           " nodes are in service after " +
                                           duration_for_people(nodes_limit),
                                       "look into " + options_.state + "/nodes/n*/agent.log", ""};
                      });
}

Result<Waited> Cluster::wait_until(const std::function<bool()>& is_so, Duration limit,
                                   const std::function<Error()>& too_late) {
    const Instant deadline = clock_.now() + limit;
    while (!is_so()) {
        if (clock_.now() >= deadline) return fail(too_late());
        if (wait_for_events(look_every)) return Waited::asked_to_end;
        for (const auto& end : children_.take_ends()) return fail(failed_start(end));
    }
    return Waited::done;
}

bool Cluster::wait_for_events(Duration limit) {
    auto polled = children_.descriptors();
    polled.push_back({signals_.get(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), static_cast<int>(limit.whole_millis()) + 1);
    return take_signal(signals_) != 0;
}

bool Cluster::server_listens() {
    const auto text = io::read_file(options_.state + "/client.json");
    if (!text) return false;
    auto file = codec::from_json<ClientFile>(*text, codec::UnknownKeys::ignore);
    if (!file) return false;
    auto client = http::HttpClient::make(file->server, file->token);
    if (!client) return false;
    const auto ready = client->request({.target = "/readyz", .deadline = ask_limit});
    if (!ready || ready->status != 200) return false;
    client_ = std::move(*file);
    http_ = std::move(*client);
    return true;
}

std::int64_t Cluster::nodes_in_service() {
    const auto answer = http_->request({.target = "/v1/nodes?limit=1000", .deadline = ask_limit});
    if (!answer || answer->status != 200) return 0;
    const auto page = codec::from_json<control::NodePage>(answer->body, codec::UnknownKeys::ignore);
    if (!page) return 0;
    std::int64_t count = 0;
    for (std::int64_t i = 1; i <= options_.nodes; ++i)
        count += std::ranges::any_of(page->items, [&](const NodeView& node) {
            return node.name.text == node_name(i) && node.contact == Contact::connected;
        });
    return count;
}

void Cluster::tell_where(std::FILE* out) const {
    const char* known = std::getenv("MUSTER_STATE");
    std::fprintf(out, "Muster is up: %lld node%s, server at %s\n",
                 static_cast<long long>(options_.nodes), options_.nodes == 1 ? "" : "s",
                 client_.server.c_str());
    std::fprintf(out, "State and logs: %s (server.log, nodes/n1/agent.log)\n\n",
                 options_.state.c_str());
    std::fprintf(out, "Next:\n");
    if (known == nullptr || options_.state != known)
        std::fprintf(out, "  export MUSTER_STATE=%s\n", options_.state.c_str());
    std::fprintf(out, "  muster nodes\n  muster run --ranks 2 train.py\n");
    std::fprintf(out, options_.detach ? "  muster down        ends the cluster and its jobs\n"
                                      : "Ctrl-C or `muster down` ends the cluster and its jobs.\n");
    std::fflush(out);
}

void Cluster::tend() {
    for (;;) {
        const Duration wait =
            std::clamp(children_.next_restart() - clock_.now(), Duration{}, idle_wait);
        if (wait_for_events(wait)) return;
        for (const auto& end : children_.take_ends())
            io::log_event("child_ended", {{"child", end.name},
                                          {"how", end.how},
                                          {"last_line", end.last_line},
                                          {"log", end.log}});
        if (const auto count = children_.restart_due(); count > 0)
            io::log_event("children_started_again", {{"count", std::to_string(count)}});
    }
}

void Cluster::end() {
    children_.stop("agent ", agent_end_limit);
    const auto ended = end_jobs(options_.state);
    if (ended.launchers > 0)
        std::fprintf(stderr, "ended the jobs: %lld launchers\n",
                     static_cast<long long>(ended.launchers));
    if (ended.leftover > 0)
        std::fprintf(stderr, "%lld processes survived SIGKILL: they wait inside the kernel\n",
                     static_cast<long long>(ended.leftover));
    children_.stop("server", server_end_limit);
}

/// `tell` is called once: with the cluster when it is up, or with the error that keeps it from it.
Status supervise(const UpOptions& options,
                 const std::function<void(const Cluster*, const Error*)>& tell) {
    const auto refuse = [&](Error error) -> Status {
        tell(nullptr, &error);
        return fail(std::move(error));
    };
    auto lock = lock_file(options.state + "/up.pid");
    if (!lock) return refuse(lock.error());
    if (!lock->fd)
        return refuse(
            {Code::failed_precondition,
             "a cluster runs on " + options.state + " already (process " + lock->owner + ")",
             "muster down ends it; --state takes another directory", ""});
    auto signals = watch_end_signals();
    if (!signals) return refuse(signals.error());
    Cluster cluster(options, std::move(*signals));
    const auto up = cluster.bring_up();
    if (!up) {
        cluster.end();
        return refuse(up.error());
    }
    if (*up == Waited::done) {
        tell(&cluster, nullptr);
        cluster.tend();
    }
    std::fprintf(stderr, "ending the cluster on %s\n", options.state.c_str());
    cluster.end();
    return ok();
}

/// The supervisor goes to the background; what it has to tell comes back through a pipe.
Status run_detached(const UpOptions& options) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(io::errno_error(errno, "make", "a pipe"));
    io::UniqueFd from_child(ends[0]);
    io::UniqueFd to_parent(ends[1]);
    const std::string log = options.state + "/up.log";
    const io::UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!output) return fail(io::errno_error(errno, "open", log));
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return fail(io::errno_error(errno, "start", "a background process"));
    if (child == 0) {
        from_child.reset();
        ::setsid();
        const io::UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        ::dup2(null.get(), STDIN_FILENO);
        ::dup2(output.get(), STDOUT_FILENO);
        ::dup2(output.get(), STDERR_FILENO);
        const auto status = supervise(options, [&](const Cluster* cluster, const Error* error) {
            std::FILE* out = ::fdopen(to_parent.release(), "w");
            if (out == nullptr) return;
            std::fputc(error == nullptr ? '+' : '-', out);
            if (cluster != nullptr) cluster->tell_where(out);
            if (error != nullptr) std::fputs(http::error_body(*error).c_str(), out);
            std::fclose(out);
        });
        if (!status) io::log_event("up_failed", {{"error", to_text(status.error())}});
        std::fflush(nullptr);
        ::_exit(status ? 0 : 1);
    }
    to_parent.reset();
    std::string told;
    char buffer[4096];
    // Bounded by the limits of bring_up() in the child.
    for (ssize_t got = 0; (got = ::read(from_child.get(), buffer, sizeof buffer)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        told.append(buffer, static_cast<std::size_t>(got));
    }
    if (told.starts_with('+')) {
        std::fwrite(told.data() + 1, 1, told.size() - 1, stdout);
        std::fflush(stdout);
        return ok();
    }
    if (told.starts_with('-'))
        return fail(http::error_of({.status = 500, .body = told.substr(1), .headers = {}}));
    return fail(Code::internal, "the background process ended before the cluster was up",
                "look into " + log);
}

Result<UpOptions> checked(UpOptions options) {
    if (options.nodes < 1 || options.nodes > nodes_max)
        return fail(Code::invalid_argument,
                    std::to_string(options.nodes) + " nodes are not possible",
                    "give 1 to " + std::to_string(nodes_max), "nodes");
    if (auto fine = check_slots(options.slots); !fine) return fail(fine.error());
    std::error_code error;
    options.state = fs::absolute(options.state, error).lexically_normal().string();
    if (options.program.empty()) {
        options.program = fs::read_symlink("/proc/self/exe", error).string();
        if (error) return fail(io::errno_error(error.value(), "read", "/proc/self/exe"));
    }
    if (auto made = io::make_directories(options.state, 0700); !made) return fail(made.error());
    return options;
}

} // namespace

Status run_up(const UpOptions& given) {
    auto options = checked(given);
    if (!options) return fail(options.error());
    if (options->detach) return run_detached(*options);
    return supervise(*options, [](const Cluster* cluster, const Error*) {
        if (cluster != nullptr) cluster->tell_where(stdout);
    });
}

} // namespace muster::app
