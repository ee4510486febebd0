// Test the tester: each planted bug must be found within its budget of seeds.

#include "sim/world.hpp"

#include <gtest/gtest.h>

namespace muster::sim {
namespace {

struct Budget {
    Plant plant;
    std::uint64_t seeds; // about four times what was seen to be needed
};

void PrintTo(const Budget& budget, std::ostream* out) { *out << to_text(budget.plant); }

class Planted : public testing::TestWithParam<Budget> {};

TEST_P(Planted, IsFound) {
    for (std::uint64_t seed = 1; seed <= GetParam().seeds; ++seed) {
        Options options;
        options.seed = seed;
        options.plant = GetParam().plant;
        const Outcome outcome = run_seed(options);
        if (!outcome.violation) continue;
        RecordProperty("found_by", outcome.violation->checker);
        std::cout << to_text(GetParam().plant) << ": found at seed " << seed << " by \""
                  << outcome.violation->checker << "\": " << outcome.violation->text << "\n";
        return;
    }
    FAIL() << "not found in " << GetParam().seeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(
    Sim, Planted,
    testing::Values(Budget{Plant::commands_before_durable, 4}, Budget{Plant::no_fence, 400},
                    Budget{Plant::release_without_clearing, 100},
                    Budget{Plant::cleared_without_killing, 100}, Budget{Plant::early_release, 100},
                    Budget{Plant::lost_tail, 40}, Budget{Plant::token_dropped, 100},
                    Budget{Plant::agent_forgets, 100}, Budget{Plant::order_without_journal, 40},
                    Budget{Plant::success_always, 100}, Budget{Plant::hasty_loss, 100}),
    [](const testing::TestParamInfo<Budget>& info) {
        return std::string(to_text(info.param.plant));
    });

} // namespace
} // namespace muster::sim
