// events: what happened, as people read it.

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/interrupt.hpp"
#include "cli/messages.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "cli/table.hpp"
#include "cli/watch.hpp"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr std::int64_t events_page = 500;

bool is_of(const EventView& event, const std::string& job) {
    return job.empty() || event.subject == "job/" + job;
}

/// The newest events behind `after`, at most as many as wanted; moves `after` to the end.
Result<std::vector<EventView>> newest(Api& api, const EventsFlags& flags, Sequence& after) {
    std::vector<EventView> events;
    while (true) {
        auto page = api.get<EventPage>("/v1/events?after=" + std::to_string(after) +
                                       "&limit=" + std::to_string(events_page));
        if (!page) return fail(page.error());
        for (auto& event : page->items) {
            if (!is_of(event, flags.job)) continue;
            events.push_back(std::move(event));
            if (events.size() > static_cast<std::size_t>(flags.limit)) events.erase(events.begin());
        }
        if (page->next <= after) return events;
        after = page->next;
    }
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
    Sequence facts = 0;
    // The newest ones; of one job they may lie far back.
    const bool from_the_end = after <= 0 && (flags.job.empty() || flags.watch);
    if (from_the_end) {
        auto server = api->get<ServerView>("/v1/server");
        if (!server) return report_error(server.error());
        facts = server->facts;
    }
    // Some facts are no events: look further back until there are as many as wanted.
    std::int64_t back = flags.limit;
    Result<std::vector<EventView>> events;
    while (true) {
        const Sequence from = from_the_end ? std::max<Sequence>(0, facts - back) : after;
        after = from;
        events = newest(*api, flags, after);
        if (!events) return report_error(events.error());
        const bool enough = static_cast<std::int64_t>(events->size()) >= flags.limit;
        if (!from_the_end || from == 0 || enough || !flags.job.empty()) break;
        back = back * 4;
    }
    for (const auto& event : *events) print_text(event_text(event, flags.output, terminal));
    if (!flags.watch) return exit_ok;

    int code = exit_ok;
    const auto stream = [&] {
        const auto status = api->events(
            after,
            [&](const EventView& event) {
                if (is_of(event, flags.job)) print_text(event_text(event, flags.output, terminal));
                return true;
            },
            [](const Error& error) { report_error(error); });
        if (!status) code = report_error(status.error());
    };
    if (until_interrupted(stream, [&] { api->cancel(); }) != 0) tell_watch_ended();
    return code;
}

} // namespace muster::cli
