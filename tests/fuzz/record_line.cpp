// A line of an agent's journal after a crash or damage, and the record in it.

#include "agent/core.hpp"
#include "base/require.hpp"
#include "codec/json.hpp"
#include "io/journal/record_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    const auto text = io::record_text(line);
    if (text) {
        const std::string again = io::record_line(*text);
        const auto back = io::record_text(std::string_view(again).substr(0, again.size() - 1));
        REQUIRE(back && *back == *text, "a record's line reads back");
    }
    static_cast<void>(codec::from_json<agent::AgentRecord>(text ? *text : line));
    return 0;
}
