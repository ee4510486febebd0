#include "control/stalled.hpp"

#include <utility>

namespace muster::control {
namespace {

/// Whether the newest state has a submission by this token: it waits to be written, or was before.
bool known_token(const ControlCore& core, const Request& request) {
    const auto* submit = std::get_if<Submit>(&request);
    return submit != nullptr && !submit->dry_run &&
           core.ledger().tokens.contains(submit->client_token);
}

} // namespace

Stalled::Stalled(Error trouble, Ledger durable)
    : trouble_(std::move(trouble)), durable_(std::move(durable)) {}

Error Stalled::refused(const std::string& what, const std::string& then) const {
    return {Code::unavailable,
            what + ": " + trouble_.message,
            trouble_.hint.empty() ? then : trouble_.hint + "; " + then,
            {}};
}

Error Stalled::unclear() const {
    Error error = refused("the answer rests on what cannot be written yet",
                          "a change that was asked for is made as soon as there is room: look "
                          "before you ask again");
    error.code = Code::unknown_outcome;
    return error;
}

std::optional<ControlCommand> Stalled::answer(ControlCore& core, Instant now,
                                              const ControlEvent& event) {
    const auto* asked = std::get_if<RequestAsked>(&event);
    if (asked == nullptr)
        return std::nullopt; // beats keep nodes alive, and carry what must be kept
    if (is_plain_read(asked->request)) return core.read(now, *asked, durable_);
    if (std::holds_alternative<AwaitWorkload>(asked->request)) return std::nullopt; // may be held
    const auto refuse = [&](Error error) {
        return AnswerRequest{asked->reply, fail(std::move(error))};
    };
    if (std::holds_alternative<ReadJobLogs>(asked->request))
        return refuse(refused("no node can be asked for logs now", "then ask again"));
    if (known_token(core, asked->request)) return refuse(unclear());
    return refuse(refused("nothing can be changed now", "then ask again"));
}

ControlCommand Stalled::instead_of(const ControlCommand& held) const {
    if (const auto* agent = std::get_if<AnswerAgent>(&held))
        return AnswerAgent{agent->reply, fail(refused("no orders go out now", "nothing is lost"))};
    if (const auto* launcher = std::get_if<AnswerLauncher>(&held))
        return AnswerLauncher{launcher->reply,
                              fail(refused("no orders go out now", "nothing is lost"))};
    return AnswerRequest{std::get<AnswerRequest>(held).reply, fail(unclear())};
}

} // namespace muster::control
