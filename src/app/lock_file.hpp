#pragma once
// A file that one process holds while it lives: locked by the kernel, which frees it with the
// process.

#include "base/result.hpp"
#include "io/posix/fd.hpp"

#include <string>

namespace muster::app {

/// The locked file with our pid in it, or who holds it; an Error where it cannot be made.
struct LockOutcome {
    io::UniqueFd fd;   // set: it is ours
    std::string owner; // else: the holder's pid
};
Result<LockOutcome> lock_file(const std::string& path);

/// Who holds the lock, or an empty text: nobody, or no such file. Takes nothing.
std::string lock_owner(const std::string& path);

} // namespace muster::app
