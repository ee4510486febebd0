#pragma once
// The control plane's core: Ledger + what is seen live -> step(now, event) -> facts and commands.
// One thread, no clocks, sockets, files, randomness or third-party types. Facts are applied as they
// are made; the loop (runtime/loop.hpp) lets no command leave before they are durable.
//
// Order of a step: take in the event, judge liveness, end attempts, requeue, plan, answer polls
// whose order changed.

#include "base/decision.hpp"
#include "control/ledger.hpp"
#include "control/requests.hpp"
#include "model/orders.hpp"
#include "scheduler/state.hpp"

#include <memory>
#include <variant>

namespace muster::control {

struct ControlConfig {
    InstallationId installation; // used when the ledger is new
    ClusterName cluster{"main"};
    std::string version;
    Duration suspect_after = Duration::seconds(5);
    Duration lost_after = Duration::seconds(15);
    Duration log_wait_max = Duration::seconds(5); // for a node's answer to a log request
    std::size_t queued_max = 100'000;             // workloads that are not terminal
};

// ---- events
/// Once, after construction and replay: the clock of liveness starts here.
struct Begin {};
struct AgentAsked {
    std::int64_t reply = 0;
    AgentBeat beat;
    Duration hold; // the answer may be held this long while nothing changes; 0: at once
};
struct LauncherAsked {
    std::int64_t reply = 0;
    LauncherBeat beat;
    Duration hold;
};
struct RequestAsked {
    std::int64_t reply = 0;
    std::string actor;             // "user:root"
    std::uint64_t random_high = 0; // for ids, drawn by the shell
    std::uint64_t random_low = 0;
    Request request;
};
/// The requester went away: what was held for it may be dropped.
struct ReplyCancelled {
    std::int64_t reply = 0;
};
struct Wake {};
using ControlEvent =
    std::variant<Begin, AgentAsked, LauncherAsked, RequestAsked, ReplyCancelled, Wake>;

// ---- commands
struct AnswerAgent {
    std::int64_t reply = 0;
    Result<AgentOrder> order;
};
struct AnswerLauncher {
    std::int64_t reply = 0;
    Result<LauncherOrder> order;
};
struct AnswerRequest {
    std::int64_t reply = 0;
    Result<Response> response;
};
using ControlCommand = std::variant<AnswerAgent, AnswerLauncher, AnswerRequest>;

/// Answered at once, from the ledger as it is; neither changes, waits nor asks a node.
bool is_plain_read(const Request& request);

struct CoreState; // core_state.hpp

class ControlCore {
  public:
    using Record = FactRecord;
    using Event = ControlEvent;
    using Command = ControlCommand;

    ControlCore(ControlConfig config, Ledger ledger);
    ~ControlCore();
    ControlCore(ControlCore&&) noexcept;
    ControlCore& operator=(ControlCore&&) noexcept;

    Decision<FactRecord, ControlCommand> step(Instant now, const ControlEvent& event);
    /// The answer to a request that only reads (is_plain_read()), from `ledger` and from what is
    /// seen live: for times when the core's own ledger is ahead of what is durable. Changes
    /// nothing.
    AnswerRequest read(Instant now, const RequestAsked& asked, Ledger& ledger);
    const Ledger& ledger() const;
    /// What the scheduler works on: equal to scheduling_of(ledger()) after every step.
    const scheduler::State& scheduling() const;

  private:
    std::unique_ptr<CoreState> state_;
};

} // namespace muster::control
