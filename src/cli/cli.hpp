#pragma once
// run(): the command line. Finds the verb, parses its flags, calls it. src/app/main.cpp gives the
// verbs that are parts of Muster.

#include "cli/flags.hpp"

#include <functional>
#include <string>
#include <vector>

namespace muster::cli {

/// The parts, as the binary links them; each runs until its end and returns the code to exit with.
struct PartVerbs {
    std::function<int(const ServerFlags&)> server;
    std::function<int(const AgentFlags&)> agent;
    std::function<int(const LaunchFlags&)> launch;
    std::function<int(const UpFlags&)> up;
    std::function<int(const DownFlags&)> down;
};

/// `arguments` without the program's name.
int run(std::vector<std::string> arguments, const PartVerbs& parts);

} // namespace muster::cli
