#include "cli/event_text.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr std::size_t last_lines_shown_max = 12;
constexpr std::size_t traceback_lines_max = 40;

void add_indented(std::vector<std::string>& lines, std::string_view text) {
    std::vector<std::string> found;
    while (!text.empty()) {
        const auto end = text.find('\n');
        found.push_back("    " + printable(text.substr(0, end), false));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    const std::size_t from =
        found.size() > traceback_lines_max ? found.size() - traceback_lines_max : 0;
    lines.insert(lines.end(), found.begin() + static_cast<std::ptrdiff_t>(from), found.end());
}

Style level_style(const std::string& level) {
    if (level == "error") return Style::red;
    if (level == "warning") return Style::yellow;
    return Style::plain;
}

} // namespace

std::string clock_text(Instant at) {
    const std::string text = to_text(at);
    const auto t = text.find('T');
    return text.substr(t + 1, text.size() - t - 2);
}

std::string event_line(const Terminal& terminal, const EventView& event, bool with_subject) {
    std::string line = styled(terminal, Style::dim, clock_text(event.at)) + " ";
    if (with_subject) line += styled(terminal, Style::cyan, event.subject) + " ";
    std::string text = printable(event.text, false);
    // The text names its subject, too ("job charlm attempt 1 ..."): once is enough.
    std::string named = event.subject + " ";
    if (const auto slash = named.find('/'); slash != std::string::npos) named[slash] = ' ';
    if (text.starts_with(named)) text.erase(0, named.size());
    return line + styled(terminal, level_style(event.level), text);
}

bool is_worth_telling(const EventView& event) {
    if (event.type == "WorkloadSubmitted" || event.type == "WorkloadFinished" ||
        event.type == "DevicesReleased")
        return false;
    // An end that is also the job's end is told by the verdict.
    const bool an_end = event.type == "GenerationClosed" || event.type == "AttemptEnded";
    return !an_end || event.level == "warning";
}

std::vector<std::string> cause_lines(const Terminal& terminal, const ExitCause& cause) {
    std::vector<std::string> lines;
    // The rank at fault in plain words, also where the reason judges the whole job.
    std::string where = explain(cause.reason);
    if (cause.rank) {
        Reason of_rank{
            ReasonCode::rank_failed, std::to_string(*cause.rank), cause.exit_code, 0, {}};
        if (cause.traceback.empty()) of_rank.detail = cause.reason.detail;
        if (cause.reason.code == ReasonCode::rank_failed ||
            cause.reason.code == ReasonCode::user_error)
            where = explain(of_rank);
    }
    if (!cause.node.empty()) where += say(" (node {})", to_text(cause.node));
    lines.push_back(styled(terminal, Style::bold, say("first cause: {}", where)));
    if (!cause.traceback.empty()) {
        add_indented(lines, cause.traceback);
    } else {
        const std::size_t count = cause.last_lines.size();
        const std::size_t from = count > last_lines_shown_max ? count - last_lines_shown_max : 0;
        for (std::size_t i = from; i < count; ++i)
            lines.push_back("    " + printable(cause.last_lines[i], false));
    }
    if (!cause.consequences.empty()) {
        const bool one = cause.consequences.size() == 1;
        lines.push_back(say(one ? "{} other rank only followed" : "{} other ranks only followed",
                            cause.consequences.size()));
    }
    return lines;
}

} // namespace muster::cli
