#pragma once
// From outside input to a valid spec: parse, don't validate. codec/ has turned text into the
// struct; here the rules that a shape cannot express are checked, and defaults that need context
// are filled.

#include "base/result.hpp"
#include "model/workload.hpp"

namespace muster {

inline constexpr std::int64_t ranks_max = 100'000;
inline constexpr std::int64_t roles_max = 32;
inline constexpr std::int64_t devices_per_rank_max = 1'024;
inline constexpr std::int64_t command_bytes_max = 128 * 1024; // argv and env of one rank
inline constexpr std::int64_t restarts_max = 1'000;           // all are kept, to be counted
inline constexpr Duration stop_grace_max = Duration::hours(1);
inline constexpr Duration early_exit_limit_min = Duration::seconds(1);
inline constexpr Duration early_exit_limit_max = Duration::hours(24);

/// The same spec, or invalid_argument naming the first field at fault ("roles[0].ranks").
Result<WorkloadSpec> checked_spec(WorkloadSpec spec);

/// A name for a spec without one: from its command ("train" of train.py), plus the id's end.
WorkloadName default_name(const WorkloadSpec& spec, const WorkloadId& id);

Result<NodeName> parse_node_name(const std::string& text);

} // namespace muster
