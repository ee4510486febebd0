// What people and programs ask: changes, reads, waits.

#include "base/require.hpp"
#include "control/core_state.hpp"
#include "model/spec.hpp"
#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace muster::control {
namespace {

using Answer = Result<Response>;

tl::unexpected<Error> no_such_job(const std::string& job) {
    return fail(Code::not_found, "there is no job " + job, "see muster jobs --all", "job");
}
tl::unexpected<Error> no_such_node(const NodeName& node) {
    return fail(Code::not_found, "there is no node " + node.text, "see muster nodes", "node");
}

WhyItem why_item(const Reason& reason) { return {reason, explain(reason), unblocks_when(reason)}; }

/// Refuses what no machine of the cluster could ever run, while there are machines to judge by.
Status check_possible(const CoreState& state, const WorkloadSpec& spec) {
    if (state.scheduling.nodes.empty()) return ok();
    const auto never = scheduler::never_fits(state.scheduling, scheduler::shape_of(spec));
    if (!never) return ok();
    return fail(Code::failed_precondition, explain(*never),
                "it starts when " + unblocks_when(*never), "roles");
}

std::string would_start_on(const Placement& placement) {
    std::string text;
    for (const auto& node : placement.nodes)
        text += (text.empty() ? "; would start on " : ", ") + node.node.text + " (" +
                std::to_string(node.seats.size()) + (node.seats.size() == 1 ? " rank)" : " ranks)");
    return text;
}

/// What a plan made now would do with the spec; takes nothing.
std::vector<WhyItem> dry_plan(CoreState& state, const WorkloadSpec& spec, const WorkloadId& id) {
    note_contact(state);
    scheduler::State scratch = state.scheduling;
    scratch.apply(WorkloadSubmitted{id, WorkloadName{"this-job"}, spec, "", {}}, state.now);
    const auto plan = scheduler::plan(scratch, state.now);
    for (const auto& admission : plan.admissions) {
        if (admission.id == id) {
            auto item = why_item(admission.reason);
            item.text += would_start_on(admission.placement);
            return {item};
        }
        scratch.apply(WorkloadAdmitted{admission.id, 1, admission.placement, admission.reason},
                      state.now);
    }
    std::vector<WhyItem> items;
    for (const auto& reason : scheduler::why_waiting(scratch, plan.blocker, id, state.now))
        items.push_back(why_item(reason));
    return items;
}

struct Asker {
    CoreState& state;
    const RequestAsked& asked;

    void answer(Answer response) const {
        state.out->commands.push_back(AnswerRequest{asked.reply, std::move(response)});
    }

    void operator()(const Submit& submit) const {
        if (auto refused_or_dry = submitted(submit)) answer(std::move(*refused_or_dry));
    }

    /// The answer at once, or nothing where it comes at the end of the step.
    std::optional<Answer> submitted(const Submit& submit) const {
        if (!submit.client_token.empty()) {
            const auto known = state.ledger.tokens.find(submit.client_token);
            if (known != state.ledger.tokens.end()) {
                const auto& workload = *state.ledger.workload(known->second);
                auto told = submit.spec;
                told.name = workload.spec.name;
                if (told != workload.spec ||
                    (submit.spec.name && submit.spec.name != workload.name))
                    return Answer(fail(Code::already_exists,
                                       "this client token was used for another request (job " +
                                           workload.name.text + ")",
                                       "make a new token for each new job", "client_token"));
                state.live.workload_replies.push_back({asked.reply, workload.id, true, true});
                return std::nullopt;
            }
        }
        const auto id = WorkloadId::make(state.now, asked.random_high, asked.random_low);
        const WorkloadName name = submit.spec.name.value_or(default_name(submit.spec, id));
        if (state.ledger.alive.contains(name))
            return Answer(fail(Code::already_exists, "a job named " + name.text + " is alive",
                               "choose another name, or cancel it first", "name"));
        if (auto possible = check_possible(state, submit.spec); !possible)
            return Answer(fail(possible.error()));
        if (state.ledger.workloads.size() - state.ledger.finished.size() >= state.config.queued_max)
            return Answer(fail(Code::resource_exhausted,
                               std::to_string(state.config.queued_max) + " jobs are alive already",
                               "wait for some to finish"));
        if (submit.dry_run) {
            Submitted would;
            would.workload.id = id;
            would.workload.name = name;
            would.workload.cluster = state.ledger.cluster;
            would.workload.priority = submit.spec.priority;
            would.workload.ranks = total_ranks(submit.spec);
            would.workload.devices = total_devices(submit.spec);
            would.dry_run = true;
            would.plan = dry_plan(state, submit.spec, id);
            return Answer(std::move(would));
        }
        if (state.ledger.workloads.contains(id))
            return Answer(
                fail(Code::unavailable, "the id drawn for the job is in use", "try again"));
        state.emit(asked.actor, WorkloadSubmitted{id,
                                                  name,
                                                  submit.spec,
                                                  submit.client_token,
                                                  {ReasonCode::submitted, name.text, 0, 0, ""}});
        state.live.workload_replies.push_back({asked.reply, id, true, false});
        return std::nullopt;
    }

