// journal: the facts as they are stored, through the server or from the file.

#include "base/text.hpp"
#include "cli/api.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/messages.hpp"
#include "cli/pages.hpp"
#include "cli/print.hpp"
#include "io/journal/journal_reader.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace muster::cli {
namespace {

constexpr std::int64_t facts_page = 500;

std::string fact_text(const FactRecord& record, Output output, const Terminal& terminal) {
    if (output == Output::json)
        return codec::to_json(record); // one a line, so that it can be piped
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

std::string journal_path(const JournalFlags& flags) {
    return state_directory(flags.common.state) + "/server/journal.db";
}

Error with_offline_hint(Error error) {
    if (error.code == Code::unavailable)
        error.hint =
            say("without a server: muster journal --offline reads the file in the state directory");
    return error;
}

} // namespace

int do_journal(const JournalFlags& flags) {
    if (flags.offline) {
        auto reader = io::JournalReader::open(journal_path(flags));
        if (!reader) return report_error(reader.error());
        return print_facts(flags, [&](Sequence after, std::int64_t limit) {
            return (*reader)->read(after, static_cast<std::size_t>(limit));
        });
    }
    auto api = Api::connect(flags.common);
    if (!api) return report_error(with_offline_hint(api.error()));
    return print_facts(
        flags, [&](Sequence after, std::int64_t limit) -> Result<std::vector<FactRecord>> {
            auto page = api->get<FactPage>("/v1/journal?after=" + std::to_string(after) +
                                           "&limit=" + std::to_string(limit));
            if (!page) return fail(with_offline_hint(page.error()));
            return std::move(page->items);
        });
}

int do_journal_verify(const JournalFlags& flags) {
    const std::string path = journal_path(flags);
    auto reader = io::JournalReader::open(path);
    if (!reader) return report_error(reader.error());
    auto health = (*reader)->verify();
    if (!health) return report_error(health.error());
    print_text(say("{}: {} facts and {} snapshots, the chain holds; last hash {}", path,
                   health->facts, health->snapshots, health->last_hash));
    return exit_ok;
}

} // namespace muster::cli
