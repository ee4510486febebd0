#pragma once
// REQUIRE(condition, "text"): an invariant of ours, checked in every build. A failure is a bug in
// Muster, never bad input: it prints the place and aborts, so that no wrong state is written.

namespace muster {

[[noreturn]] void require_failed(const char* condition, const char* text, const char* file,
                                 int line);

} // namespace muster

#define REQUIRE(condition, text)                                            \
    do {                                                                    \
        if (!(condition)) [[unlikely]]                                      \
            ::muster::require_failed(#condition, text, __FILE__, __LINE__); \
    } while (false)
