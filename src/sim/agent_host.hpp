#pragma once
// AgentHost: one agent process: the real AgentCore under the real loop, with a simulated shell.
// Life: from start_agent() of its machine to its crash; another start is another AgentHost.

#include "agent/core.hpp"
#include "runtime/loop.hpp"
#include "sim/plants.hpp"
#include "sim/rpc.hpp"
#include "sim/unsafe_loop.hpp"

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace muster::sim {

class World;
class Machine;

class AgentHost final : public runtime::Journal<agent::AgentRecord>,
                        public runtime::Outbox<agent::AgentCommand> {
  public:
    AgentHost(World& world, Machine& machine, std::int64_t pid);

    std::int64_t pid() const { return pid_; }
    void begin();
    /// Steps the core now, or when a pause ends.
    void deliver(agent::AgentEvent event);
    void pause(Duration until) { paused_until_ = until; }

    void append(std::vector<agent::AgentRecord> records) override;
    void send(agent::AgentCommand command) override;

  private:
    void step(const agent::AgentEvent& event);
    Instant wake_at() const;
    void arm();
    void wake();
    void written(std::vector<agent::AgentRecord> records);

    void carry_out(agent::SendBeat command);
    void carry_out(agent::StartLauncher command);
    void carry_out(const agent::AdoptLauncher& command);
    void carry_out(const agent::AskLauncherToLeave& command);
    void carry_out(const agent::ClearGroup& command);
    void carry_out(const agent::ReadLogs& command);
    void carry_out(const agent::GiveUp& command);
    /// Later, if this process still lives.
    template <class F>
    void later(Duration delay, const char* what, F action);
    void obey(Lane lane, AgentOrder order, bool late);

    World& world_;
    Machine& machine_;
    std::int64_t pid_;
    agent::AgentConfig config_;
    agent::AgentCore core_;
    std::variant<runtime::Loop<agent::AgentCore>, UnsafeLoopOf<agent::AgentCore>> loop_;
    CallPtr<AgentOrder> calls_[2];   // by lane
    std::int64_t asked_ = 0;         // newest beat sent
    std::int64_t newest_obeyed_ = 0; // newest beat that was answered
    Duration paused_until_;
    Duration written_at_; // the file takes records in order
    Duration armed_at_ = Duration::max();
};

} // namespace muster::sim
