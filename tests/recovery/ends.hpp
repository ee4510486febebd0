#pragma once
// Ends of ranks for tests, in few words.

#include "recovery/recovery.hpp"

namespace muster::recovery::test {

inline EndedRank end_of(std::int64_t rank, std::int64_t at_ms, RankExit exit = {}) {
    exit.at = Instant{} + Duration::seconds(1000) + Duration::millis(at_ms);
    if (exit.lived == Duration{}) exit.lived = Duration::seconds(2);
    return EndedRank{rank, NodeName{"n" + std::to_string(rank / 2)}, exit};
}
inline RankExit by_signal(std::int64_t signal, std::vector<std::string> lines = {}) {
    RankExit exit;
    exit.signal = signal;
    exit.last_lines = std::move(lines);
    return exit;
}
inline RankExit by_code(std::int64_t code, std::vector<std::string> lines = {}) {
    RankExit exit;
    exit.exit_code = code;
    exit.last_lines = std::move(lines);
    return exit;
}
inline RankExit by_traceback(const std::string& message, const std::string& before = {}) {
    RankExit exit;
    exit.exit_code = 1;
    exit.traceback = before +
                     "Traceback (most recent call last):\n  File \"train.py\", line 9, in "
                     "<module>\n    dist.all_reduce(x)  # broken pipe\n" +
                     message + "\n";
    return exit;
}
inline RankExit by_us(std::int64_t signal) {
    RankExit exit;
    exit.signal = signal;
    exit.killed_by_us = true;
    return exit;
}
inline RankExit lost_peer() {
    return by_traceback("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] "
                        "Connection closed by peer [127.0.1.1]:27182");
}

} // namespace muster::recovery::test
