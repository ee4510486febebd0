#pragma once
// AgentJournal: AgentCore's facts in one file, a JSON document a line, without fsync: they must
// survive the agent, not the machine. A last line that was cut off is dropped; it was never acted
// on. Room for what comes next is taken ahead, so that a full disk does not silence the agent: what
// ends meanwhile is still told.
//
// Life: one per agent, holding the node directory's lock. Used by the agent's loop alone.

#include "agent/ledger.hpp"
#include "io/posix/fd.hpp"
#include "runtime/ports.hpp"

#include <string>
#include <vector>

namespace muster::app {

inline constexpr std::int64_t agent_journal_bytes_max = 16 * 1024 * 1024; // then it is shortened
inline constexpr std::int64_t agent_journal_ahead = 1024 * 1024;          // room taken ahead,
inline constexpr std::int64_t agent_journal_ahead_min = 256 * 1024; // and again once it is less

class AgentJournal final : public runtime::Journal<agent::AgentRecord> {
  public:
    struct Opened;
    /// Replays the file (made where it is missing) and shortens it. data_loss names the line that
    /// cannot be read.
    static Result<Opened> open(const std::string& file);

    /// Queues; flush() writes.
    void append(std::vector<agent::AgentRecord> records) override;
    /// The last sequence that is written. Where the disk is full nothing is lost: call again later.
    Result<Sequence> flush();
    bool pending() const { return !queue_.empty(); }
    /// Replaces the file by the fewest records once it is long. Nothing may be pending.
    Status shorten_if_long(const agent::AgentLedger& ledger);

  private:
    Status rewrite(const agent::AgentLedger& ledger);
    void take_room();

    std::string file_;
    io::UniqueFd fd_;
    std::int64_t bytes_ = 0; // whole lines in the file
    std::int64_t room_ = 0;  // up to here the file has blocks
    std::string queue_;
    Sequence queued_ = 0;
    Sequence written_ = 0;
};

struct AgentJournal::Opened {
    AgentJournal journal;
    agent::AgentLedger ledger;
};

} // namespace muster::app
