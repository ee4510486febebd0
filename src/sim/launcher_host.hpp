#pragma once
// LauncherHost: one launcher process: the real LaunchCore under the real loop, with a simulated
// shell.

#include "launch/core.hpp"
#include "runtime/loop.hpp"
#include "sim/rpc.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::sim {

class World;
class Machine;
struct JobPlan;

class LauncherHost final : public runtime::Journal<NoRecord>,
                           public runtime::Outbox<launch::LaunchCommand> {
  public:
    LauncherHost(World& world, Machine& machine, std::int64_t pid, launch::LaunchConfig config);

    std::int64_t pid() const { return pid_; }
    const AttemptKey& key() const { return key_; }
    Machine& machine() const { return machine_; }
    std::int64_t index() const { return config_.order.launcher_index; }
    const std::string& endpoint() const { return config_.endpoint; }
    bool ready() const { return ready_; } // has written its pid file
    void begin();
    void deliver(const launch::LaunchEvent& event);
    /// A member's request arrived at our listener.
    void member_asked(const CallPtr<MemberOrder>& call, const MemberBeat& beat, Duration hold);
    void rank_ended(Generation generation, RankExit exit);
    /// SIGSTOP: nothing is taken in until `time` has passed or resume() comes, as by SIGCONT.
    void pause(Duration time);
    void resume();

    void append(std::vector<NoRecord>) override {}
    void send(launch::LaunchCommand command) override;
    /// The process is about to vanish: what it held is reset.
    void closing();

  private:
    void arm();
    void wake();
    void read_progress();
    void server_said(Lane lane, const LauncherOrder& order);

    void carry_out(launch::SendServerBeat command);
    void carry_out(launch::SendMemberBeat command);
    void carry_out(launch::AnswerMember command);
    void carry_out(const launch::BindPort& command);
    void carry_out(const launch::StartRanks& command);
    void carry_out(const launch::TerminateRanks& command);
    void carry_out(const launch::KillRanks& command);
    void carry_out(const launch::Tell& command);
    void carry_out(launch::Leave command);
    template <class F>
    void later(Duration delay, const char* what, F action);

    World& world_;
    Machine& machine_;
    std::int64_t pid_;
    AttemptKey key_;
    launch::LaunchConfig config_;
    const JobPlan* plan_;
    launch::LaunchCore core_;
    runtime::Loop<launch::LaunchCore> loop_;
    bool ready_ = false;
    bool left_ = false;
    bool paused_ = false;
    std::int64_t pauses_ = 0;
    std::vector<launch::LaunchEvent> backlog_; // what came while it was paused
    CallPtr<LauncherOrder> server_calls_[2];
    CallPtr<MemberOrder> member_calls_[2];
    std::map<std::int64_t, CallPtr<MemberOrder>> asked_;
    std::int64_t next_reply_ = 1;
    std::int64_t asked_server_ = 0;    // newest beat sent
    std::int64_t asked_when_said_ = 0; // the same when the server was last heard
    Generation killing_ = 0;           // newest generation that we began to end
    Term term_ = 0;                    // of the newest table that was started
    Generation generation_ = 0;
    std::int64_t progress_told_ = -1;
    Duration armed_at_ = Duration::max();
};

} // namespace muster::sim
