// A spec file as people write it.

#include "base/require.hpp"
#include "codec/yaml.hpp"
#include "model/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto spec = codec::from_yaml<WorkloadSpec>(text);
    if (!spec) {
        REQUIRE(!to_text(spec.error()).empty(), "an error says what is wrong");
        return 0;
    }
    if (!checked_spec(*spec)) return 0;
    const auto back = codec::from_yaml<WorkloadSpec>(codec::to_yaml(*spec));
    REQUIRE(back && *back == *spec, "an accepted spec reads back as itself");
    return 0;
}
