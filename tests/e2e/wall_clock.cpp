// Preloaded by clock_test.py: a process's wall clock is off by as many seconds as the file says
// that TEST_WALL_CLOCK names. The machine's own clock is never set.

#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

time_t seconds_off() {
    const char* path = std::getenv("TEST_WALL_CLOCK");
    const int fd = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[32] = {};
    const ssize_t got = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    return got > 0 ? std::strtol(text, nullptr, 10) : 0;
}

} // namespace

extern "C" int clock_gettime(clockid_t id, timespec* out) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, id, out));
    if (result == 0 && id == CLOCK_REALTIME) out->tv_sec += seconds_off();
    return result;
}
