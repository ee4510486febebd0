// A scenario file as people write it: an error names what is wrong.

#include "sim/scenario.hpp"
#include "base/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto scenario = sim::parse_scenario(text);
    if (!scenario) {
        REQUIRE(scenario.error().code == Code::invalid_argument,
                "a wrong scenario is the caller's");
        REQUIRE(!to_text(scenario.error()).empty(), "an error says what is wrong");
        return 0;
    }
    REQUIRE(!scenario->setup.devices.empty(), "an accepted scenario has nodes");
    return 0;
}
