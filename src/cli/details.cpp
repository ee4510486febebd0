// job, node, version: one thing with everything.

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/messages.hpp"
#include "cli/pause.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "cli/version.hpp"
#include "cli/views_text.hpp"
#include "cli/watch.hpp"

#include <fmt/format.h>

namespace muster::cli {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
constexpr std::size_t ranks_shown_max = 64;

std::string time_and_age(Instant at, Instant now) {
    return at.ns == 0 ? "" : say("{} ({} ago)", to_text(at), age_text(at, now));
}

Fields job_fields(const WorkloadDetail& detail, const Terminal& terminal, Instant now) {
    const auto& job = detail.workload;
    Fields fields = {{say("Name"), to_text(job.name)}, {say("Id"), to_text(job.id)}};
    std::string state = styled(terminal, state_style(job), state_word(job));
    // How it was placed says nothing about a job that runs.
    const bool at_work =
        job.phase == WorkloadPhase::admitted || job.phase == WorkloadPhase::running;
    const bool tells = !at_work || job.reason.code != ReasonCode::fits;
    if (const auto why = explain(job.reason); tells && !why.empty()) state += ": " + why;
    fields.push_back({say("State"), state});
    if (job.exit_code) fields.push_back({say("Exit code"), std::to_string(*job.exit_code)});
    fields.push_back({say("Priority"), std::to_string(job.priority)});
    fields.push_back({say("Size"), counted(job.ranks, "rank", "ranks") + ", " +
                                       counted(job.devices, "device", "devices")});
    if (!job.nodes.empty()) fields.push_back({say("Nodes"), joined_names(job.nodes)});
    fields.push_back(
        {say("Submitted"), time_and_age(job.submitted_at, now) +
                               (job.submitted_by.empty() ? "" : " by " + job.submitted_by)});
    if (job.started_at.ns > 0)
        fields.push_back({say("Started"), time_and_age(job.started_at, now)});
    if (job.finished_at.ns > 0)
        fields.push_back({say("Finished"), time_and_age(job.finished_at, now)});
    fields.push_back({say("Restarts"), std::to_string(job.restarts)});
    const auto& progress = job.progress;
    if (progress.reported) {
        std::string text = progress_cell(job, now);
        if (progress.total > 0)
            text += say(", step {} of {}", grouped(capped_sum(progress.step, 1)),
                        grouped(progress.total));
        if (progress.has_loss) text += say(", loss {}", loss_text(progress.loss));
        if (progress.samples_per_second > 0)
            text += say(", {} samples/s", rate_text(progress.samples_per_second));
        if (const auto eta = eta_text(progress.eta); !eta.empty()) text += say(", ETA {}", eta);
        fields.push_back({say("Progress"), text});
        for (const auto& [name, value] : progress.metrics)
            fields.push_back({"", name + " " + loss_text(value)});
    }
    for (const auto& role : detail.spec.roles) {
        std::string command;
        for (const auto& word : role.command) command += (command.empty() ? "" : " ") + word;
        fields.push_back({say("Command"), printable(command, false)});
    }
    if (!detail.spec.workdir.empty()) fields.push_back({say("Workdir"), detail.spec.workdir});
    return fields;
}

std::string attempts_table(const std::vector<AttemptView>& attempts, const Terminal& terminal) {
    const std::vector<Column> columns = {{"ATTEMPT", true},       {"STATE"},
                                         {"GENERATION", true},    {"NODES", false, 2, 8},
                                         {"PLACED", false, 3, 8}, {"REASON", false, 1, 20}};
    std::vector<std::vector<std::string>> rows;
    for (const auto& attempt : attempts) {
        std::vector<NodeName> nodes;
        for (const auto& placed : attempt.placement.nodes) nodes.push_back(placed.node);
        const bool ended = attempt.state == AttemptState::ended;
        std::string state = ended ? word_of(attempt.outcome) : word_of(attempt.state);
        if (!attempt.holding.empty() && ended) state += " (holds devices)";
        rows.push_back({std::to_string(attempt.number), std::move(state),
                        std::to_string(attempt.generation), joined_names(nodes),
                        to_text(attempt.placed_at), explain(attempt.reason)});
    }
    return fit_table(columns, rows, terminal.width);
}

std::string ranks_table(const std::vector<RankView>& ranks, const Terminal& terminal) {
    const std::vector<Column> columns = {
        {"RANK", true}, {"ROLE"}, {"NODE"}, {"LOCAL RANK", true}, {"DEVICES"}};
    std::vector<std::vector<std::string>> rows;
    for (const auto& rank : ranks) {
        if (rows.size() == ranks_shown_max) break;
        rows.push_back({std::to_string(rank.rank), to_text(rank.role), to_text(rank.node),
                        std::to_string(rank.local_rank), indices_text(rank.devices)});
    }
    std::string text = fit_table(columns, rows, terminal.width);
    if (ranks.size() > ranks_shown_max)
        text += say("... and {} more: -o json shows all", ranks.size() - ranks_shown_max) + "\n";
    return text;
}

std::string job_text(const WorkloadDetail& detail, const Terminal& terminal) {
    std::string text = field_list(job_fields(detail, terminal, wall_now()), terminal.width);
    const ExitCause* cause = nullptr;
    for (const auto& attempt : detail.attempts)
        if (attempt.cause) cause = &*attempt.cause;
    if (cause != nullptr) {
        text += "\n";
        for (const auto& line : cause_lines(terminal, *cause)) text += line + "\n";
    }
    if (!detail.attempts.empty()) text += "\n" + attempts_table(detail.attempts, terminal);
    if (!detail.ranks.empty()) text += "\n" + ranks_table(detail.ranks, terminal);
    return text;
}

std::string node_text(const NodeView& node, const Terminal& terminal) {
    const Instant now = wall_now();
    Fields fields = {{say("Name"), to_text(node.name)},
                     {say("State"), styled(terminal, node_style(node), node_state_word(node))}};
    for (const auto& cordon : node.cordons)
        fields.push_back({say("Cordon"), say("by {} since {}: {}", word_of(cordon.owner),
                                             to_text(cordon.since), cordon.reason)});
    if (node.since_beat.ns >= 0)
        fields.push_back({say("Last sign"), say("{} ago", duration_for_people(node.since_beat))});
    const auto& inventory = node.inventory;
    fields.push_back({say("Host"), inventory.hostname + " " + inventory.address});
    fields.push_back({say("CPUs"), std::to_string(inventory.cpus) +
                                       (node.sample ? say(", {} busy", cpu_text(node)) : "")});
    fields.push_back({say("Memory"), memory_text(node)});
    if (node.sample)
        fields.push_back(
            {say("Disk"), fmt::format("{} % used", node.sample->disk_used_per_mille / 10)});
    fields.push_back({say("Devices"), say("{} of {} in use", node.devices_used, node.devices)});
    for (const auto& device : inventory.devices) {
        std::string text = std::to_string(device.index) + ": " + device_product(device);
        if (device.memory_bytes > 0) text += ", " + bytes_text(device.memory_bytes);
        if (!device.uuid.empty()) text += ", " + device.uuid;
        fields.push_back({"", text});
    }
    if (!node.workloads.empty()) fields.push_back({say("Jobs"), joined_names(node.workloads)});
    fields.push_back({say("Joined"), time_and_age(node.joined_at, now)});
    fields.push_back({say("Incarnation"), std::to_string(node.incarnation)});
    fields.push_back({say("Agent"), inventory.version});
    return field_list(fields, terminal.width);
}

} // namespace

int do_job(const ShowFlags& flags) {
    return show_one<WorkloadDetail>(
        flags, job_path(flags.name), [&](const auto& view, auto& terminal) {
            return flags.output == Output::name ? to_text(view.workload.name)
                                                : job_text(view, terminal);
        });
}

int do_node(const ShowFlags& flags) {
    return show_one<NodeView>(flags, node_path(flags.name), [&](const auto& view, auto& terminal) {
        return flags.output == Output::name ? to_text(view.name) : node_text(view, terminal);
    });
}

int do_version(const ShowFlags& flags) {
    print_text(say("muster {}", muster_version));
    // Without a server the client's own version is all there is to say, and no error.
    auto api = Api::connect(flags.common);
    if (!api) return exit_ok;
    constexpr Duration short_wait = Duration::seconds(2);
    auto server = api->get<ServerView>("/v1/server", short_wait);
    if (server)
        print_text(say("server {} at {} (installation {})", server->version, api->place().url,
                       to_text(server->installation)));
    return exit_ok;
}

} // namespace muster::cli
