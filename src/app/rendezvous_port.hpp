#pragma once
// A port that is ours until rank 0 needs it: bound with SO_REUSEADDR, never listening, kept until
// the generation ends. The rank's store binds and listens over it (it sets SO_REUSEADDR too), while
// nobody else is given the port in between (docs/launch.md).

#include "base/result.hpp"
#include "io/posix/fd.hpp"

#include <cstdint>
#include <vector>

namespace muster::app {

class RendezvousPort {
  public:
    /// Any free port, on every address of both families.
    static Result<RendezvousPort> bind_any();
    std::uint16_t port() const { return port_; }

  private:
    std::vector<io::UniqueFd> sockets_;
    std::uint16_t port_ = 0;
};

} // namespace muster::app
