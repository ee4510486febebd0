#include "sim/people.hpp"

#include "sim/world.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration request_limit = Duration::seconds(5);
constexpr Duration retry_max = Duration::seconds(3);

/// A repetition is worth it: the outcome is not known, or the cluster may look different then.
bool may_help(Code code) {
    return code_retryable(code) || code == Code::deadline_exceeded ||
           code == Code::unknown_outcome || code == Code::failed_precondition;
}

} // namespace

void People::submit(const JobPlan& plan) {
    control::Submit request;
    request.spec = plan.spec;
    submitted_.insert(plan.spec.name->text);
    request.client_token = "token-" + plan.spec.name->text;
    ask(std::move(request), plan.spec.name->text, 0);
}

void People::cancel(const std::string& name) {
    cancels_.insert(name);
    ask(control::Cancel{name}, name, 0);
}

void People::cordon(const NodeName& node) {
    ask(control::CordonNode{node, "a look inside"}, node.text, 0);
}
void People::uncordon(const NodeName& node) { ask(control::UncordonNode{node}, node.text, 0); }

void People::look() {
    switch (world_.prng.below(4)) {
    case 0: ask(control::ListWorkloads{.all = true, .after = {}}, "", 0); break;
    case 1: ask(control::ListNodes{.after = {}}, "", 0); break;
    case 2: {
        if (world_.setup.jobs.empty()) break;
        const auto& plan = world_.setup.jobs[world_.prng.below(world_.setup.jobs.size())];
        ask(control::Why{plan.spec.name->text}, "", 0);
        break;
    }
    default: {
        if (world_.setup.jobs.empty()) break;
        const auto& plan = world_.setup.jobs[world_.prng.below(world_.setup.jobs.size())];
        ask(control::GetReport{plan.spec.name->text}, "", 0);
        break;
    }
    }
}

void People::ask_why(const std::string& name, std::function<void(const WhyView&)> then) {
    world_.network.ask<control::Response>(
        {world_.people_id(), World::server_id}, {"request", 0}, request_limit,
        [&world = world_, name](const CallPtr<control::Response>& call) {
            world.server.request_asked(call, control::Why{name}, "user:tester");
        },
        [then = std::move(then)](const Result<control::Response>& response, bool late) {
            if (response && !late) then(std::get<WhyView>(*response));
        });
}

bool People::all_submitted() const {
    for (const auto& plan : world_.setup.jobs) {
        const std::string& name = plan.spec.name->text;
        const bool expected = plan.submit_at != Duration::max() || submitted_.contains(name);
        if (expected && !acknowledged_.contains(name)) return false;
    }
    return true;
}

void People::ask(control::Request request, std::string about, std::int64_t tries) {
    ++open_;
    auto shared = std::make_shared<const control::Request>(std::move(request));
    world_.network.ask<control::Response>(
        {world_.people_id(), World::server_id}, {"request", tries}, request_limit,
        [&world = world_, shared](const CallPtr<control::Response>& call) {
            world.server.request_asked(call, *shared, "user:tester");
        },
        [this, shared, about = std::move(about), tries](const Result<control::Response>& response,
                                                        bool late) {
            if (late) {
                if (response) world_.checks.acknowledged(about, *shared, *response);
                return;
            }
            --open_;
            answered(*shared, about, response);
            // Also refused ones: a cluster whose nodes did not join yet may be too small.
            const bool unclear = !response && may_help(response.error().code);
            if (about.empty() || !unclear) return;
            ++open_;
            world_.queue.after(world_.draw(Duration::millis(100), retry_max),
                               {"request_again", tries}, [this, shared, about, tries] {
                                   --open_;
                                   ask(*shared, about, tries + 1);
                               });
        });
}

void People::answered(const control::Request& request, const std::string& about,
                      const Result<control::Response>& response) {
    if (world_.tracing())
        world_.trace("people", fmt::format("request {} about {}: {}", request.index(), about,
                                           response ? "done" : to_text(response.error())));
    if (!response) {
        if (std::holds_alternative<control::Submit>(request) &&
            response.error().code == Code::already_exists)
            world_.violate("client token",
                           "a repeated submit was refused: " + to_text(response.error()));
        return;
    }
    world_.checks.acknowledged(about, request, *response);
    world_.checks.told(*response);
    if (std::holds_alternative<control::Submit>(request)) {
        acknowledged_[about].id = std::get<control::Submitted>(*response).workload.id;
    } else if (std::holds_alternative<control::Cancel>(request)) {
        acknowledged_[about].cancelled = true;
    } else if (const auto* cordon = std::get_if<control::CordonNode>(&request)) {
        cordoned_.insert(cordon->node);
    }
}

} // namespace muster::sim
