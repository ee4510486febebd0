// Views of the ledger and of what is seen live.

#include "control/core_state.hpp"
#include "goodput/goodput.hpp"
#include "scheduler/scheduler.hpp"

#include <algorithm>

namespace muster::control {
namespace {

const AttemptLive* live_of(const CoreState& state, const WorkloadRecord& workload) {
    const auto* attempt = workload.live_attempt();
    if (attempt == nullptr) return nullptr;
    const auto live = state.live.attempts.find({workload.id, attempt->number});
    return live == state.live.attempts.end() ? nullptr : &live->second;
}

WorkloadCondition condition_of(const AttemptRecord& attempt, const AttemptLive* live) {
    if (live == nullptr) return WorkloadCondition::starting;
    const auto lead = live->launchers.find(attempt.lead);
    const auto state = lead == live->launchers.end() ? LauncherState::joining : lead->second.state;
    if (state == LauncherState::recovering) return WorkloadCondition::recovering;
    if (state == LauncherState::running)
        return live->open.last_step >= 0 || attempt.generation == 1 ? WorkloadCondition::training
                                                                    : WorkloadCondition::recovering;
    return attempt.generation > 1 ? WorkloadCondition::recovering : WorkloadCondition::starting;
}

Contact contact_of(const CoreState& state, const NodeRecord& node) {
    if (node.lost) return Contact::lost;
    return in_contact(state, node.name) ? Contact::connected : Contact::suspect;
}

AttemptView view_of(const AttemptRecord& attempt) {
    AttemptView view;
    view.number = attempt.number;
    view.state = attempt.state;
    view.outcome = attempt.outcome;
    view.term = attempt.term;
    view.generation = attempt.generation;
    view.placement = attempt.placement;
    view.placed_at = attempt.placed_at;
    view.ended_at = attempt.ended_at;
    view.reason = attempt.reason;
    view.cause = attempt.cause;
    view.generations = attempt.generations;
    view.holding = attempt.holding;
    return view;
}

goodput::JobTimes times_of(const CoreState& state, const WorkloadRecord& workload) {
    goodput::JobTimes job;
    job.submitted_at = workload.submitted_at;
    job.finished_at = is_terminal(workload.phase) ? workload.finished_at : state.now;
    const auto devices = total_devices(workload.spec);
    const auto* live = live_of(state, workload);
    for (const auto& attempt : workload.attempts) {
        goodput::AttemptTimes times;
        times.number = attempt.number;
        times.devices = devices > 0 ? devices : total_ranks(workload.spec);
        times.placed_at = attempt.placed_at;
        times.ended_at = attempt.state == AttemptState::ended ? attempt.ended_at : state.now;
        times.generations = attempt.generations;
        const Generation closed =
            attempt.generations.empty() ? 0 : attempt.generations.back().generation;
        if (attempt.state != AttemptState::ended && attempt.generation > closed) {
            GenerationSummary open;
            if (attempt.open) open = *attempt.open;
            if (live != nullptr && live->open.generation == attempt.generation) open = live->open;
            open.generation = attempt.generation;
            if (open.started_at == Instant{}) open.started_at = attempt.generation_at;
            times.running = open;
        }
        job.attempts.push_back(std::move(times));
    }
    return job;
}

void add_steps(ReportView& report, const GenerationSummary& generation) {
    if (generation.last_step >= 0) report.progress_reported = true;
    report.steps = std::max(report.steps, capped_sum(generation.last_step, 1));
    report.total_steps = std::max(report.total_steps, generation.total_steps);
    report.samples = capped_sum(report.samples, generation.samples);
    if (!generation.has_loss) return;
    if (!report.first_loss) report.first_loss = generation.first_loss;
    report.last_loss = generation.last_loss;
}

void add_known(Progress& progress, const GenerationSummary& generation) {
    progress.step = std::max(progress.step, generation.last_step);
    progress.total = std::max(progress.total, generation.total_steps);
    if (!generation.has_loss) return;
    progress.loss = generation.last_loss;
    progress.has_loss = true;
}

} // namespace

const WorkloadRecord* find_workload(const CoreState& state, const std::string& job) {
    const auto named = state.ledger.newest.find(WorkloadName{job});
    if (named != state.ledger.newest.end()) return state.ledger.workload(named->second);
    const auto raw = raw_id_from_text(job);
    return raw ? state.ledger.workload(WorkloadId{*raw}) : nullptr;
}

WorkloadView view_of(const CoreState& state, const WorkloadRecord& workload) {
    WorkloadView view;
    view.id = workload.id;
    view.name = workload.name;
    view.cluster = state.ledger.cluster;
    view.phase = phase_told(workload);
    view.priority = workload.spec.priority;
    view.ranks = total_ranks(workload.spec);
    view.devices = total_devices(workload.spec);
    view.submitted_by = workload.submitted_by;
    view.submitted_at = workload.submitted_at;
    view.finished_at = workload.finished_at;
    view.attempt = workload.attempts_made;
    view.restarts = workload.restarts;
    view.reason = workload.reason;
    if (is_terminal(workload.phase)) view.exit_code = workload.exit_code;
    for (const auto& attempt : workload.attempts)
        if (view.started_at == Instant{}) view.started_at = attempt.running_since;
    const auto* live = live_of(state, workload);
    if (const auto* attempt = workload.live_attempt()) {
        view.condition = condition_of(*attempt, live);
        for (const auto& placed : attempt->placement.nodes) view.nodes.push_back(placed.node);
    }
    if (live != nullptr && live->progress) {
        view.progress = *live->progress;
    } else {
        // Not seen running: the last that is known for good.
        for (const auto& attempt : workload.attempts) {
            for (const auto& generation : attempt.generations) add_known(view.progress, generation);
            if (attempt.open) add_known(view.progress, *attempt.open);
        }
        view.progress.step = std::max(view.progress.step, workload.last_step);
        view.progress.reported = view.progress.step >= 0;
    }
    return view;
}

WorkloadDetail detail_of(const CoreState& state, const WorkloadRecord& workload) {
    WorkloadDetail detail;
    detail.workload = view_of(state, workload);
    detail.spec = workload.spec;
    for (const auto& attempt : workload.attempts) detail.attempts.push_back(view_of(attempt));
    const auto* live = live_of(state, workload);
    const auto* attempt = workload.live_attempt();
    if (live == nullptr || attempt == nullptr || !live->table) return detail;
    for (const auto& row : live->table->ranks) {
        const auto index = static_cast<std::size_t>(row.launcher);
        if (index >= attempt->placement.nodes.size()) continue;
        detail.ranks.push_back({row.rank, row.role, attempt->placement.nodes[index].node,
                                row.local_rank, row.devices});
    }
    return detail;
}

WhyView why_of(const CoreState& state, const WorkloadRecord& workload) {
    WhyView why;
    why.name = workload.name;
    why.phase = phase_told(workload);
    const auto add = [&](const Reason& reason) {
        // An attempt, its generations and the job itself often have one cause: it is told once.
        const bool told = std::any_of(why.items.begin(), why.items.end(),
                                      [&](const WhyItem& item) { return item.reason == reason; });
        if (reason.code == ReasonCode::none || told) return;
        why.items.push_back({reason, explain(reason), unblocks_when(reason)});
    };
    if (workload.phase == WorkloadPhase::queued)
        for (const auto& reason :
             scheduler::why_waiting(state.scheduling, state.live.blocker, workload.id, state.now))
            add(reason);
    add(workload.reason);
    for (auto it = workload.attempts.rbegin(); it != workload.attempts.rend(); ++it) {
        for (auto closed = it->generations.rbegin(); closed != it->generations.rend(); ++closed)
            if (closed->cause) add(closed->cause->reason);
        add(it->reason);
    }
    return why;
}

ReportView report_of(const CoreState& state, const WorkloadRecord& workload) {
    ReportView report;
    report.name = workload.name;
    report.phase = phase_told(workload);
    report.exit_code = workload.exit_code;
    const auto times = times_of(state, workload);
    report.wall = times.finished_at - times.submitted_at;
    Duration held;
    for (const auto& attempt : times.attempts) {
        held += attempt.ended_at - attempt.placed_at;
        for (const auto& generation : attempt.generations) add_steps(report, generation);
        if (attempt.running) add_steps(report, *attempt.running);
    }
    report.queued = std::max(Duration{}, report.wall - held);
    report.account = goodput::account(times);
    report.restarts = goodput::restarts(times);
    if (!report.progress_reported)
        report.notes.push_back("progress was not reported: call muster.progress(step=...) in the "
                               "training loop for steps, loss and productive time");
    return report;
}

NodeView view_of(const CoreState& state, const NodeRecord& node) {
    NodeView view;
    view.name = node.name;
    view.cluster = state.ledger.cluster;
    view.contact = contact_of(state, node);
    view.schedulable = accepts_work(node) && view.contact == Contact::connected;
    view.cordons = node.cordons;
    view.incarnation = node.incarnation;
    view.inventory = node.inventory;
    view.devices = static_cast<std::int64_t>(node.inventory.devices.size());
    view.devices_used = static_cast<std::int64_t>(node.holders.size());
    for (const auto& key : node.attempts)
        if (const auto* workload = state.ledger.workload(key.workload))
            if (std::find(view.workloads.begin(), view.workloads.end(), workload->name) ==
                view.workloads.end())
                view.workloads.push_back(workload->name);
    view.joined_at = node.joined_at;
    view.since_beat = Duration{-1};
    const auto agent = state.live.agents.find(node.name);
    if (agent != state.live.agents.end()) {
        view.since_beat = state.now - agent->second.beat_at;
        view.sample = agent->second.sample;
    }
    return view;
}

} // namespace muster::control
