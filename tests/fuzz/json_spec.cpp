// A spec as the API gets it: whatever is accepted must write and read back as itself.

#include "base/require.hpp"
#include "codec/json.hpp"
#include "model/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto spec = codec::from_json<WorkloadSpec>(text);
    if (!spec) {
        REQUIRE(!to_text(spec.error()).empty(), "an error says what is wrong");
        return 0;
    }
    const auto back = codec::from_json<WorkloadSpec>(codec::to_json(*spec, codec::Style::exact));
    REQUIRE(back && *back == *spec, "an accepted spec reads back as itself");
    static_cast<void>(checked_spec(*spec));
    return 0;
}
