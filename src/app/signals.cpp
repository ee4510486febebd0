#include "app/signals.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>

namespace muster::app {

Result<io::UniqueFd> watch_end_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    io::UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return fail(io::errno_error(errno, "watch for", "signals"));
    return fd;
}

int take_signal(const io::UniqueFd& signals) {
    signalfd_siginfo info{};
    const ssize_t got = ::read(signals.get(), &info, sizeof info);
    return got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

} // namespace muster::app
