#pragma once
// What step() of a core returns: records of the facts it has applied, commands for the shell, and
// when it wants to be woken if nothing happens before.

#include "base/time.hpp"

#include <vector>

namespace muster {

template <class Record, class Command>
struct Decision {
    std::vector<Record> facts;
    std::vector<Command> commands;
    Instant wake_at = Instant::never();
};

/// For cores that keep nothing over a crash.
struct NoRecord {
    std::int64_t sequence = 0;
};

} // namespace muster
