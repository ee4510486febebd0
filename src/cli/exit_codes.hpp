#pragma once
// What `muster` exits with (docs/cli.md). `run` and `wait` return the job's own code instead: its
// first failing rank's, or 128 + signal.

#include "base/result.hpp"

namespace muster::cli {

enum ExitCode : int {
    exit_ok = 0,
    exit_error = 1,       // anything that has no code of its own
    exit_usage = 2,       // wrong flags, or a spec that is not valid
    exit_not_found = 3,   // no such job or node
    exit_refused = 4,     // right request, wrong state; or not permitted
    exit_unreachable = 5, // no answer from the server
    exit_broken_data = 6, // a journal whose chain does not hold
    exit_timeout = 124,   // `wait --timeout` ended first
    exit_detached = 130,  // Ctrl-C: the job goes on
};

ExitCode exit_code_of(const Error& error);

} // namespace muster::cli
