#pragma once
// Medians over rounds.

#include <algorithm>
#include <chrono>
#include <vector>

namespace muster::bench {

inline double seconds_of(auto work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace muster::bench
