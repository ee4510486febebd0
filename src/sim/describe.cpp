#include "sim/describe.hpp"

#include "model/enum_text.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

std::string key(const WorkloadId& id, AttemptNumber attempt) {
    return fmt::format("{}.{}", to_short_text(id), attempt);
}

std::string in_words(const InstallationCreated&) { return "InstallationCreated"; }
std::string in_words(const NodeJoined& f) {
    return fmt::format("NodeJoined {} incarnation {}", f.node.text, f.incarnation);
}
std::string in_words(const NodeInventoryChanged& f) {
    return "NodeInventoryChanged " + f.node.text;
}
std::string in_words(const NodeLost& f) { return "NodeLost " + f.node.text; }
std::string in_words(const NodeBack& f) { return "NodeBack " + f.node.text; }
std::string in_words(const NodeCordoned& f) { return "NodeCordoned " + f.node.text; }
std::string in_words(const NodeUncordoned& f) { return "NodeUncordoned " + f.node.text; }
std::string in_words(const WorkloadSubmitted& f) {
    return fmt::format("WorkloadSubmitted {} {}", f.name.text, to_short_text(f.id));
}
std::string in_words(const WorkloadAdmitted& f) {
    std::string out = "WorkloadAdmitted " + key(f.id, f.attempt) + " on";
    for (const auto& node : f.placement.nodes)
        out += fmt::format(" {}x{}", node.node.text, node.seats.size());
    return out;
}
std::string in_words(const WorkloadStopAsked& f) {
    return "WorkloadStopAsked " + to_short_text(f.id);
}
std::string in_words(const GenerationStarted& f) {
    return fmt::format("GenerationStarted {} generation {}", key(f.id, f.attempt), f.generation);
}
std::string in_words(const GenerationProgressed& f) {
    return fmt::format("GenerationProgressed {} generation {} step {}", key(f.id, f.attempt),
                       f.so_far.generation, f.so_far.last_step);
}
std::string in_words(const GenerationClosed& f) {
    return fmt::format("GenerationClosed {} generation {} last step {} ({})", key(f.id, f.attempt),
                       f.summary.generation, f.summary.last_step, explain(f.reason));
}
std::string in_words(const AttemptEnded& f) {
    return fmt::format("AttemptEnded {} {} ({})", key(f.id, f.attempt), enum_name(f.outcome),
                       explain(f.reason));
}
std::string in_words(const DevicesReleased& f) {
    return fmt::format("DevicesReleased {} {}", key(f.id, f.attempt), f.node.text);
}
std::string in_words(const WorkloadRequeued& f) {
    return fmt::format("WorkloadRequeued {} ({})", to_short_text(f.id), explain(f.reason));
}
std::string in_words(const WorkloadFinished& f) {
    return fmt::format("WorkloadFinished {} {} exit code {} ({})", to_short_text(f.id),
                       enum_name(f.phase), f.exit_code, explain(f.reason));
}
std::string in_words(const WorkloadForgotten& f) {
    return "WorkloadForgotten " + to_short_text(f.id);
}

} // namespace

std::string describe(const Fact& fact) {
    return std::visit([](const auto& f) { return in_words(f); }, fact);
}

} // namespace muster::sim
