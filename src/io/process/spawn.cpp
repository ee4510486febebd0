#include "io/process/spawn.hpp"

#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"
#include "io/process/reap.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::io {
namespace {

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";
constexpr Duration failed_child_limit = Duration::seconds(5);

enum class Stage : int { group, session, folder, output, execute };

/// What the child writes when it cannot go on; nothing arrives when the exec succeeded.
struct ChildFailure {
    Stage stage = Stage::execute;
    int error = 0;
    int candidate = 0;
};

/// Everything the child needs, made before the clone: it may call only async-signal-safe functions.
struct ChildPlan {
    std::vector<std::string> programs; // paths to try in turn
    std::vector<char*> argv;
    std::vector<char*> env;
    const char* cwd = nullptr;
    int in = -1;
    int out = -1;
    int err = -1;
    int status = -1;
    int procs = -1; // cgroup v1
    pid_t parent = 0;
    bool die_with_parent = false;
};

[[noreturn]] void give_up(const ChildPlan& plan, Stage stage, int error, int candidate = 0) {
    const ChildFailure failure{stage, error, candidate};
    (void)!::write(plan.status, &failure, sizeof failure);
    ::_exit(127);
}

void reset_signals() {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void write_neutral_oom_score() {
    const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!::write(fd, "0", 1);
    ::close(fd);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
    if (plan.procs >= 0 && ::write(plan.procs, "0", 1) != 1) give_up(plan, Stage::group, errno);
    if (::setsid() < 0) give_up(plan, Stage::session, errno);
    if (plan.die_with_parent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != plan.parent) ::_exit(127); // it died before the line above
    }
    reset_signals();
    write_neutral_oom_score();
    // The three may overlap with 0 to 2: lift them out of the way first.
    const int in = ::fcntl(plan.in, F_DUPFD_CLOEXEC, 3);
    const int out = ::fcntl(plan.out, F_DUPFD_CLOEXEC, 3);
    const int err = ::fcntl(plan.err, F_DUPFD_CLOEXEC, 3);
    if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0)
        give_up(plan, Stage::output, errno);
    if (::chdir(plan.cwd) != 0) give_up(plan, Stage::folder, errno);
    ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC); // the exec closes all, status too

    int refused = 0;
    int refused_at = 0;
    for (std::size_t i = 0; i < plan.programs.size(); ++i) {
        ::execve(plan.programs[i].c_str(), plan.argv.data(), plan.env.data());
        // Like execvp: go on where it is not here; a refusal is told if nothing else is found.
        if (errno == EACCES && refused == 0) {
            refused = errno;
            refused_at = static_cast<int>(i);
        } else if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
            give_up(plan, Stage::execute, errno, static_cast<int>(i));
        }
    }
    if (refused != 0) give_up(plan, Stage::execute, refused, refused_at);
    give_up(plan, Stage::execute, ENOENT, 0);
}

std::vector<std::string> candidates(const SpawnSpec& spec) {
    const std::string& name = spec.argv[0];
    if (name.find('/') != std::string::npos) return {name};
    std::string path = default_path;
    for (const auto& entry : spec.env)
        if (entry.starts_with("PATH=")) path = entry.substr(5);
    std::vector<std::string> programs;
    for (std::size_t at = 0; at <= path.size();) {
        auto end = path.find(':', at);
        if (end == std::string::npos) end = path.size();
        const std::string folder = path.substr(at, end - at);
        programs.push_back((folder.empty() ? "." : folder) + "/" + name);
        at = end + 1;
    }
    return programs;
}