    void operator()(const Cancel& cancel) const {
        const auto* workload = find_workload(state, cancel.job);
        if (workload == nullptr) return answer(no_such_job(cancel.job));
        if (!is_terminal(workload->phase) && !workload->stop_asked)
            state.emit(asked.actor,
                       WorkloadStopAsked{workload->id,
                                         {ReasonCode::cancelled_by_user, asked.actor, 0, 0, ""}});
        state.live.workload_replies.push_back({asked.reply, workload->id, false, false});
    }

    void operator()(const ListWorkloads& list) const {
        WorkloadPage page;
        const auto limit = std::clamp<std::int64_t>(list.limit, 1, page_limit_max);
        auto it = state.ledger.workloads.begin();
        if (!list.after.empty()) {
            const auto after = raw_id_from_text(list.after);
            if (!after)
                return answer(fail(Code::invalid_argument,
                                   "\"" + list.after + "\" is no page token",
                                   "take the `next` of the page before", "after"));
            it = state.ledger.workloads.upper_bound(WorkloadId{*after});
        }
        for (; it != state.ledger.workloads.end(); ++it) {
            if (!list.all && is_terminal(it->second.phase)) continue;
            if (static_cast<std::int64_t>(page.items.size()) == limit) {
                page.next = to_text(page.items.back().id);
                break;
            }
            page.items.push_back(view_of(state, it->second));
        }
        answer(std::move(page));
    }

    void operator()(const GetWorkload& get) const {
        const auto* workload = find_workload(state, get.job);
        answer(workload == nullptr ? Answer(no_such_job(get.job))
                                   : Answer(detail_of(state, *workload)));
    }
    void operator()(const Why& why) const {
        note_contact(state);
        const auto* workload = find_workload(state, why.job);
        answer(workload == nullptr ? Answer(no_such_job(why.job))
                                   : Answer(why_of(state, *workload)));
    }
    void operator()(const GetReport& get) const {
        const auto* workload = find_workload(state, get.job);
        answer(workload == nullptr ? Answer(no_such_job(get.job))
                                   : Answer(report_of(state, *workload)));
    }

    void operator()(const AwaitWorkload& await) const {
        const auto* workload = find_workload(state, await.job);
        if (workload == nullptr) return answer(no_such_job(await.job));
        const Instant until = state.now + std::min(await.hold, hold_max);
        state.live.awaits[asked.reply] = {workload->id, until};
        state.live.deadlines.insert({until, asked.reply});
        state.live.changed_workloads.insert(workload->id); // it may be over already
    }

    void operator()(const ListNodes& list) const {
        NodePage page;
        const auto limit = std::clamp<std::int64_t>(list.limit, 1, page_limit_max);
        for (auto it = state.ledger.nodes.upper_bound(NodeName{list.after});
             it != state.ledger.nodes.end(); ++it) {
            if (static_cast<std::int64_t>(page.items.size()) == limit) {
                page.next = page.items.back().name.text;
                break;
            }
            page.items.push_back(view_of(state, it->second));
        }
        answer(std::move(page));
    }

    void operator()(const GetNode& get) const {
        const auto* node = state.ledger.node(get.node);
        answer(node == nullptr ? Answer(no_such_node(get.node)) : Answer(view_of(state, *node)));
    }

    void operator()(const CordonNode& cordon) const {
        const auto* node = state.ledger.node(cordon.node);
        if (node == nullptr) return answer(no_such_node(cordon.node));
        const bool same =
            std::any_of(node->cordons.begin(), node->cordons.end(), [&](const Cordon& c) {
                return c.owner == CordonOwner::admin && c.reason == cordon.reason;
            });
        if (!same)
            state.emit(asked.actor, NodeCordoned{cordon.node,
                                                 CordonOwner::admin,
                                                 {ReasonCode::cordoned_by_admin, asked.actor, 0, 0,
                                                  cordon.reason}});
        answer(view_of(state, *node));
    }

