// Server-sent events as a client reads them: however the bytes are cut, the same events come out.

#include "io/http/event_reader.hpp"
#include "model/views.hpp"
#include "round_trip.hpp"

#include <vector>

namespace {

using namespace muster;

std::vector<http::StreamEvent> events_of(std::string_view text, std::size_t piece) {
    std::vector<http::StreamEvent> events;
    http::EventReader reader;
    while (!text.empty()) {
        const auto more = reader.feed(text.substr(0, piece), [&](const http::StreamEvent& event) {
            events.push_back(event);
            return true;
        });
        if (!more) break;
        text.remove_prefix(std::min(piece, text.size()));
    }
    return events;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    const auto whole = events_of(text, text.size());
    for (const std::size_t piece : {1, 7}) {
        const auto again = events_of(text, piece);
        REQUIRE(again.size() == whole.size(), "as many events");
        for (std::size_t i = 0; i < whole.size(); ++i)
            REQUIRE(again[i].id == whole[i].id && again[i].type == whole[i].type &&
                        again[i].data == whole[i].data,
                    "the same events");
    }
    for (const auto& event : whole)
        static_cast<void>(fuzz::decoded<EventView>(event.data, codec::UnknownKeys::ignore));
    return 0;
}
