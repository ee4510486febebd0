#pragma once
// StateLock: one server per state directory. Held while the object lives; the kernel frees it with
// the process, so that a crash leaves nothing to clean up.

#include "base/result.hpp"
#include "io/posix/fd.hpp"

#include <string>

namespace muster::io {

class StateLock {
  public:
    StateLock() = default;
    /// failed_precondition where another process holds it; the message names its pid.
    static Result<StateLock> acquire(const std::string& path);

  private:
    explicit StateLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

} // namespace muster::io
