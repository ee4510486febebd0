#pragma once

namespace muster::cli {

/// Of this program, from the build.
extern const char* const muster_version;

} // namespace muster::cli
