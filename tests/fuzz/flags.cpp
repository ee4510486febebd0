// The command line of the parts that start something: a word a line. What is accepted makes a
// set-up of a launcher or an error, never anything else. (Other verbs would look for a server.)

#include "app/launch_setup.hpp"
#include "cli/cli.hpp"
#include "round_trip.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace {

using namespace muster;

constexpr Instant now{1'800'000'000'000'000'000};

int launch_with(const cli::LaunchFlags& flags) {
    const auto setup = app::standalone_setup(flags, now);
    if (!setup) {
        REQUIRE(!to_text(setup.error()).empty(), "an error says what is wrong");
        return 1;
    }
    REQUIRE(static_cast<std::int64_t>(setup->seats().seats.size()) == flags.nproc_per_node,
            "a seat for each process");
    return 0;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::array<std::string_view, 5> parts = {"launch", "up", "down", "server",
                                                              "agent"};
    std::string_view text = fuzz::text_of(data, size);
    if (text.find('\0') != std::string_view::npos) return 0; // no word holds one
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find('\n'));
        words.emplace_back(word);
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    if (words.empty() || std::ranges::find(parts, words[0]) == parts.end()) return 0;
    cli::PartVerbs verbs;
    verbs.launch = launch_with;
    verbs.up = [](const cli::UpFlags&) { return 0; };
    verbs.down = [](const cli::DownFlags&) { return 0; };
    verbs.server = [](const cli::ServerFlags&) { return 0; };
    verbs.agent = [](const cli::AgentFlags&) { return 0; };
    static_cast<void>(cli::run(std::move(words), verbs));
    return 0;
}
