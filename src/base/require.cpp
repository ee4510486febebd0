#include "base/require.hpp"

#include <cstdio>
#include <cstdlib>

namespace muster {

void require_failed(const char* condition, const char* text, const char* file, int line) {
    // Allowed fprintf here: the process ends with the next line; nothing else may be trusted.
    std::fprintf(stderr, "muster: invariant broken: %s (%s) at %s:%d\n", text, condition, file,
                 line);
    std::fflush(stderr);
    std::abort();
}

} // namespace muster