    void operator()(const UncordonNode& uncordon) const {
        const auto* node = state.ledger.node(uncordon.node);
        if (node == nullptr) return answer(no_such_node(uncordon.node));
        const bool cordoned =
            std::any_of(node->cordons.begin(), node->cordons.end(),
                        [](const Cordon& c) { return c.owner == CordonOwner::admin; });
        if (cordoned)
            state.emit(asked.actor,
                       NodeUncordoned{uncordon.node,
                                      CordonOwner::admin,
                                      {ReasonCode::uncordoned_by_admin, asked.actor, 0, 0, ""}});
        answer(view_of(state, *node));
    }

    void operator()(const ReadJobLogs& read) const { ask_logs(state, asked, read); }

    void operator()(const GetServer&) const {
        answer(ServerView{state.ledger.installation, state.ledger.cluster, state.config.version,
                          state.now, state.ledger.last_sequence,
                          static_cast<std::int64_t>(state.ledger.nodes.size()),
                          static_cast<std::int64_t>(state.ledger.workloads.size())});
    }
};

} // namespace

void on_request(CoreState& state, const RequestAsked& asked) {
    std::visit(Asker{state, asked}, asked.request);
}

bool is_plain_read(const Request& request) {
    return std::holds_alternative<ListWorkloads>(request) ||
           std::holds_alternative<GetWorkload>(request) || std::holds_alternative<Why>(request) ||
           std::holds_alternative<GetReport>(request) ||
           std::holds_alternative<ListNodes>(request) || std::holds_alternative<GetNode>(request) ||
           std::holds_alternative<GetServer>(request);
}

void on_cancelled(CoreState& state, std::int64_t reply) {
    auto& live = state.live;
    if (const auto await = live.awaits.find(reply); await != live.awaits.end()) {
        live.deadlines.erase({await->second.until, reply});
        live.awaits.erase(await);
    } else if (const auto agent = live.agent_polls.find(reply); agent != live.agent_polls.end()) {
        auto& poll = live.agents[agent->second].poll;
        if (poll && poll->reply == reply) {
            live.deadlines.erase({poll->until, reply});
            poll.reset();
        }
        live.agent_polls.erase(agent);
    } else if (const auto launcher = live.launcher_polls.find(reply);
               launcher != live.launcher_polls.end()) {
        const auto [key, index] = launcher->second;
        auto& poll = live.attempts[key].launchers[index].poll;
        if (poll && poll->reply == reply) {
            live.deadlines.erase({poll->until, reply});
            poll.reset();
        }
        live.launcher_polls.erase(launcher);
    }
    std::erase_if(live.logs, [&](const auto& entry) { return entry.second.reply == reply; });
}

void answer_awaits(CoreState& state) {
    auto& live = state.live;
    for (const auto& due : std::exchange(live.workload_replies, {})) {
        const auto* workload = state.ledger.workload(due.workload);
        REQUIRE(workload != nullptr, "what a step has changed is not forgotten by it");
        Response response =
            due.submit ? Response{Submitted{view_of(state, *workload), due.existed, false, {}}}
                       : Response{detail_of(state, *workload)};
        state.out->commands.push_back(AnswerRequest{due.reply, std::move(response)});
    }
    const auto changed = std::exchange(live.changed_workloads, {});
    if (changed.empty() || live.awaits.empty()) return;
    for (auto it = live.awaits.begin(); it != live.awaits.end();) {
        const auto& [reply, await] = *it;
        const auto* workload = state.ledger.workload(await.workload);
        const bool over =
            workload == nullptr || is_terminal(workload->phase) || await.until <= state.now;
        if (!changed.contains(await.workload) || !over) {
            ++it;
            continue;
        }
        Answer answer = workload == nullptr
                            ? Answer(fail(Code::not_found, "the job was forgotten meanwhile"))
                            : Answer(detail_of(state, *workload));
        state.out->commands.push_back(AnswerRequest{reply, std::move(answer)});
        live.deadlines.erase({await.until, reply});
        it = live.awaits.erase(it);
    }
}

} // namespace muster::control
