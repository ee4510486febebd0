#pragma once
// Loop: the one way to run a core, identical in production and in the simulator.
//
//     decision = core.step(now, event)
//     journal.append(decision.facts)                 group commit is the journal's
//     commands wait until the facts under them are durable (output commit), then go out
//
// A command without facts of its own waits too: it may tell of facts that are not durable yet.
// Where the journal cannot be written for a while, answer_held() sends others instead, so that
// nobody waits for a disk without being told. Life: as long as its core. Used by one thread.

#include "runtime/ports.hpp"

#include <deque>
#include <utility>

namespace muster::runtime {

template <class Core>
class Loop {
  public:
    using Record = typename Core::Record;
    using Command = typename Core::Command;
    using Event = typename Core::Event;

    Loop(Core& core, Journal<Record>& journal, Outbox<Command>& outbox)
        : core_(core), journal_(journal), outbox_(outbox) {}

    void step(Instant now, const Event& event) {
        auto decision = core_.step(now, event);
        wake_at_ = decision.wake_at;
        if (!decision.facts.empty()) {
            appended_ = decision.facts.back().sequence;
            journal_.append(std::move(decision.facts));
        }
        for (auto& command : decision.commands) {
            if (held_.empty() && durable_ >= appended_)
                outbox_.send(std::move(command));
            else
                held_.push_back({appended_, std::move(command)});
        }
    }

    /// Facts up to `sequence` are durable: releases what waited for them.
    void durable(Sequence sequence) {
        if (sequence > durable_) durable_ = sequence;
        while (!held_.empty() && held_.front().needs <= durable_) {
            Command command = std::move(held_.front().command);
            held_.pop_front();
            outbox_.send(std::move(command));
        }
    }

    /// While the journal cannot be written: what `instead` makes of each command that waits goes
    /// out in its place. It may tell of no fact that is not durable.
    template <class Instead>
    void answer_held(Instead instead) {
        for (auto& held : std::exchange(held_, {})) outbox_.send(instead(std::move(held.command)));
    }

    /// Start after a replay: everything up to `sequence` is in the journal already.
    void resume_from(Sequence sequence) {
        appended_ = sequence;
        durable_ = sequence;
    }

    Instant wake_at() const { return wake_at_; }
    std::size_t held() const { return held_.size(); }

  private:
    struct Held {
        Sequence needs;
        Command command;
    };

    Core& core_;
    Journal<Record>& journal_;
    Outbox<Command>& outbox_;
    Sequence appended_ = 0;
    Sequence durable_ = 0;
    std::deque<Held> held_;
    Instant wake_at_ = Instant::never();
};

} // namespace muster::runtime
