#include "model/workload.hpp"

namespace muster {

std::int64_t total_ranks(const WorkloadSpec& spec) {
    std::int64_t sum = 0;
    for (const auto& role : spec.roles) sum += role.ranks;
    return sum;
}

std::int64_t total_devices(const WorkloadSpec& spec) {
    std::int64_t sum = 0;
    for (const auto& role : spec.roles) sum += role.ranks * role.devices_per_rank;
    return sum;
}

} // namespace muster
