#include "app/children.hpp"

#include "io/posix/files.hpp"
#include "io/process/spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;

namespace muster::app {
namespace {

constexpr std::size_t last_bytes_max = 4'096;
constexpr Duration killed_limit = Duration::seconds(5); // from SIGKILL to the end

void send(const io::UniqueFd& pidfd, int signal) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

std::string last_line_of(const std::string& file, std::int64_t from) {
    const io::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return {};
    const std::int64_t size = ::lseek(fd.get(), 0, SEEK_END);
    from = std::max(from, size - static_cast<std::int64_t>(last_bytes_max));
    std::string text(last_bytes_max, '\0');
    const ssize_t got = ::pread(fd.get(), text.data(), text.size(), from);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    text.erase(text.find_last_not_of(" \n") + 1);
    const auto start = text.rfind('\n');
    return start == std::string::npos ? text : text.substr(start + 1);
}

std::string how_it_ended(const std::optional<io::ProcessExit>& exit) {
    if (!exit) return "ended";
    if (exit->signal != 0) return "was killed by signal " + std::to_string(exit->signal);
    return "ended with exit code " + std::to_string(exit->exit_code);
}

} // namespace

Status Children::start(ChildSpec spec) {
    Child child;
    child.spec = std::move(spec);
    if (auto launched = launch(child); !launched) return launched;
    const std::string name = child.spec.name;
    children_[name] = std::move(child);
    return ok();
}

void Children::change_arguments(const std::string& name, std::vector<std::string> argv) {
    const auto at = children_.find(name);
    if (at != children_.end()) at->second.spec.argv = std::move(argv);
}

Status Children::launch(Child& child) {
    const std::string& log = child.spec.log;
    io::UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!output) return fail(io::errno_error(errno, "open", log));
    child.log_from = ::lseek(output.get(), 0, SEEK_END);
    if (child.log_from > child_log_bytes_max &&
        std::rename(log.c_str(), (log + ".old").c_str()) == 0) {
        output = io::UniqueFd(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        if (!output) return fail(io::errno_error(errno, "open", log));
        child.log_from = 0;
    }
    io::SpawnSpec spec;
    spec.argv = child.spec.argv;
    for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
    spec.cwd = "/";
    spec.stdout_fd = output.get();
    spec.stderr_fd = output.get();
    spec.die_with_parent = true;
    auto process = io::spawn(spec);
    if (!process) return fail(process.error());
    child.pidfd = std::move(process->pidfd);
    child.started_at = clock_.now();
    child.restart_at = Instant::never();
    return ok();
}

std::vector<pollfd> Children::descriptors() const {
    std::vector<pollfd> list;
    for (const auto& [name, child] : children_)
        if (child.pidfd) list.push_back({child.pidfd.get(), POLLIN, 0});
    return list;
}

std::vector<ChildEnd> Children::take_ends() {
    std::vector<ChildEnd> ends;
    for (auto& [name, child] : children_) {
        if (!child.pidfd) continue;
        const auto exit = io::reap(child.pidfd.get(), Duration{});
        if (!exit) continue;
        ends.push_back(end_of(child, exit));
        child.pidfd.reset();
        const Instant now = clock_.now();
        const bool settled = now - child.started_at >= settled_after;
        child.delay = settled || child.delay == Duration{} ? restart_first
                                                           : std::min(child.delay * 2, restart_max);
        child.restart_at = now + child.delay;
    }
    return ends;
}

ChildEnd Children::end_of(Child& child, const std::optional<io::ProcessExit>& exit) const {
    return {child.spec.name, how_it_ended(exit), last_line_of(child.spec.log, child.log_from),
            child.spec.log};
}

std::size_t Children::restart_due() {
    std::size_t count = 0;
    const Instant now = clock_.now();
    for (auto& [name, child] : children_) {
        if (child.pidfd || now < child.restart_at) continue;
        if (launch(child)) {
            ++count;
        } else {
            child.delay = restart_max;
            child.restart_at = now + child.delay;
        }
    }
    return count;
}

Instant Children::next_restart() const {
    Instant next = Instant::never();
    for (const auto& [name, child] : children_)
        if (!child.pidfd) next = std::min(next, child.restart_at);
    return next;
}

void Children::stop(const std::string& prefix, Duration limit) {
    const auto matches = [&](const Child& child) { return child.spec.name.starts_with(prefix); };
    for (auto& [name, child] : children_)
        if (matches(child) && child.pidfd) send(child.pidfd, SIGTERM);
    const Instant deadline = clock_.now() + limit;
    for (auto& [name, child] : children_) {
        if (!matches(child) || !child.pidfd) continue;
        const Duration left = std::max(deadline - clock_.now(), Duration{});
        if (!io::reap(child.pidfd.get(), left)) {
            send(child.pidfd, SIGKILL);
            (void)io::reap(child.pidfd.get(), killed_limit);
        }
    }
    std::erase_if(children_, [&](const auto& item) { return matches(item.second); });
}

bool Children::runs(const std::string& name) const {
    const auto at = children_.find(name);
    return at != children_.end() && at->second.pidfd;
}

} // namespace muster::app
