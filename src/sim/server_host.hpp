#pragma once
// ServerHost: the server's machine: its disk, and the server process with the real ControlCore
// under the real loop. The disk keeps what was synced; a crash loses the rest, also what was half
// synced.

#include "control/stalled.hpp"
#include "runtime/loop.hpp"
#include "sim/clock.hpp"
#include "sim/plants.hpp"
#include "sim/rpc.hpp"
#include "sim/unsafe_loop.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace muster::sim {

class World;

/// The control core as the loop sees it here: tells the checkers of every step.
class WatchedControl {
  public:
    using Record = FactRecord;
    using Event = control::ControlEvent;
    using Command = control::ControlCommand;

    WatchedControl(World& world, control::ControlConfig config, control::Ledger ledger)
        : world_(world), core_(std::move(config), std::move(ledger)) {}

    Decision<FactRecord, control::ControlCommand> step(Instant now, const Event& event);
    const control::Ledger& ledger() const { return core_.ledger(); }
    control::ControlCore& core() { return core_; }
    /// The facts that must be durable before the answer to `reply` leaves.
    Sequence take_need(std::int64_t reply);

  private:
    World& world_;
    control::ControlCore core_;
    std::map<std::int64_t, Sequence> needs_;
};

class ServerHost final : public runtime::Journal<FactRecord>,
                         public runtime::Outbox<control::ControlCommand> {
  public:
    explicit ServerHost(World& world) : world_(world) {}

    bool up() const { return core_ != nullptr; }
    std::int64_t process() const { return process_; }
    void start();
    void crash();
    void stall(Duration until) { stalled_until_ = until; }
    void fill_disk(Duration until) { full_until_ = until; }
    /// Stopped: nothing is handled until then, what arrives waits. Its clock goes on (SIGSTOP) or
    /// stands (a virtual machine that is set aside).
    enum class Clock { goes, stands };
    void pause(Duration until, Clock clock_meanwhile);
    void resume();
    /// True time from which on this process has listened without a stop that it can notice.
    Duration listens_since() const { return listens_since_; }

    // ---- what arrives at the listener
    void agent_asked(const CallPtr<AgentOrder>& call, const AgentBeat& beat, Duration hold);
    void launcher_asked(const CallPtr<LauncherOrder>& call, const LauncherBeat& beat,
                        Duration hold);
    void request_asked(const CallPtr<control::Response>& call, const control::Request& request,
                       const std::string& actor);

    // ---- ground truth for checkers
    const std::vector<FactRecord>& journal() const { return disk_; }
    const control::Ledger& durable() const { return durable_; }
    /// Null while the process is down.
    const control::Ledger* ledger() const { return core_ ? &core_->ledger() : nullptr; }

    void append(std::vector<FactRecord> records) override;
    void send(control::ControlCommand command) override;

    MachineClock clock;

  private:
    using SafeLoop = runtime::Loop<WatchedControl>;
    using UnsafeLoop = UnsafeLoopOf<WatchedControl>;

    void step(const control::ControlEvent& event);
    void step_at(Instant now, const control::ControlEvent& event);
    Instant wake_at() const;
    void make_up_for_wakes();
    /// True while stopped: then `what` is done once it goes on.
    template <class F>
    bool waits(F what);
    void arm();
    void wake();
    void sync();
    void answer_held();
    void synced(std::size_t count);
    void make_durable(std::size_t count);
    template <class Answer>
    std::int64_t hold_reply(std::map<std::int64_t, CallPtr<Answer>>& held,
                            const CallPtr<Answer>& call);
    template <class Answer>
    void release(std::map<std::int64_t, CallPtr<Answer>>& held, std::int64_t reply,
                 Result<Answer> result);
    template <class Answer>
    void refuse(const CallPtr<Answer>& call);
    template <class Answer>
    void reset_all(std::map<std::int64_t, CallPtr<Answer>>& held);
    control::Ledger read_back();

    World& world_;
    std::int64_t process_ = 0; // counts starts
    std::unique_ptr<WatchedControl> core_;
    std::variant<std::monostate, SafeLoop, UnsafeLoop> loop_;
    std::int64_t next_reply_ = 1;
    std::map<std::int64_t, CallPtr<AgentOrder>> agents_;
    std::map<std::int64_t, CallPtr<LauncherOrder>> launchers_;
    std::map<std::int64_t, CallPtr<control::Response>> requests_;
    Duration armed_at_ = Duration::max();
    Duration listens_since_;

    bool paused_ = false;
    Duration paused_at_;
    Duration paused_until_;
    Clock clock_meanwhile_ = Clock::goes;
    std::vector<std::function<void()>> waiting_; // what arrived meanwhile, in order

    std::vector<FactRecord> disk_;
    control::Ledger durable_; // apply() over disk_
    std::deque<FactRecord> pending_;
    std::size_t syncing_ = 0; // of pending_; 0: no sync runs
    Duration stalled_until_;
    Duration full_until_;
    std::optional<control::Stalled> stalled_; // while a sync waits for room
};

} // namespace muster::sim
