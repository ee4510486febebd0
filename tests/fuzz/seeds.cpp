// Writes random-N.json into each folder of the corpus that holds documents: real encodings of
// random values (tests/codec/random_value.hpp), to begin from; and a progress page. Run by hand
// after a document or the page has got new members:
//
//     build/dev/tests/fuzz/fuzz_seeds tests/fuzz/corpus

#include "codec/json.hpp"
#include "control/ledger.hpp"
#include "model/facts.hpp"
#include "model/launch_file.hpp"
#include "random_value.hpp"

#include <muster.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

using namespace muster;

constexpr int seeds_each = 3;
constexpr std::size_t seed_bytes_max = 4096; // libFuzzer's first inputs are short ones

template <class T>
void write(const std::filesystem::path& corpus, const char* folder) {
    Prng prng(1);
    std::filesystem::create_directories(corpus / folder);
    for (int n = 1; n <= seeds_each;) {
        const std::string text = codec::to_json(codec::random_value<T>(prng), codec::Style::exact);
        if (text.size() > seed_bytes_max) continue;
        std::ofstream(corpus / folder / ("random-" + std::to_string(n++) + ".json")) << text;
    }
}

/// A page as lib/muster.cpp leaves it after a few steps.
void write_page(const std::filesystem::path& corpus) {
    muster_page page{};
    page.magic = MUSTER_PAGE_MAGIC;
    page.version = MUSTER_PAGE_VERSION;
    page.bytes = sizeof page;
    page.generation = 1;
    page.published = 7;
    auto& slot = page.slots[1];
    slot.step = 6;
    slot.total = 100;
    slot.loss = 0.5;
    slot.has_loss = 1;
    slot.samples = 56;
    slot.first_step_at_ns = 1'000;
    slot.step_at_ns = 7'000;
    slot.phase_began_ns = 7'000;
    slot.phase_count = 2;
    slot.metric_count = 1;
    std::strcpy(slot.phases[0].name, "checkpoint");
    slot.phases[0].total_ns = 5'000;
    std::strcpy(slot.phases[1].name, "evaluation");
    std::strcpy(slot.metrics[0].name, "lr");
    slot.metrics[0].value = 3e-4;
    std::filesystem::create_directories(corpus / "progress_page");
    std::ofstream(corpus / "progress_page" / "page", std::ios::binary)
        .write(reinterpret_cast<const char*>(&page), sizeof page);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s <corpus folder>\n", argv[0]);
        return 2;
    }
    const std::filesystem::path corpus = argv[1];
    write<AgentBeat>(corpus, "agent_beat");
    write<LauncherBeat>(corpus, "launcher_beat");
    write<MemberBeat>(corpus, "member_beat");
    write<AgentOrder>(corpus, "agent_order");
    write<LauncherOrder>(corpus, "launcher_order");
    write<MemberOrder>(corpus, "member_order");
    write<LaunchFile>(corpus, "launch_file");
    write<LauncherResult>(corpus, "launcher_result");
    write<ClientFile>(corpus, "client_file");
    write<FactRecord>(corpus, "fact");
    write<control::Ledger>(corpus, "snapshot");
    write_page(corpus);
    return 0;
}
