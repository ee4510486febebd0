#pragma once
// Machine: a node of the cluster with its power, its clock, its processes and the files that its
// agent keeps in /run. What runs here is ground truth. A reboot takes everything.

#include "agent/core.hpp"
#include "sim/agent_host.hpp"
#include "sim/clock.hpp"
#include "sim/launcher_host.hpp"
#include "sim/training.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::sim {

class World;

/// Everything of one attempt on one machine: its process group and what its launcher left.
struct Group {
    std::unique_ptr<LauncherHost> launcher; // null: not running
    std::int64_t launcher_pid = 0;          // of the newest one
    std::optional<LauncherResult> result;
    std::string launcher_error;
    std::vector<RankProcess> processes;

    std::int64_t alive(Generation generation = 0) const; // 0: of any
};

class Machine {
  public:
    Machine(World& world, MachineId id, std::int64_t devices);

    MachineId id() const { return id_; }
    const NodeName& name() const { return name_; }
    const Inventory& inventory() const { return inventory_; }
    bool on() const { return on_; }
    std::int64_t boot() const { return boot_; }
    std::string boot_id() const;
    Instant now();

    void power_on();
    void power_off();
    void start_agent();
    void crash_agent();
    AgentHost* agent() { return agent_.get(); }

    // ---- processes
    std::map<AttemptKey, Group>& groups() { return groups_; }
    Group* group(const AttemptKey& key);
    LauncherHost* launcher(std::int64_t pid);
    RankProcess* process(std::int64_t pid);
    /// Forks a launcher; returns its pid.
    std::int64_t start_launcher(const AttemptOrder& order, Incarnation incarnation);
    /// The launcher ended by itself or was killed: its ranks stay.
    void launcher_ended(const AttemptKey& key, std::optional<LauncherResult> result,
                        std::string error);
    RankProcess& spawn(const AttemptKey& key, RankProcess process);
    struct End {
        std::int64_t exit_code = 0;
        std::int64_t signal = 0;
        std::string last_line;
        bool cannot_execute = false;
    };
    /// The rank ends by itself or by a signal; a child may stay.
    void end_rank(std::int64_t pid, const End& end);
    void terminate(const AttemptKey& key, Generation generation); // SIGTERM
    void kill(const AttemptKey& key, Generation generation); // SIGKILL, 0: all with the launcher

    // ---- files that survive an agent
    agent::AgentLedger agent_ledger;
    MachineClock clock;

  private:
    void die(Group& group, RankProcess& process, const End& end);

    World& world_;
    MachineId id_;
    NodeName name_;
    Inventory inventory_;
    bool on_ = false;
    std::int64_t boot_ = 0;
    std::unique_ptr<AgentHost> agent_;
    std::map<AttemptKey, Group> groups_;
};

} // namespace muster::sim
