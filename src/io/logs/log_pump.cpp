#include "io/logs/log_pump.hpp"

#include "base/require.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <vector>

namespace muster::io {
namespace {

constexpr std::size_t read_bytes = 256 * 1024;
constexpr std::size_t turn_bytes = 1024 * 1024;      // of one pipe before the next has its turn
constexpr std::size_t drain_bytes = 8 * 1024 * 1024; // a left-over process may print for ever
constexpr int tick_ms = 1000;
constexpr int pipe_bytes = 1024 * 1024; // lets a rank print on while the launcher is busy

} // namespace

LogPump::LogPump(runtime::Clock& clock)
    : clock_(clock), epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
    REQUIRE(epoll_ && stop_, "no descriptors for the log pump");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = stop_.get();
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
    thread_ = std::thread([this] { run(); });
}

LogPump::~LogPump() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
}

void LogPump::watch(RankLog& log, Pipes pipes) {
    const std::lock_guard lock(mutex_);
    for (auto* end : {&pipes.out, &pipes.err}) {
        if (!*end) continue;
        const int fd = end->get();
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
        ::fcntl(fd, F_SETPIPE_SZ, pipe_bytes);
        auto source = std::make_shared<Source>();
        source->stream = end == &pipes.out ? LogStream::out : LogStream::err;
        source->fd = std::move(*end);
        source->log = &log;
        sources_[fd] = std::move(source);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }
}

OutputEnd LogPump::drain(RankLog& log) {
    std::vector<std::shared_ptr<Source>> mine;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [fd, source] : sources_)
            if (source->log == &log) mine.push_back(source);
    }
    for (const auto& source : mine) read_some(*source, drain_bytes);
    return log.end(clock_.now());
}

bool LogPump::read_some(Source& source, std::size_t bytes_max) {
    const std::lock_guard lock(source.mutex);
    std::vector<char> buffer(read_bytes);
    for (std::size_t done = 0; done < bytes_max;) {
        const ssize_t got = ::read(source.fd.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN;
        if (got == 0) return false;
        source.log->feed(source.stream, {buffer.data(), static_cast<std::size_t>(got)},
                         clock_.now());
        done += static_cast<std::size_t>(got);
    }
    return true;
}

void LogPump::run() {
    std::array<epoll_event, 64> events;
    Instant ticked = clock_.now();
    for (;;) {
        const int count =
            ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), tick_ms);
        for (int i = 0; i < count; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == stop_.get()) return;
            std::shared_ptr<Source> source;
            {
                const std::lock_guard lock(mutex_);
                if (const auto found = sources_.find(fd); found != sources_.end())
                    source = found->second;
            }
            if (!source || read_some(*source, turn_bytes)) continue;
            const std::lock_guard lock(mutex_);
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
            sources_.erase(fd);
        }
        const Instant now = clock_.now();
        if (now - ticked < Duration::millis(tick_ms)) continue;
        ticked = now;
        std::set<RankLog*> logs;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& [fd, source] : sources_) logs.insert(source->log);
        }
        for (RankLog* log : logs) log->tick(now);
    }
}

} // namespace muster::io
