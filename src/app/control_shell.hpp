#pragma once
// ControlShell: the thread that runs the control plane's core, between the REST interface, the
// journal and the event feed. Everything reaches the core through one mailbox. Life: start() to
// stop(); the REST interface and the journal's callbacks may use it longer.

#include "api/rest.hpp"
#include "control/stalled.hpp"
#include "io/journal/sqlite_journal.hpp"
#include "io/posix/mailbox.hpp"
#include "runtime/loop.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <variant>

namespace muster::app {

/// About a second of work for the core: more would make everybody wait longer than they do.
inline constexpr std::size_t core_mailbox_max = 20'000;

class ControlShell final : public api::Backend,
                           runtime::Outbox<control::ControlCommand>,
                           runtime::Journal<FactRecord> {
  public:
    ControlShell(control::ControlConfig config, control::Ledger ledger, runtime::Clock& clock,
                 io::SqliteJournal& journal);

    void start(api::Rest& rest, api::EventFeed& feed);
    /// What was let in is still stepped; facts that are not durable then are the journal's to
    /// write.
    void stop();

    // ---- for the journal's callbacks
    void durable(Sequence sequence) { mailbox_.post(Durable{sequence}); }
    void stalled(Error trouble, control::Ledger durable) {
        mailbox_.post(control::Stalled{std::move(trouble), std::move(durable)});
    }
    void relieved() { mailbox_.post(Relieved{}); }

    // ---- api::Backend
    Status ask(control::ControlEvent event) override;
    void cancel(std::int64_t reply) override;
    Status count(std::function<void(const api::ClusterCounts&)> take) override;
    Status ready() override;
    void draw(std::uint64_t& high, std::uint64_t& low) override;

  private:
    struct Durable {
        Sequence sequence;
    };
    struct Count {
        std::function<void(const api::ClusterCounts&)> take;
    };
    struct Relieved {};
    struct Stop {};
    using Message =
        std::variant<control::ControlEvent, Durable, control::Stalled, Relieved, Count, Stop>;
    struct Batch {
        std::vector<FactRecord> records;
        std::chrono::steady_clock::time_point appended;
    };

    void run();
    void step(const control::ControlEvent& event);
    void take(Message message);
    void take_durable(Sequence sequence);
    void answer_held();
    api::ClusterCounts counts() const;

    // ---- what the loop asks for
    void send(control::ControlCommand command) override;
    void append(std::vector<FactRecord> records) override;

    control::ControlCore core_;
    runtime::Clock& clock_;
    io::SqliteJournal& journal_;
    runtime::Loop<control::ControlCore> loop_;
    api::Rest* rest_ = nullptr;
    api::EventFeed* feed_ = nullptr;
    io::BoundedMailbox<Message> mailbox_{core_mailbox_max};
    std::deque<Batch> not_durable_;
    api::ClusterCounts totals_;               // the counters among them
    std::optional<control::Stalled> stalled_; // while the journal cannot be written
    bool stopping_ = false;
    std::atomic<bool> running_{false};
    std::thread thread_;
};

} // namespace muster::app
