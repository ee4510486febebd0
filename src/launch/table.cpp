#include "launch/table.hpp"

#include <map>

namespace muster::launch {

std::vector<RankRow> rank_rows(const AttemptOrder& order) {
    std::vector<RankRow> rows;
    std::map<std::int64_t, std::int64_t> local; // next local rank by launcher
    for (const auto& role : order.spec.roles) {
        std::int64_t role_rank = 0;
        for (std::size_t node = 0; node < order.placement.nodes.size(); ++node) {
            const auto launcher = static_cast<std::int64_t>(node);
            for (const auto& seat : order.placement.nodes[node].seats) {
                if (seat.role != role.name) continue;
                RankRow row;
                row.rank = static_cast<std::int64_t>(rows.size());
                row.role_rank = role_rank++;
                row.local_rank = local[launcher]++;
                row.launcher = launcher;
                row.role = seat.role;
                row.devices = seat.devices;
                rows.push_back(std::move(row));
            }
        }
    }
    return rows;
}

} // namespace muster::launch
