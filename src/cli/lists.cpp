// jobs and nodes: tables of everything.

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/pause.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/table.hpp"
#include "cli/views_text.hpp"
#include "cli/watch.hpp"

#include <fmt/format.h>

namespace muster::cli {
namespace {

constexpr std::int64_t page_size = 500;
constexpr std::size_t items_max = 200'000;
constexpr std::size_t why_max = 32; // jobs of one list that are asked why they wait

/// All pages of a list.
template <class Page>
Result<std::vector<typename decltype(Page::items)::value_type>>
all_pages(Api& api, const std::string& target) {
    std::vector<typename decltype(Page::items)::value_type> items;
    std::string after;
    do {
        const char* joint = target.find('?') == std::string::npos ? "?" : "&";
        std::string page_target = target + joint + "limit=" + std::to_string(page_size);
        if (!after.empty()) page_target += "&after=" + http::encode_component(after);
        auto page = api.get<Page>(page_target);
        if (!page) return fail(page.error());
        for (auto& item : page->items) items.push_back(std::move(item));
        after = page->next;
    } while (!after.empty() && items.size() < items_max);
    return items;
}

template <class Item>
std::string names_of(const std::vector<Item>& items) {
    std::string text;
    for (const auto& item : items) text += to_text(item.name) + "\n";
    return text;
}

std::string job_table(const std::vector<WorkloadView>& jobs, Output output,
                      const Terminal& terminal) {
    const bool wide = output == Output::wide;
    std::vector<Column> columns = {
        {"NAME", false, 1, 12},   {"STATE"},           {"PROGRESS", true},
        {"LOSS", true, 5, 6},     {"ETA", true, 6, 6}, {"RANKS", true, 7, 5},
        {"RESTARTS", true, 8, 8}, {"AGE", true, 4, 4}, {"WHY", false, 9, 14}};
    if (wide) {
        for (const char* more : {"NODES", "PRIORITY", "USER", "ID"}) columns.push_back({more});
        for (auto& column : columns) column.gives_way = 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& job : jobs) {
        const bool waits = job.phase == WorkloadPhase::queued || job.phase == WorkloadPhase::failed;
        std::vector<std::string> row = {
            to_text(job.name),
            styled(terminal, state_style(job), state_word(job)),
            progress_cell(job, wall_now()),
            job.progress.has_loss ? loss_text(job.progress.loss) : "",
            job.phase == WorkloadPhase::running ? eta_text(job.progress.eta) : "",
            std::to_string(job.ranks),
            std::to_string(job.restarts),
            age_text(job.submitted_at, wall_now()),
            waits || wide ? explain(job.reason) : ""};
        if (wide) {
            row.push_back(joined_names(job.nodes));
            row.push_back(std::to_string(job.priority));
            row.push_back(job.submitted_by);
            row.push_back(to_text(job.id));
        }
        rows.push_back(std::move(row));
    }
    return fit_table(columns, rows, wide ? 0 : terminal.width);
}

std::string node_table(const std::vector<NodeView>& nodes, Output output,
                       const Terminal& terminal) {
    const bool wide = output == Output::wide;
    std::vector<Column> columns = {{"NAME", false, 1, 10}, {"STATE"},
                                   {"DEVICES", true},      {"CPU", true, 6, 4},
                                   {"MEMORY", true, 5, 8}, {"JOBS", false, 4, 10},
                                   {"NOTE", false, 7, 12}};
    if (wide) {
        for (const char* more : {"ADDRESS", "PRODUCT", "CPUS", "INCARNATION", "VERSION"})
            columns.push_back({more});
        for (auto& column : columns) column.gives_way = 0;
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& node : nodes) {
        std::vector<std::string> row = {to_text(node.name),
                                        styled(terminal, node_style(node), node_state_word(node)),
                                        fmt::format("{}/{}", node.devices_used, node.devices),
                                        cpu_text(node),
                                        memory_text(node),
                                        joined_names(node.workloads),
                                        node_note(node)};
        if (wide) {
            const auto& inventory = node.inventory;
            row.push_back(inventory.address);
            row.push_back(inventory.devices.empty() ? "" : device_product(inventory.devices[0]));
            row.push_back(std::to_string(inventory.cpus));
            row.push_back(std::to_string(node.incarnation));
            row.push_back(inventory.version);
        }
        rows.push_back(std::move(row));
    }
    return fit_table(columns, rows, wide ? 0 : terminal.width);
}

/// A job in the queue says of itself only that it was submitted; the first ones are asked why.
void add_why(Api& api, std::vector<WorkloadView>& jobs) {
    std::size_t asked = 0;
    for (auto& job : jobs) {
        if (job.phase != WorkloadPhase::queued || asked++ >= why_max) continue;
        if (auto why = api.get<WhyView>(job_path(to_text(job.id), "/why"));
            why && !why->items.empty())
            job.reason = why->items.front().reason;
    }
}
void add_why(Api&, std::vector<NodeView>&) {}

struct ListTexts {
    std::string_view empty; // what to say to a person where there is nothing
};

template <class Page, class Table>
int show_list(const ListFlags& flags, const std::string& target, ListTexts texts,
              const Table& table) {
    const Render render = [&](Api& api, int width) -> Result<std::string> {
        auto items = all_pages<Page>(api, target);
        if (!items) return fail(items.error());
        if (is_document(flags.output)) return as_document(*items, flags.output);
        if (flags.output == Output::name) return names_of(*items);
        Terminal terminal = look_at_terminal(1, flags.common.no_color);
        terminal.width = width;
        add_why(api, *items);
        if (items->empty()) return std::string(translated(texts.empty)) + "\n";
        return table(*items, flags.output, terminal);
    };
    if (flags.watch) return watch(flags.common, render);
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    auto text = render(*api, look_at_terminal(1, true).width);
    if (!text) return report_error(text.error());
    if (!text->empty()) print_text(*text);
    return exit_ok;
}

} // namespace

int do_jobs(const ListFlags& flags) {
    return show_list<control::WorkloadPage>(
        flags, flags.all ? "/v1/workloads?all=true" : "/v1/workloads",
        {flags.all ? "no jobs" : "no jobs that run or wait; muster jobs -a shows the others, too"},
        job_table);
}

int do_nodes(const ListFlags& flags) {
    return show_list<control::NodePage>(
        flags, "/v1/nodes", {"no nodes: start an agent with muster agent, or muster up"},
        node_table);
}

} // namespace muster::cli
