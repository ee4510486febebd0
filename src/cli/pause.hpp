#pragma once
// pause_for(): waits between two tries, and ends at once when stop_pauses() is called, as by
// Ctrl-C.

#include "base/time.hpp"

namespace muster::cli {

/// False once pauses are stopped.
bool pause_for(Duration duration);
/// From any thread, not from a signal handler.
void stop_pauses();
/// For the next command in the same process (tests).
void allow_pauses();

/// The machine's wall clock, for ages and `--since`.
Instant wall_now();

} // namespace muster::cli
