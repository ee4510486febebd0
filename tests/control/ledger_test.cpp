#include "control/ledger.hpp"

#include <gtest/gtest.h>

namespace muster::control {
namespace {

TEST(Ledger, RefusesAGapInTheSequence) {
    Ledger ledger;
    FactRecord record{2, Instant{1}, "controller", InstallationCreated{}};
    EXPECT_DEATH(ledger.apply(record), "without gaps");
}

TEST(Ledger, RefusesTwoHoldersOfADevice) {
    Ledger ledger;
    Inventory inventory;
    inventory.devices = {{0, DeviceKind::slot, "", "", 0}};
    Sequence n = 0;
    const auto apply = [&](Fact fact) { ledger.apply({++n, Instant{n}, "test", std::move(fact)}); };
    apply(NodeJoined{NodeName{"n1"}, 1, "boot", inventory, {}});
    const Placement placement{1, {{NodeName{"n1"}, 1, {{RoleName{"worker"}, {0}}}}}};
    for (std::uint64_t i = 1; i <= 2; ++i)
        apply(WorkloadSubmitted{
            WorkloadId{RawId{0, i}}, WorkloadName{"j" + std::to_string(i)}, {}, "", {}});
    apply(WorkloadAdmitted{WorkloadId{RawId{0, 1}}, 1, placement, {}});
    EXPECT_DEATH(apply(WorkloadAdmitted{WorkloadId{RawId{0, 2}}, 1, placement, {}}), "one holder");
}

} // namespace
} // namespace muster::control
