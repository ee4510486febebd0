#include "app/launch_guard.hpp"

#include "io/page/page_folder.hpp"
#include "io/posix/log.hpp"
#include "io/process/clear_group.hpp"
#include "io/process/proc.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr Duration clear_limit = Duration::seconds(60); // then the guard gives up and says so
constexpr Duration farewell_limit = Duration::seconds(2);
constexpr std::string_view pages_line = "pages ";
constexpr std::string_view done_line = "done\n";

/// All that the launcher wrote until it ended.
std::string read_to_the_end(int fd) {
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

void become_a_guard(int pipe) {
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU, SIGPIPE})
        ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "muster-guard");
    (void)!::chdir("/");
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(pipe, STDERR_FILENO + 1);
    ::syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
}

[[noreturn]] void guard(int pipe) {
    become_a_guard(pipe);
    const std::string text = read_to_the_end(STDERR_FILENO + 1);
    const auto pages = text.find(pages_line);
    if (text.ends_with(done_line) || pages == std::string::npos) ::_exit(EXIT_SUCCESS);
    const auto group = io::group_from_text(text.substr(0, pages), "the launcher's word");
    if (!group) ::_exit(EXIT_FAILURE);
    const auto ended = io::open_group(*group);
    const auto members = ended->members().size();
    const auto left = ended->kill_and_verify(clear_limit);
    if (left.empty()) (void)ended->remove();
    const auto folder = pages + pages_line.size();
    io::remove_pages(text.substr(folder, text.find('\n', folder) - folder));
    io::log_event("launcher_was_killed", {{"processes_ended", std::to_string(members)},
                                          {"processes_left", std::to_string(left.size())}});
    ::_exit(EXIT_SUCCESS);
}

} // namespace

LaunchGuard::LaunchGuard() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    const io::UniqueFd read_end(ends[0]);
    io::UniqueFd write_end(ends[1]);
    const pid_t pid = ::fork();
    if (pid == 0) {
        write_end.reset();
        guard(read_end.get());
    }
    if (pid < 0) return;
    process_ = io::open_pidfd(pid);
    pipe_ = std::move(write_end);
}

void LaunchGuard::watch(const io::GroupAddress& group, const std::string& pages) {
    if (!pipe_) return;
    const std::string text =
        io::group_text(group) + std::string(pages_line) + pages + '\n'; // less than PIPE_BUF
    (void)!::write(pipe_.get(), text.data(), text.size());
}

void LaunchGuard::dismiss() {
    if (!pipe_) return;
    (void)!::write(pipe_.get(), done_line.data(), done_line.size());
    pipe_.reset();
    pollfd look{process_.get(), POLLIN, 0};
    if (process_) ::poll(&look, 1, static_cast<int>(farewell_limit.whole_millis()));
}

} // namespace muster::app
