// A progress page as any process of the user may leave it: arbitrary bytes.

#include "io/page/progress_page.hpp"
#include "round_trip.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace muster;

/// Removed with the process; a name of its own for each.
const std::string& page_path() {
    static const std::string path = [] {
        const bool shared = ::access("/dev/shm", W_OK) == 0;
        return std::string(shared ? "/dev/shm" : "/tmp") + "/muster-fuzz-page-" +
               std::to_string(::getpid());
    }();
    return path;
}

void write_page(const std::uint8_t* data, std::size_t size) {
    const int fd = ::open(page_path().c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0, "the page is a file");
    while (size > 0) {
        const ssize_t written = ::write(fd, data, size);
        REQUIRE(written > 0, "the page takes what it has room for");
        data += written;
        size -= static_cast<std::size_t>(written);
    }
    ::close(fd);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t bytes_max = 4096; // above a page's size
    static io::SystemClock clock;
    auto page = io::ProgressPage::create(page_path(), 1);
    REQUIRE(page, "a page can be made");
    write_page(data, std::min(size, bytes_max));
    const auto progress = page->read(3, clock);
    if (!progress) return 0;
    REQUIRE(progress->local_rank == 3, "the rank is the launcher's word");
    REQUIRE(progress->step >= -1 && progress->total >= 0 && progress->samples >= 0,
            "counts are counts");
    REQUIRE(progress->step_at <= clock.now() && progress->first_step_at <= clock.now(),
            "nothing happened in the future");
    for (const auto& [phase, time] : progress->phases)
        REQUIRE(time >= Duration{}, "time only grows");
    static_cast<void>(fuzz::decoded<RankProgress>(codec::to_json(*progress, codec::Style::exact),
                                                  codec::UnknownKeys::refuse));
    return 0;
}
