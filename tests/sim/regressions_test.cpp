// Seeds that found a bug in a core. What they did depends on everything that the world draws, so
// each names what it was; the scenario or unit test beside the core is the lasting form.

#include "sim/world.hpp"

#include <gtest/gtest.h>

namespace muster::sim {
namespace {

struct Found {
    std::uint64_t seed;
    const char* what;
};

class Regression : public testing::TestWithParam<Found> {};

TEST_P(Regression, Holds) {
    Options options;
    options.seed = GetParam().seed;
    const Outcome outcome = run_seed(options);
    EXPECT_FALSE(outcome.violation) << GetParam().what << ": " << outcome.violation->text;
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, Regression,
    testing::Values(
        Found{1, "devices of an attempt that ended before its agent took it up stayed held"},
        Found{108, "an agent stopped a job on an older order that arrived after a newer one"}));

} // namespace
} // namespace muster::sim
