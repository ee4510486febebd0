// What /proc says, where other processes choose a part of the text: their name, environment, the
// path of their cgroup. The same bytes go to each parser.

#include "io/posix/files.hpp"
#include "io/posix/sampler.hpp"
#include "io/process/proc.hpp"
#include "round_trip.hpp"

#include <filesystem>
#include <unistd.h>

namespace {

using namespace muster;

/// A /proc of our own, where each file holds the same text.
class FakeProc {
  public:
    FakeProc() : folder_("/tmp/muster-fuzz-proc-" + std::to_string(::getpid())) {
        if (::access("/dev/shm", W_OK) == 0) folder_.replace(0, 4, "/dev/shm");
    }
    ~FakeProc() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    void fill(std::string_view text) const {
        for (const char* file :
             {"/stat", "/meminfo", "/net/dev", "/1/stat", "/sys/kernel/random/boot_id"}) {
            const std::string path = folder_ + file;
            REQUIRE(io::make_directories(path.substr(0, path.rfind('/')), 0700), "a folder");
            REQUIRE(io::write_file_atomically(path, text, 0600), "a file");
        }
    }
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    if (const auto stat = io::parse_proc_stat(text))
        REQUIRE(stat->pid > 0 && stat->parent >= 0, "a process has a number");
    for (const char* controller : {"", "freezer"})
        if (const auto path = io::cgroup_path_in(text, controller))
            REQUIRE(path->find('\n') == std::string::npos, "a path is of one line");
    static_cast<void>(io::environment_value_in(text, "MUSTER_ATTEMPT"));
    if (const auto mount = io::cgroup_mount(text, "freezer"))
        static_cast<void>(mount->folder_of(std::string(text)));
    static_cast<void>(io::hostname_label(std::string(text)));

    static const FakeProc proc;
    proc.fill(text);
    io::Sampler sampler({.proc = proc.folder()});
    const NodeSample first = sampler.take(Instant{1});
    REQUIRE(first.cpu_per_mille >= 0 && first.cpu_per_mille <= 1000, "a share");
    REQUIRE(first.memory_used_bytes >= 0 && first.network_sent_bytes >= 0, "amounts");
    REQUIRE(io::memory_total_bytes(proc.folder()) >= 0, "an amount");
    static_cast<void>(io::machine_boot_id(proc.folder()));
    return 0;
}
