// Encode and decode of an agent's beat: the message that a control plane reads most.

#include "codec/json.hpp"
#include "measure.hpp"
#include "model/orders.hpp"

#include <cstdio>

namespace muster {
namespace {

AgentBeat usual_beat() {
    AgentBeat beat;
    beat.installation = InstallationId{{1, 2}};
    beat.node = NodeName{"gpu-node-0017"};
    beat.boot_id = "3d7a2b1c-8a43-4b0a-9f0e-0c1d2e3f4a5b";
    beat.session = AgentSessionId{{3, 4}};
    beat.asked = 123'456;
    beat.order_revision = 88;
    beat.sample = NodeSample{Instant{1'800'000'000'123'456'789}, 437, 1'234'567'890, 512, 1, 2};
    for (int i = 0; i < 2; ++i) {
        HeldAttempt held;
        held.workload = WorkloadId{{5, static_cast<std::uint64_t>(i)}};
        held.attempt = 1;
        held.state = HoldState::running;
        beat.held.push_back(held);
    }
    return beat;
}

void run() {
    const AgentBeat beat = usual_beat();
    const std::string text = codec::to_json(beat, codec::Style::exact);
    constexpr int rounds = 7, repeats = 100'000;
    std::vector<double> encode, decode;
    std::size_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
        encode.push_back(bench::seconds_of([&] {
            std::string out;
            for (int i = 0; i < repeats; ++i) {
                out.clear();
                codec::write_json(codec::shape_of<AgentBeat>, &beat, codec::Style::exact, out);
                sum += out.size();
            }
        }));
        decode.push_back(bench::seconds_of([&] {
            for (int i = 0; i < repeats; ++i)
                sum += codec::from_json<AgentBeat>(text, codec::UnknownKeys::ignore)->held.size();
        }));
    }
    std::printf("beat of %zu bytes: encode %.0f ns, decode %.0f ns (medians of %d rounds; %zu)\n",
                text.size(), bench::median(encode) / repeats * 1e9,
                bench::median(decode) / repeats * 1e9, rounds, sum % 10);
}

} // namespace
} // namespace muster

int main() { muster::run(); }
