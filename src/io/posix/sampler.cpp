#include "io/posix/sampler.hpp"

#include "io/posix/files.hpp"

#include <algorithm>
#include <sched.h>
#include <sstream>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace muster::io {
namespace {

constexpr std::size_t proc_bytes_max = 1024 * 1024;

/// Field 0 is the text before the colon; the numbers follow.
std::int64_t meminfo_bytes(const std::string& meminfo, const std::string& key) {
    std::istringstream lines(meminfo);
    std::string line;
    while (std::getline(lines, line)) {
        if (line.rfind(key + ":", 0) != 0) continue;
        std::istringstream words(line.substr(key.size() + 1));
        std::int64_t kib = 0;
        return words >> kib ? capped_product(std::max<std::int64_t>(kib, 0), 1024) : 0;
    }
    return 0;
}

struct CpuTicks {
    std::int64_t busy = 0;
    std::int64_t all = 0;
};

/// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guests are in user.
CpuTicks cpu_ticks(const std::string& stat) {
    std::istringstream words(stat);
    std::string name;
    CpuTicks ticks;
    if (!(words >> name) || name != "cpu") return ticks;
    std::int64_t value = 0;
    for (int field = 0; field < 8 && words >> value; ++field) {
        const bool idle = field == 3 || field == 4;
        value = std::max<std::int64_t>(value, 0);
        ticks.all = capped_sum(ticks.all, value);
        if (!idle) ticks.busy = capped_sum(ticks.busy, value);
    }
    return ticks;
}

/// "  eth0: received 7 more fields sent ...", all but the loopback.
void add_network(const std::string& net_dev, NodeSample& sample) {
    std::istringstream lines(net_dev);
    std::string line;
    while (std::getline(lines, line)) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto start = line.find_first_not_of(' ');
        if (line.substr(start, colon - start) == "lo") continue;
        std::istringstream words(line.substr(colon + 1));
        std::int64_t value = 0;
        for (int field = 0; field < 9 && words >> value; ++field) {
            value = std::max<std::int64_t>(value, 0);
            auto& bytes = field == 0 ? sample.network_received_bytes : sample.network_sent_bytes;
            if (field == 0 || field == 8) bytes = capped_sum(bytes, value);
        }
    }
}

std::string read_or_empty(const std::string& path) {
    auto text = read_file(path, proc_bytes_max);
    return text ? std::move(*text) : std::string{};
}

} // namespace

NodeSample Sampler::take(Instant now) {
    NodeSample sample;
    sample.at = now;
    const CpuTicks ticks = cpu_ticks(read_or_empty(options_.proc + "/stat"));
    const std::int64_t all = ticks.all - all_ticks_;
    const std::int64_t busy = ticks.busy - busy_ticks_;
    // Counters may step back when a CPU goes away: then there is no share to tell.
    if (all_ticks_ > 0 && all > 0 && busy >= 0 && busy <= all)
        sample.cpu_per_mille = capped_product(busy, 1000) / all;
    all_ticks_ = ticks.all;
    busy_ticks_ = ticks.busy;

    const std::string meminfo = read_or_empty(options_.proc + "/meminfo");
    sample.memory_used_bytes = std::max<std::int64_t>(
        meminfo_bytes(meminfo, "MemTotal") - meminfo_bytes(meminfo, "MemAvailable"), 0);
    struct statvfs disk{};
    if (::statvfs(options_.disk.c_str(), &disk) == 0 && disk.f_blocks > 0) {
        const auto used = static_cast<std::int64_t>(disk.f_blocks - disk.f_bfree);
        const auto usable = used + static_cast<std::int64_t>(disk.f_bavail);
        if (usable > 0) sample.disk_used_per_mille = used * 1000 / usable;
    }
    add_network(read_or_empty(options_.proc + "/net/dev"), sample);
    return sample;
}

std::int64_t memory_total_bytes(const std::string& proc) {
    return meminfo_bytes(read_or_empty(proc + "/meminfo"), "MemTotal");
}

std::int64_t usable_cpus() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    const unsigned count = std::thread::hardware_concurrency(); // more than a cpu_set_t holds
    return count > 0 ? count : 1;
}

std::string hostname() {
    char text[256] = {};
    return ::gethostname(text, sizeof text - 1) == 0 ? text : "";
}

std::string hostname_label(const std::string& hostname) {
    std::string label;
    for (char c : hostname.substr(0, hostname.find('.'))) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        label += fine ? c : '-';
    }
    label.erase(0, label.find_first_not_of('-'));
    label.resize(std::min(label.size(), name_length_max));
    label.erase(label.find_last_not_of('-') + 1);
    return label.empty() ? "node" : label;
}

Result<std::string> machine_boot_id(const std::string& proc) {
    auto text = read_file(proc + "/sys/kernel/random/boot_id", proc_bytes_max);
    if (!text) return fail(text.error());
    std::string id = text->substr(0, text->find_first_of(" \n"));
    if (id.empty())
        return fail(Code::internal, proc + "/sys/kernel/random/boot_id is empty",
                    "the agent needs /proc mounted");
    // A container keeps its host's boot id over a restart, but not the start of its first process.
    const std::string first = read_or_empty(proc + "/1/stat");
    const auto name_end = first.rfind(')');
    if (name_end == std::string::npos) return id;
    std::istringstream words(first.substr(name_end + 1));
    std::string word;
    for (int field = 3; field <= 22 && words >> word; ++field)
        if (field == 22) id += "." + word;
    return id;
}

} // namespace muster::io
