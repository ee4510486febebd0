#include "api/events.hpp"

#include "base/text.hpp"
#include "model/enum_text.hpp"

namespace muster::api {
namespace {

std::string count(std::size_t number, const std::string& noun) {
    return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

std::string because(const Reason& reason) {
    const std::string text = explain(reason);
    return text.empty() ? "" : ": " + text;
}

std::string level_of(AttemptOutcome outcome) {
    switch (outcome) {
    case AttemptOutcome::failed: return "error";
    case AttemptOutcome::lost: return "warning";
    default: return "info";
    }
}

/// Fills level, type, subject and text, one overload a fact.
class Describe {
  public:
    Describe(EventView& view, const WorkloadNames& names) : view_(view), names_(names) {}

    void operator()(const InstallationCreated& fact) {
        set("InstallationCreated", "installation", "installation " + to_text(fact.id) + " created");
    }
    void operator()(const NodeJoined& fact) {
        node("NodeJoined", fact.node,
             "node " + fact.node.text + " is there with " +
                 count(fact.inventory.devices.size(), "device") + " (incarnation " +
                 std::to_string(fact.incarnation) + ")" + because(fact.reason));
    }
    void operator()(const NodeInventoryChanged& fact) {
        node("NodeInventoryChanged", fact.node,
             "node " + fact.node.text + " has " + count(fact.inventory.devices.size(), "device") +
                 " now");
    }
    void operator()(const NodeLost& fact) {
        node("NodeLost", fact.node, "node " + fact.node.text + " is lost" + because(fact.reason));
        view_.level = "error";
    }
    void operator()(const NodeBack& fact) {
        node("NodeBack", fact.node, "node " + fact.node.text + " is back" + because(fact.reason));
    }
    void operator()(const NodeCordoned& fact) {
        node("NodeCordoned", fact.node,
             "node " + fact.node.text + " takes no new work" + because(fact.reason));
        view_.level = "warning";
    }
    void operator()(const NodeUncordoned& fact) {
        node("NodeUncordoned", fact.node,
             "node " + fact.node.text + " takes work again" + because(fact.reason));
    }
    void operator()(const WorkloadSubmitted& fact) {
        set("WorkloadSubmitted", "job/" + fact.name.text,
            "job " + fact.name.text +
                " submitted: " + count(static_cast<std::size_t>(total_ranks(fact.spec)), "rank") +
                " on " + count(static_cast<std::size_t>(total_devices(fact.spec)), "device"));
    }
    void operator()(const WorkloadAdmitted& fact) {
        std::string nodes;
        for (const auto& placed : fact.placement.nodes)
            nodes += (nodes.empty() ? "" : ", ") + placed.node.text;
        job("WorkloadAdmitted", fact.id,
            "attempt " + std::to_string(fact.attempt) + " placed on " + nodes +
                because(fact.reason));
    }
    void operator()(const WorkloadStopAsked& fact) {
        job("WorkloadStopAsked", fact.id, "stopping" + because(fact.reason));
    }
    void operator()(const GenerationStarted& fact) {
        job("GenerationStarted", fact.id,
            "generation " + std::to_string(fact.generation) + " of attempt " +
                std::to_string(fact.attempt) + " started " +
                count(static_cast<std::size_t>(fact.ranks), "rank"));
    }
    void operator()(const GenerationProgressed& fact) {
        job("GenerationProgressed", fact.id,
            "generation " + std::to_string(fact.so_far.generation) + " of attempt " +
                std::to_string(fact.attempt) + " is at step " +
                std::to_string(fact.so_far.last_step));
    }
    void operator()(const GenerationClosed& fact) {
        std::string text = "generation " + std::to_string(fact.summary.generation) +
                           " of attempt " + std::to_string(fact.attempt) + " ended";
        if (fact.summary.last_step >= 0)
            text += " after step " + std::to_string(fact.summary.last_step);
        job("GenerationClosed", fact.id, text + because(fact.reason));
        if (fact.summary.cause) view_.level = "warning";
    }
    void operator()(const AttemptEnded& fact) {
        job("AttemptEnded", fact.id,
            "attempt " + std::to_string(fact.attempt) + ' ' + enum_name(fact.outcome) +
                because(fact.reason));
        view_.level = level_of(fact.outcome);
    }
    void operator()(const DevicesReleased& fact) {
        job("DevicesReleased", fact.id,
            "devices on " + fact.node.text + " are free again (attempt " +
                std::to_string(fact.attempt) + ")" + because(fact.reason));
    }
    void operator()(const WorkloadRequeued& fact) {
        job("WorkloadRequeued", fact.id, "queued again" + because(fact.reason));
        view_.level = "warning";
    }
    void operator()(const WorkloadFinished& fact) {
        job("WorkloadFinished", fact.id,
            enum_name(fact.phase) + " with exit code " + std::to_string(fact.exit_code) +
                because(fact.reason));
        if (fact.phase == WorkloadPhase::failed) view_.level = "error";
    }
    void operator()(const WorkloadForgotten& fact) {
        job("WorkloadForgotten", fact.id, "forgotten: only the newest finished jobs are kept");
    }

  private:
    void set(std::string type, std::string subject, std::string text) {
        view_.level = "info";
        view_.type = std::move(type);
        view_.subject = std::move(subject);
        view_.text = std::move(text);
    }
    void node(std::string type, const NodeName& name, std::string text) {
        set(std::move(type), "node/" + name.text, std::move(text));
    }
    void job(std::string type, const WorkloadId& id, const std::string& text) {
        const std::string name = names_.name_of(id);
        set(std::move(type), "job/" + name, "job " + name + ' ' + text);
    }

    EventView& view_;
    const WorkloadNames& names_;
};

} // namespace

void WorkloadNames::learn(const FactRecord& record) {
    if (const auto* submitted = std::get_if<WorkloadSubmitted>(&record.fact))
        learn(submitted->id, submitted->name);
    const auto* forgotten = std::get_if<WorkloadForgotten>(&record.fact);
    if (forgotten == nullptr) return;
    if (auto known = names_.extract(forgotten->id)) // its last event still has its name
        remember_past(forgotten->id, std::move(known.mapped()));
}

void WorkloadNames::recall(const FactRecord& record) {
    const auto* submitted = std::get_if<WorkloadSubmitted>(&record.fact);
    if (submitted != nullptr && !names_.contains(submitted->id))
        remember_past(submitted->id, submitted->name);
}

void WorkloadNames::remember_past(const WorkloadId& id, WorkloadName name) {
    if (!past_.emplace(id, std::move(name)).second) return;
    past_order_.push_back(id);
    if (past_order_.size() <= past_names_max) return;
    past_.erase(past_order_.front());
    past_order_.pop_front();
}

std::string WorkloadNames::name_of(const WorkloadId& id) const {
    if (const auto found = names_.find(id); found != names_.end()) return found->second.text;
    const auto found = past_.find(id);
    return found == past_.end() ? to_short_text(id) : found->second.text;
}

bool is_event(const Fact& fact) { return !std::holds_alternative<GenerationProgressed>(fact); }

EventView event_view(const FactRecord& record, const WorkloadNames& names) {
    EventView view;
    view.sequence = record.sequence;
    view.at = record.at;
    view.actor = record.actor;
    std::visit(Describe(view, names), record.fact);
    return view;
}

} // namespace muster::api
