#pragma once
// Limits of a rank's log, in one place (docs/logs.md).

#include "base/time.hpp"

#include <cstddef>
#include <cstdint>

namespace muster::io {

inline constexpr std::int64_t head_bytes = 1024 * 1024;        // kept for ever
inline constexpr std::int64_t segment_bytes = 4 * 1024 * 1024; // of the tail
inline constexpr std::size_t tail_segments = 2;                // newest kept
inline constexpr std::size_t line_bytes_max = 16 * 1024;       // longer lines are split
inline constexpr int line_pieces_max = 4;                      // of one line; the rest is dropped
inline constexpr Duration bar_interval = Duration::seconds(1); // of a line redrawn with '\r'
inline constexpr std::int64_t rate_bytes = 4 * 1024 * 1024;    // a second, sustained
inline constexpr std::int64_t burst_bytes = 16 * 1024 * 1024;
inline constexpr std::size_t flood_tail_bytes = 64 * 1024;     // newest output kept while dropping
inline constexpr std::size_t context_lines = 100;              // before and after the first error
inline constexpr std::size_t context_bytes = 64 * 1024;        // on each side, whatever the lines
inline constexpr std::int64_t error_head_bytes = 512 * 1024;   // of the earliest first errors
inline constexpr std::int64_t error_newest_bytes = 256 * 1024; // of the newest, in two files each
inline constexpr std::size_t recent_lines_max = 400;           // in memory, for exit records
inline constexpr std::size_t recent_bytes_max = 256 * 1024;
inline constexpr std::size_t last_lines_max = 20; // of an exit record
inline constexpr std::size_t last_line_bytes_max = 500;
inline constexpr std::size_t traceback_bytes_max = 16 * 1024;

} // namespace muster::io
