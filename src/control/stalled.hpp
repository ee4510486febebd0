#pragma once
// Stalled: what the control plane answers while its journal cannot be written. The core goes on and
// is ahead of what is durable, so its answers have to wait; people and programs need not:
//
//     a plain read        from what was durable when the trouble began, and what is seen live
//     a change            refused, with the trouble; a repetition of one that waits: outcome
//     unknown anything that waits the trouble instead, told by the loop's answer_held()
//
// Life: from the trouble to its end; made anew for the next. Used by the core's thread.

#include "control/core.hpp"

namespace muster::control {

class Stalled {
  public:
    /// `trouble` names the disk; `durable` is the ledger up to the last durable fact.
    Stalled(Error trouble, Ledger durable);

    /// The answer to `event`, where it need not be stepped; nothing: step it.
    std::optional<ControlCommand> answer(ControlCore& core, Instant now, const ControlEvent& event);
    /// What goes out in place of a command that waits for facts; tells of none of them.
    ControlCommand instead_of(const ControlCommand& held) const;

  private:
    Error refused(const std::string& what, const std::string& then) const;
    Error unclear() const;

    Error trouble_;
    Ledger durable_;
};

} // namespace muster::control
