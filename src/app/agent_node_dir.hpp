#pragma once
// NodeDir: the folder of one node on this machine, locked for one agent.
//
//     agent.lock       held by the running agent; its pid
//     agent.boot       the machine's boot, and the id under which this folder beats since then
//     agent.journal    facts of AgentCore, one JSON document a line (agent_journal.hpp)
//     attempts/<workload id>.<attempt>/   one launcher's folder
//     logs/<workload id>/                 logs of its ranks

#include "io/posix/fd.hpp"
#include "model/ids.hpp"

#include <set>
#include <string>

namespace muster::app {

inline constexpr std::size_t attempt_dirs_kept = 50;                  // of those not held
inline constexpr std::size_t log_dirs_kept = 500;                     // of workloads not held
inline constexpr std::int64_t log_bytes_kept = std::int64_t{4} << 30; // of those, together

class NodeDir {
  public:
    /// Makes the folder where it is missing and locks it. failed_precondition names the agent that
    /// runs on it already. After a reboot of the machine the journal is put away.
    static Result<NodeDir> open(const std::string& path);

    const std::string& path() const { return path_; }
    const std::string& boot_id() const { return boot_id_; }
    /// This boot is new to the folder: nothing that was held lives any more.
    bool booted() const { return booted_; }
    std::string journal_file() const { return path_ + "/agent.journal"; }
    std::string attempts_dir() const { return path_ + "/attempts"; }
    std::string attempt_dir(const AttemptKey& key) const;

    /// Removes the oldest attempt and log folders above the limits, but none of `held`.
    void sweep(const std::set<AttemptKey>& held) const;

  private:
    Status lock();
    Status note_boot();

    std::string path_;
    std::string boot_id_;
    bool booted_ = false;
    io::UniqueFd lock_;
};

} // namespace muster::app
