// muster_sim: runs worlds of seeds; replays one with its trace. See docs/simulator.md.

#include "sim/scenario.hpp"
#include "sim/world.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string_view>

namespace muster::sim {
namespace {

constexpr std::uint64_t twice_every = 50; // one seed in so many runs twice, for equal digests

struct Arguments {
    std::uint64_t seed = 1;
    std::uint64_t count = 1;
    bool trace = false;
    bool quiet = false;
    Plant plant = Plant::none;
    Duration until = Duration::max();
    std::string scenario; // a file; empty: seeds
};

void usage() {
    std::fputs(
        "usage: muster_sim [--seed N] [--count K] [--trace] [--quiet] [--until SECONDS] [--plant "
        "NAME]\n"
        "       muster_sim --scenario FILE [--trace]\n"
        "Runs the worlds of K seeds from N on. Ends with 1 at the first violation and says how to\n"
        "replay it. Planted bugs:\n",
        stderr);
    for (const auto& plant : plant_names())
        fmt::print(stderr, "  {:<26} {}\n", plant.name, plant.about);
}

bool number(std::string_view text, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

bool parse(int argc, char** argv, Arguments& out) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view key = argv[i];
        if (key == "--trace") {
            out.trace = true;
            continue;
        }
        if (key == "--quiet") {
            out.quiet = true;
            continue;
        }
        if (i + 1 == argc) return false;
        const std::string_view value = argv[++i];
        std::uint64_t seconds = 0;
        if (key == "--seed" && number(value, out.seed)) continue;
        if (key == "--count" && number(value, out.count)) continue;
        if (key == "--until" && number(value, seconds)) {
            out.until = Duration::seconds(static_cast<std::int64_t>(seconds));
            continue;
        }
        if (key == "--scenario") {
            out.scenario = value;
            continue;
        }
        if (key != "--plant") return false;
        bool known = false;
        for (const auto& plant : plant_names())
            if (plant.name == value) {
                out.plant = plant.plant;
                known = true;
            }
        if (!known) return false;
    }
    return true;
}

Outcome run_one(const Arguments& arguments, std::uint64_t seed, bool trace) {
    Options options;
    options.seed = seed;
    options.plant = arguments.plant;
    options.until = arguments.until;
    if (trace) options.trace = [](const std::string& line) { fmt::print("{}\n", line); };
    return run_seed(options);
}

int report(const Arguments& arguments, std::uint64_t seed, const Violation& violation) {
    fmt::print("seed {} violated \"{}\" at {:.3f} s: {}\n", seed, violation.checker,
               violation.at.as_seconds(), violation.text);
    fmt::print("faults:{}\n", to_text(draw_setup(seed).faults));
    std::string plant;
    if (arguments.plant != Plant::none)
        plant = fmt::format(" --plant {}", to_text(arguments.plant));
    fmt::print("replay: muster_sim --seed {}{} --trace\n", seed, plant);
    return 1;
}

int run_file(const Arguments& arguments) {
    std::ifstream file(arguments.scenario, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
        fmt::print(stderr, "{}: cannot be read\n", arguments.scenario);
        return 2;
    }
    const auto scenario = parse_scenario(text.str());
    if (!scenario) {
        fmt::print(stderr, "{}: {}\n", arguments.scenario, to_text(scenario.error()));
        return 2;
    }
    std::function<void(const std::string&)> trace;
    if (arguments.trace) trace = [](const std::string& line) { fmt::print("{}\n", line); };
    const auto status = run_scenario(*scenario, std::move(trace));
    fmt::print("{}: {}\n", arguments.scenario, status ? "ok" : to_text(status.error()));
    return status ? 0 : 1;
}

int run(const Arguments& arguments) {
    // Allowed std::chrono here: it measures how fast the simulator is, no run sees it.
    const auto began = std::chrono::steady_clock::now();
    Outcome sum;
    std::int64_t virtual_ns = 0;
    for (std::uint64_t seed = arguments.seed; seed < arguments.seed + arguments.count; ++seed) {
        const Outcome outcome = run_one(arguments, seed, arguments.trace);
        sum.events += outcome.events;
        sum.facts += outcome.facts;
        sum.succeeded += outcome.succeeded;
        sum.failed += outcome.failed;
        sum.cancelled += outcome.cancelled;
        virtual_ns += outcome.ended_at.ns;
        if (outcome.violation) return report(arguments, seed, *outcome.violation);
        if (seed % twice_every == 0 && run_one(arguments, seed, false).digest != outcome.digest) {
            fmt::print("seed {} ran differently the second time\n", seed);
            return 1;
        }
    }
    const double seconds =
        // Allowed std::chrono here: as above.
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!arguments.quiet)
        fmt::print("{} seeds: {} events in {:.2f} s ({:.0f} events/s), {:.1f} h of cluster time, "
                   "{} facts, "
                   "jobs: {} succeeded, {} failed, {} cancelled\n",
                   arguments.count, sum.events, seconds, static_cast<double>(sum.events) / seconds,
                   static_cast<double>(virtual_ns) / 3.6e12, sum.facts, sum.succeeded, sum.failed,
                   sum.cancelled);
    return 0;
}

} // namespace
} // namespace muster::sim

int main(int argc, char** argv) {
    muster::sim::Arguments arguments;
    if (!muster::sim::parse(argc, argv, arguments)) {
        muster::sim::usage();
        return 2;
    }
    return arguments.scenario.empty() ? muster::sim::run(arguments)
                                      : muster::sim::run_file(arguments);
}