std::string first_line_interpreter(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[256] = {};
    const ssize_t got = fd ? ::read(fd.get(), text, sizeof text - 1) : 0;
    if (got < 3 || text[0] != '#' || text[1] != '!') return {};
    std::string line(text + 2, static_cast<std::size_t>(got - 2));
    line = line.substr(0, line.find('\n'));
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

Error explain_execute(const SpawnSpec& spec, const std::string& program, int error) {
    const std::string& name = spec.argv[0];
    const std::string path =
        program.starts_with('/') ? program : spec.cwd + "/" + program; // as the child saw it
    struct stat info{};
    const bool there = ::stat(path.c_str(), &info) == 0;
    const std::string head = "cannot execute " + name + ": ";
    if (error == ENOENT && there) {
        const auto interpreter = first_line_interpreter(path);
        return {Code::not_found,
                head + "its interpreter " + (interpreter.empty() ? "" : interpreter + " ") +
                    "does not exist",
                "install the interpreter or correct the first line (#!) of the script", "command"};
    }
    if (error == ENOENT && name.find('/') == std::string::npos)
        return {Code::not_found, head + "no such program in PATH",
                "check the spelling, install it, or give its whole path", "command"};
    if (error == ENOENT)
        return {Code::not_found, head + errno_text(ENOENT),
                "check the path; a relative one starts at the working directory " + spec.cwd,
                "command"};
    if (error == EACCES && there && S_ISDIR(info.st_mode))
        return {Code::permission_denied, head + "it is a folder", "name the program in it",
                "command"};
    if (error == EACCES)
        return {Code::permission_denied, head + errno_text(EACCES),
                "make it executable (chmod +x), or put its interpreter before it", "command"};
    if (error == ENOEXEC)
        return {Code::invalid_argument,
                head +
                    "it is neither a program for this machine nor a script with a first line (#!)",
                "put the interpreter before it: python3 " + name, "command"};
    if (error == E2BIG)
        return {Code::invalid_argument, head + "arguments and environment are too long",
                "pass long values in a file", "command"};
    Error other = errno_error(error, "execute", name);
    other.field = "command";
    return other;
}

Error explain_failure(const SpawnSpec& spec, const ChildPlan& plan, const ChildFailure& failure) {
    switch (failure.stage) {
    case Stage::group:
        return errno_error(failure.error, "enter the group", spec.group->address().path);
    case Stage::session: return errno_error(failure.error, "open a session for", spec.argv[0]);
    case Stage::output: return errno_error(failure.error, "set up the output of", spec.argv[0]);
    case Stage::folder: {
        Error error = errno_error(failure.error, "enter the working directory", spec.cwd);
        error.hint = "it must be there on every node, with the same path";
        error.field = "workdir";
        return error;
    }
    case Stage::execute: break;
    }
    return explain_execute(spec, plan.programs[static_cast<std::size_t>(failure.candidate)],
                           failure.error);
}

Error explain_hang(const SpawnSpec& spec) {
    return {Code::deadline_exceeded,
            "cannot start " + spec.argv[0] + ": it was not running within " +
                std::to_string(spec.limit.ns / Duration::seconds(1).ns) + " s",
            "check that the file systems of the program and of the working directory " + spec.cwd +
                " answer on this node (a dead network mount?)",
            "workdir"};
}

/// The other end writes, or closes as the exec does.
bool readable_within(int fd, Duration limit) {
    const Deadline deadline(limit);
    for (;;) {
        pollfd waiter{fd, POLLIN, 0};
        const int ready = ::poll(&waiter, 1, deadline.left_ms());
        if (ready > 0) return true;
        if (ready == 0 && deadline.over()) return false;
        if (ready < 0 && errno != EINTR) return true; // the read tells what is wrong
    }
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (auto& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// clone3 as fork does it, straight into the cgroup, with a pidfd. Returns like fork.
pid_t clone_child(int& pidfd, int cgroup) {
    clone_args args{};
    args.flags = CLONE_PIDFD;
    args.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

} // namespace

Result<SpawnedProcess> spawn(const SpawnSpec& spec) {
    if (spec.argv.empty() || spec.argv[0].empty())
        return fail(Code::invalid_argument, "there is no program to start", "give a command",
                    "command");
    std::vector<std::string> argv = spec.argv;
    std::vector<std::string> env = spec.env;
    if (spec.group != nullptr) {
        const std::string prefix = std::string(group_mark_variable) + "=";
        std::erase_if(env, [&](const std::string& entry) { return entry.starts_with(prefix); });
        env.push_back(prefix + spec.group->address().mark);
    }
    ProcessGroup::Entry entry;
    if (spec.group != nullptr) {
        auto opened = spec.group->entry();
        if (!opened) return fail(opened.error());
        entry = std::move(*opened);
    }
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    int ends[2] = {-1, -1};
    if (!null || ::pipe2(ends, O_CLOEXEC) != 0)
        return fail(errno_error(errno, "start", spec.argv[0]));
    const UniqueFd status_read(ends[0]);
    UniqueFd status_write(ends[1]);

    ChildPlan plan;
    plan.programs = candidates(spec);
    plan.argv = pointers(argv);
    plan.env = pointers(env);
    plan.cwd = spec.cwd.c_str();
    plan.in = null.get();
    plan.out = spec.stdout_fd >= 0 ? spec.stdout_fd : null.get();
    plan.err = spec.stderr_fd >= 0 ? spec.stderr_fd : null.get();
    plan.status = status_write.get();
    plan.procs = entry.procs.get();
    plan.parent = ::getpid();
    plan.die_with_parent = spec.die_with_parent;

    // No handler of ours may run in the child before it has reset them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    int pidfd = -1;
    const pid_t pid = clone_child(pidfd, entry.clone_into.get());
    if (pid == 0) run_child(plan);
    const int clone_error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return fail(errno_error(clone_error, "make a process for", spec.argv[0]));

    SpawnedProcess child{pid, UniqueFd(pidfd), 0};
    status_write.reset();
    if (!readable_within(status_read.get(), spec.limit)) {
        ::kill(pid, SIGKILL); // not reaped yet: the pid is still its
        (void)reap(child.pidfd.get(), Duration{});
        return fail(explain_hang(spec));
    }
    ChildFailure failure;
    ssize_t got = 0;
    do got = ::read(status_read.get(), &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof failure)) {
        (void)reap(child.pidfd.get(), failed_child_limit);
        return fail(explain_failure(spec, plan, failure));
    }
    if (const auto stat = read_proc_stat(pid)) child.start_ticks = stat->start_ticks;
    return child;
}

} // namespace muster::io
