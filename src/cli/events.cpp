// events: what happened, as people read it.

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/interrupt.hpp"
#include "cli/messages.hpp"
#include "cli/pages.hpp"
#include "cli/pause.hpp"
#include "cli/print.hpp"
#include "cli/table.hpp"
#include "cli/watch.hpp"

#include <algorithm>
#include <thread>

namespace muster::cli {
namespace {

constexpr std::int64_t events_page = 500;

bool is_of(const EventView& event, const std::string& job) {
    return job.empty() || event.subject == "job/" + job;
}

std::string event_text(const EventView& event, Output output, const Terminal& terminal) {
    if (output == Output::json) return codec::to_json(event); // one a line, so that it can be piped
    if (output == Output::yaml) return "---\n" + codec::to_yaml(event);
    if (output == Output::name) return std::to_string(event.sequence);
    std::string line = std::to_string(event.sequence) + " " + event_line(terminal, event, true);
    if (output == Output::wide) line += " [" + event.type + " by " + event.actor + "]";
    return line;
}

} // namespace

int do_events(const EventsFlags& flags) {
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    const Terminal terminal = look_at_terminal(1, flags.common.no_color);
    Sequence after = flags.after;
    if (after <= 0) {
        auto server = api->get<ServerView>("/v1/server");
        if (!server) return report_error(server.error());
        // The newest ones; of one job they may lie far back.
        if (flags.job.empty() || flags.watch)
            after = std::max<Sequence>(0, server->facts - flags.limit);
    }
    std::vector<EventView> events;
    while (true) {
        auto page = api->get<EventPage>("/v1/events?after=" + std::to_string(after) +
                                        "&limit=" + std::to_string(events_page));
        if (!page) return report_error(page.error());
        if (page->items.empty()) break;
        for (auto& event : page->items) {
            after = std::max(after, event.sequence);
            if (!is_of(event, flags.job)) continue;
            events.push_back(std::move(event));
            if (events.size() > static_cast<std::size_t>(flags.limit)) events.erase(events.begin());
        }
    }
    for (const auto& event : events) print_text(event_text(event, flags.output, terminal));
    if (!flags.watch) return exit_ok;

    Interrupt interrupt;
    int code = exit_ok;
    std::jthread stream([&] {
        const auto status = api->events(
            after,
            [&](const EventView& event) {
                if (is_of(event, flags.job)) print_text(event_text(event, flags.output, terminal));
                return true;
            },
            [](const Error& error) { report_error(error); });
        if (!status) code = report_error(status.error());
        interrupt.done();
    });
    interrupt.wait();
    stop_pauses();
    api->cancel();
    stream.join();
    allow_pauses();
    return code;
}

} // namespace muster::cli
