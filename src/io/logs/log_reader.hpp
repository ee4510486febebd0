#pragma once
// read_logs(): serves the log files of a node's ranks by offset, while launchers write them.

#include "model/orders.hpp"

#include <string>

namespace muster::io {

inline constexpr std::int64_t log_answer_bytes_max = 1024 * 1024; // over all ranks of an answer

/// Whole stored lines of <node dir>/logs/<workload id>. Offsets count all bytes ever written; where
/// older ones are gone, `from` moves forward. An unknown workload or rank gives an empty chunk
/// list.
LogAnswer read_logs(const std::string& node_dir, const LogRequest& request);

} // namespace muster::io
