#include "app/agent_launchers.hpp"

#include "codec/json.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/proc.hpp"
#include "io/process/reap.hpp"
#include "io/process/spawn.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;

namespace muster::app {
namespace {

constexpr const char* launch_file = "launch.json";
constexpr const char* result_file = "result.json";
constexpr const char* log_file = "launcher.log";
constexpr std::size_t result_bytes_max = 8 * 1024 * 1024;

/// Ours without secrets, and with the mark.
std::vector<std::string> launcher_environment(const std::string& attempt_dir) {
    std::vector<std::string> env;
    const std::string mark = std::string(attempt_dir_variable) + "=";
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (!text.starts_with("MUSTER_TOKEN=") && !text.starts_with(mark)) env.emplace_back(text);
    }
    env.push_back(mark + attempt_dir);
    return env;
}

/// The last words of a launcher that left no result.
std::string last_words(const std::string& attempt_dir) {
    const io::UniqueFd fd(::open((attempt_dir + "/" + log_file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    const off_t size = ::lseek(fd.get(), 0, SEEK_END);
    char text[launcher_words_max];
    const off_t from =
        size > static_cast<off_t>(sizeof text) ? size - static_cast<off_t>(sizeof text) : 0;
    const ssize_t got = ::pread(fd.get(), text, sizeof text, from);
    if (got <= 0) return {};
    std::string words(text, static_cast<std::size_t>(got));
    words.erase(words.find_last_not_of(" \n") + 1);
    return words;
}

std::string how_it_ended(const io::ProcessExit& exit) {
    if (exit.signal != 0) return "killed by signal " + std::to_string(exit.signal);
    if (exit.exit_code != 0) return "ended with exit code " + std::to_string(exit.exit_code);
    return {};
}

/// Killed from outside, it had no time to say why.
bool has_last_words(const std::optional<io::ProcessExit>& exit) {
    return exit && exit->signal != SIGKILL && exit->signal != SIGTERM;
}

/// Processes whose environment names the folder. Only a launcher that has no pid file yet is found
/// by this alone; its ranks are in its group.
std::vector<pid_t> marked_processes(const std::string& attempt_dir) {
    std::vector<pid_t> marked;
    for (const auto& process : io::all_processes()) {
        if (process.dead() || process.pid == ::getpid()) continue;
        if (io::read_proc_environment(process.pid, attempt_dir_variable) == attempt_dir)
            marked.push_back(process.pid);
    }
    return marked;
}

} // namespace

std::int64_t clear_attempt(const std::string& attempt_dir, Duration limit) {
    const auto is_marked = [&](pid_t pid) {
        return io::read_proc_environment(pid, attempt_dir_variable) == attempt_dir;
    };
    for (const pid_t pid : marked_processes(attempt_dir)) {
        const io::UniqueFd pidfd = io::open_pidfd(pid);
        if (!pidfd || !is_marked(pid)) continue;
        ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
        pollfd wait{pidfd.get(), POLLIN, 0};
        ::poll(&wait, 1, static_cast<int>(limit.whole_millis()));
    }
    const auto left = io::clear_group(attempt_dir, limit);
    for (const auto& process : left)
        io::log_event("process_left", {{"attempt_dir", attempt_dir},
                                       {"pid", std::to_string(process.pid)},
                                       {"name", process.name},
                                       {"state", std::string(1, process.state)}});
    if (!left.empty()) return static_cast<std::int64_t>(left.size());
    return static_cast<std::int64_t>(marked_processes(attempt_dir).size());
}

Result<agent::LauncherStarted> Launchers::try_start(const agent::StartLauncher& command,
                                                    const InstallationId& installation) {
    const AttemptKey key{command.order.workload, command.order.attempt};
    const std::string folder = dir_.attempt_dir(key);
    if (auto made = io::make_directories(folder, 0700); !made) return fail(made.error());
    LaunchFile file = context_.file;
    file.installation = installation;
    file.incarnation = command.incarnation;
    file.order = command.order;
    if (auto written = io::write_file_atomically(folder + "/" + launch_file,
                                                 codec::to_json(file, codec::Style::exact), 0600);
        !written)
        return fail(written.error());
    const std::string log = folder + "/" + log_file;
    const io::UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!output) return fail(io::errno_error(errno, "open", log));

    io::SpawnSpec spec;
    spec.argv = {context_.program, "launch", "--attempt-dir", folder};
    spec.env = launcher_environment(folder);
    spec.cwd = folder;
    spec.stdout_fd = output.get();
    spec.stderr_fd = output.get();
    auto process = io::spawn(spec);
    if (!process) return fail(process.error());
    // The launcher writes the same; until it does, an agent started meanwhile must find it.
    const std::string pid_text =
        std::to_string(process->pid) + " " + std::to_string(process->start_ticks) + "\n";
    (void)io::write_file_atomically(folder + "/" + io::launcher_pid_file, pid_text);
    running_[key] = {std::move(process->pidfd), true};
    return agent::LauncherStarted{key, process->pid, process->start_ticks, {}};
}

agent::LauncherStarted Launchers::start(const agent::StartLauncher& command,
                                        const InstallationId& installation) {
    auto started = try_start(command, installation);
    if (started) return *started;
    const AttemptKey key{command.order.workload, command.order.attempt};
    return agent::LauncherStarted{key, 0, 0, "could not be started: " + to_text(started.error())};
}

agent::AgentEvent Launchers::adopt(const agent::AdoptLauncher& command) {
    io::LauncherPid launcher{static_cast<pid_t>(command.pid), command.start_ticks};
    if (command.pid == 0) {
        auto read = io::read_launcher_pid(dir_.attempt_dir(command.key));
        if (!read) return gone(command.key, "the agent ended before it had started it", false);
        launcher = *read;
    }
    // The pidfd first: it stays with this process if the pid is reused between the two looks.
    io::UniqueFd pidfd = io::open_pidfd(launcher.pid);
    if (!pidfd || !io::alive(launcher))
        return gone(command.key, "ended while no agent watched it", false);
    running_[command.key] = {std::move(pidfd), false};
    return agent::LauncherStarted{command.key, launcher.pid, launcher.start_ticks, {}};
}

void Launchers::ask_to_leave(const AttemptKey& key) {
    const auto at = running_.find(key);
    if (at == running_.end()) return;
    ::syscall(SYS_pidfd_send_signal, at->second.pidfd.get(), SIGTERM, nullptr, 0);
    // One that was stopped could not take it.
    ::syscall(SYS_pidfd_send_signal, at->second.pidfd.get(), SIGCONT, nullptr, 0);
}

void Launchers::clear(const AttemptKey& key) {
    clearing_.add([key, folder = dir_.attempt_dir(key), post = context_.post] {
        post(agent::GroupCleared{key, clear_attempt(folder, clear_limit)});
    });
}

std::vector<Launchers::Watched> Launchers::watched() const {
    std::vector<Watched> list;
    for (const auto& [key, running] : running_) list.push_back({key, running.pidfd.get()});
    return list;
}

std::optional<agent::LauncherGone> Launchers::take_end(const AttemptKey& key) {
    const auto at = running_.find(key);
    if (at == running_.end()) return std::nullopt;
    pollfd look{at->second.pidfd.get(), POLLIN, 0};
    if (::poll(&look, 1, 0) != 1) return std::nullopt;
    std::optional<io::ProcessExit> exit;
    if (at->second.child) exit = io::reap(at->second.pidfd.get(), Duration{});
    std::string error = exit ? how_it_ended(*exit) : "ended without a result";
    running_.erase(at);
    return gone(key, std::move(error), has_last_words(exit));
}

agent::LauncherGone Launchers::gone(const AttemptKey& key, std::string error,
                                    bool with_last_words) const {
    const std::string folder = dir_.attempt_dir(key);
    const auto text = io::read_file(folder + "/" + result_file, result_bytes_max);
    if (text) {
        auto result = codec::from_json<LauncherResult>(*text, codec::UnknownKeys::ignore);
        if (result) return {key, std::move(*result), {}};
        error = "its result cannot be read: " + result.error().message;
    } else if (with_last_words) {
        const auto words = last_words(folder);
        if (error.empty()) error = "ended without a result";
        if (!words.empty()) error += "; its last words: " + words;
    }
    return {key, std::nullopt, std::move(error)};
}

} // namespace muster::app
