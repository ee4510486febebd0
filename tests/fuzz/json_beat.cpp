// A beat as an agent sends it: unknown keys are ignored, and what is accepted reads back.

#include "base/require.hpp"
#include "codec/json.hpp"
#include "model/orders.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto beat = codec::from_json<AgentBeat>(text, codec::UnknownKeys::ignore);
    if (!beat) return 0;
    const std::string once = codec::to_json(*beat, codec::Style::exact);
    const auto back = codec::from_json<AgentBeat>(once);
    REQUIRE(back, "an accepted beat reads back");
    REQUIRE(codec::to_json(*back, codec::Style::exact) == once, "and writes the same again");
    return 0;
}
