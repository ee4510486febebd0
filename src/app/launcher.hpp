#pragma once
// Launcher: the thread that drives LaunchCore. Events come through a mailbox, signals and timers;
// commands go to the ranks, the server, the lead or the members.
//
// Life: run() once, on the main thread, before any other thread exists (it blocks signals).

#include "app/launch_guard.hpp"
#include "app/launch_lane.hpp"
#include "app/launch_setup.hpp"
#include "app/launch_terminal.hpp"
#include "app/member_listener.hpp"
#include "app/rank_set.hpp"
#include "app/rendezvous_port.hpp"
#include "app/result_file.hpp"
#include "io/posix/clock.hpp"
#include "io/posix/mailbox.hpp"
#include "runtime/loop.hpp"

#include <map>
#include <memory>
#include <optional>

namespace muster::app {

class Launcher final : public runtime::Outbox<launch::LaunchCommand> {
  public:
    Launcher(LaunchSetup setup, io::SystemClock& clock);
    ~Launcher() override;

    int run();
    void send(launch::LaunchCommand command) override;

  private:
    struct NoJournal final : runtime::Journal<NoRecord> {
        void append(std::vector<NoRecord>) override {}
    };

    Status open();
    void step(const launch::LaunchEvent& event);
    LaunchLane& server_lane(Lane lane);
    LaunchLane& lead_lane(Lane lane);
    void take_signals();
    void take_mail();
    void look_at_progress();
    int wait_ms();
    void tell_error(const Status& status); // where it is one

    void carry_out(launch::SendServerBeat& command);
    void carry_out(launch::SendMemberBeat& command);
    void carry_out(launch::AnswerMember& command);
    void carry_out(launch::BindPort& command);
    void carry_out(launch::StartRanks& command);
    void carry_out(launch::TerminateRanks& command);
    void carry_out(launch::KillRanks& command);
    void carry_out(launch::Tell& command);
    void carry_out(launch::Leave& command);

    LaunchSetup setup_;
    std::optional<LaunchGuard> guard_; // standalone; forked first
    io::SystemClock& clock_;
    io::BoundedMailbox<launch::LaunchEvent> mailbox_{members_waiting_max}; // members' beats
    std::unique_ptr<LaunchTerminal> terminal_;                             // standalone
    std::optional<launch::LaunchCore> core_;
    NoJournal journal_;
    std::optional<ResultFile> result_file_; // managed
    std::optional<runtime::Loop<launch::LaunchCore>> loop_;
    std::optional<RankSet> ranks_;
    std::map<Generation, RendezvousPort> ports_;
    std::unique_ptr<MemberListener> listener_;
    std::map<Lane, std::unique_ptr<LaunchLane>> server_lanes_; // made on their first beat
    std::map<Lane, std::unique_ptr<LaunchLane>> lead_lanes_;
    io::UniqueFd epoll_;
    io::UniqueFd signals_;
    Instant progress_at_;             // next look at the pages
    std::int64_t asked_to_leave_ = 0; // signals so far
    std::optional<int> exit_code_;
};

} // namespace muster::app
