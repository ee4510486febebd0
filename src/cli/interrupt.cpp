#include "cli/interrupt.hpp"

#include <thread>

namespace muster::cli {
namespace {

int done_signal() { return SIGRTMIN; }

} // namespace

Interrupt::Interrupt() : owner_(pthread_self()) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGHUP);
    sigaddset(&signals_, done_signal());
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interrupt::~Interrupt() {
    // What is still pending would act as soon as it is let through.
    sigset_t pending{};
    const timespec at_once{};
    while (sigpending(&pending) == 0 && sigismember(&pending, done_signal()) == 1 &&
           sigtimedwait(&signals_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Interrupt::wait() {
    while (true) {
        const int signal = sigwaitinfo(&signals_, nullptr);
        if (signal == done_signal() || (signal < 0 && done_)) return 0;
        if (signal <= 0) continue;
        sigset_t again = signals_;
        sigdelset(&again, done_signal());
        pthread_sigmask(SIG_UNBLOCK, &again, nullptr);
        return signal;
    }
}

void Interrupt::done() {
    if (!done_.exchange(true)) pthread_kill(owner_, done_signal());
}

int until_interrupted(const std::function<void()>& work, const std::function<void()>& cancel) {
    Interrupt interrupt;
    std::jthread thread([&] {
        work();
        interrupt.done();
    });
    const int signal = interrupt.wait();
    if (signal != 0) {
        cancel();
    }
    thread.join();
    return signal;
}

} // namespace muster::cli
