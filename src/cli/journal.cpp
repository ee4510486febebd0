// journal: the facts as they are stored, through the server or from the file.

#include "base/text.hpp"
#include "cli/api.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/messages.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace muster::cli {
namespace {

constexpr std::int64_t facts_page = 500;

std::string fact_text(const FactRecord& record, Output output, const Terminal& terminal) {
    if (output == Output::json) return codec::to_json(record); // one a line, so that it can be piped
    if (output == Output::yaml) return "---\n" + codec::to_yaml(record);
    if (output == Output::name) return std::to_string(record.sequence);
    const std::string line = std::to_string(record.sequence) + " " + to_text(record.at) + " " +
                             record.actor + " " + printable(codec::to_json(record.fact), false);
    return output == Output::wide || terminal.width == 0 ? line : fitted(line, terminal.width);
}

/// Facts of one page, oldest first; empty at the end.
using ReadPage = std::function<Result<std::vector<FactRecord>>(Sequence after, std::int64_t limit)>;

int print_facts(const JournalFlags& flags, const ReadPage& read) {
    const Terminal terminal = look_at_terminal(1, flags.common.no_color);
    Sequence after = flags.after;
    std::int64_t left = flags.limit > 0 ? flags.limit : std::numeric_limits<std::int64_t>::max();
    while (left > 0) {
        auto facts = read(after, std::min(left, facts_page));
        if (!facts) return report_error(facts.error());
        if (facts->empty()) break;
        for (const auto& record : *facts) {
            print_text(fact_text(record, flags.output, terminal));
            after = std::max(after, record.sequence);
        }
        left -= static_cast<std::int64_t>(facts->size());
    }
    return exit_ok;
}

} // namespace

int do_journal(const JournalFlags& flags) {
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    return print_facts(flags, [&](Sequence after, std::int64_t limit) -> Result<std::vector<FactRecord>> {
        auto page = api->get<FactPage>("/v1/journal?after=" + std::to_string(after) +
                                       "&limit=" + std::to_string(limit));
        if (!page) return fail(page.error());
        return std::move(page->items);
    });
}

int do_journal_verify(const JournalFlags& flags) {
    (void)flags;
    return exit_error;
}

} // namespace muster::cli
