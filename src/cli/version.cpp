#include "cli/version.hpp"

namespace muster::cli {

const char* const muster_version = MUSTER_VERSION;

} // namespace muster::cli
