#pragma once
// The signals that ask a part of Muster to end, as a descriptor that its loop waits on.

#include "base/result.hpp"
#include "io/posix/fd.hpp"

namespace muster::app {

/// Blocks SIGTERM and SIGINT for this thread and all that it starts, and ignores SIGPIPE.
Result<io::UniqueFd> watch_end_signals();
/// The signal that came, or 0.
int take_signal(const io::UniqueFd& signals);

} // namespace muster::app
