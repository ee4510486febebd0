#pragma once
// Sampler: load of this machine from /proc. Cheap enough for a beat: a few small reads, no
// processes.

#include "model/node.hpp"

#include <cstdint>
#include <string>

namespace muster::io {

struct SamplerOptions {
    std::string proc = "/proc"; // a folder of fixtures in tests
    std::string disk = "/";     // the file system whose use is told
};

/// Life: as long as its agent: the CPU's share is taken between two calls. What cannot be read is
/// zero. Used by one thread.
class Sampler {
  public:
    explicit Sampler(SamplerOptions options) : options_(std::move(options)) {}
    NodeSample take(Instant now);

  private:
    SamplerOptions options_;
    std::int64_t busy_ticks_ = 0;
    std::int64_t all_ticks_ = 0;
};

/// MemTotal of /proc/meminfo, 0 where it cannot be read.
std::int64_t memory_total_bytes(const std::string& proc = "/proc");
/// CPUs that this process may use.
std::int64_t usable_cpus();
/// The machine's name as a DNS label: "node" where nothing is left of it.
std::string hostname_label(const std::string& hostname);
std::string hostname();
/// Names this boot of the machine (of the container: its first process counts too).
Result<std::string> machine_boot_id(const std::string& proc = "/proc");

} // namespace muster::io
