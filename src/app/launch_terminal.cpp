#include "app/launch_terminal.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace muster::app {
namespace {

constexpr std::string_view stand_out = "\x1b[1;31m";
constexpr std::string_view plain = "\x1b[0m";

bool color_wanted() {
    const char* no_color = std::getenv("NO_COLOR");
    return ::isatty(STDERR_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(fd, text.data(), text.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) {
            pollfd waiter{fd, POLLOUT, 0};
            ::poll(&waiter, 1, 1000);
            continue;
        }
        if (wrote <= 0) return; // nobody reads any more
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
}

} // namespace

LaunchTerminal::LaunchTerminal() : color_(color_wanted()), thread_([this] { run(); }) {}

LaunchTerminal::~LaunchTerminal() { finish(EXIT_FAILURE); }

void LaunchTerminal::finish(int exit_code) {
    if (!thread_.joinable()) return;
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    const bool done = changed_.wait_for(lock, std::chrono::nanoseconds(farewell_limit.ns),
                                        [&] { return idle_ && out_.empty() && err_.empty(); });
    lock.unlock();
    // A thread inside a blocked write cannot be joined.
    if (done)
        thread_.join();
    else
        ::_exit(exit_code);
}

void LaunchTerminal::rank_line(std::int64_t rank, bool to_stderr, std::string_view line,
                               bool first_error) {
    std::string text = "[" + std::to_string(rank) + (first_error && !color_ ? "!] " : "] ");
    if (first_error && color_) text += stand_out;
    text.append(line);
    if (first_error && color_) text += plain;
    push(std::move(text), to_stderr);
}

void LaunchTerminal::say(std::string_view line) { push("muster: " + std::string(line), true); }

void LaunchTerminal::push(std::string line, bool to_stderr) {
    line += '\n';
    const std::lock_guard lock(mutex_);
    if (out_.size() + err_.size() + line.size() > queue_bytes_max) {
        ++dropped_;
        return;
    }
    (to_stderr ? err_ : out_) += line;
    changed_.notify_all();
}

void LaunchTerminal::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stopping_ || !out_.empty() || !err_.empty(); });
        if (out_.empty() && err_.empty()) return; // stopping
        const std::string out = std::exchange(out_, {});
        std::string err = std::exchange(err_, {});
        if (const auto dropped = std::exchange(dropped_, 0); dropped > 0)
            err += "muster: " + std::to_string(dropped) +
                   " lines not shown: they came faster than they were read\n";
        idle_ = false;
        lock.unlock();
        write_all(STDOUT_FILENO, out);
        write_all(STDERR_FILENO, err);
        lock.lock();
        idle_ = true;
        changed_.notify_all();
    }
}

} // namespace muster::app
