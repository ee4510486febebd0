#pragma once
// UnsafeLoopOf: a loop with the planted bug that commands do not wait for the journal.

#include "runtime/ports.hpp"

#include <utility>

namespace muster::sim {

template <class Core>
class UnsafeLoopOf {
  public:
    UnsafeLoopOf(Core& core, runtime::Journal<typename Core::Record>& journal,
                 runtime::Outbox<typename Core::Command>& outbox)
        : core_(core), journal_(journal), outbox_(outbox) {}

    void step(Instant now, const typename Core::Event& event) {
        auto decision = core_.step(now, event);
        wake_at_ = decision.wake_at;
        if (!decision.facts.empty()) journal_.append(std::move(decision.facts));
        for (auto& command : decision.commands) outbox_.send(std::move(command));
    }
    void durable(Sequence) {}
    void resume_from(Sequence) {}
    Instant wake_at() const { return wake_at_; }

  private:
    Core& core_;
    runtime::Journal<typename Core::Record>& journal_;
    runtime::Outbox<typename Core::Command>& outbox_;
    Instant wake_at_ = Instant::never();
};

} // namespace muster::sim
