#pragma once
// Training: what the processes of jobs do. The ranks of one generation form a gang; a step is a
// barrier over all of them; every k steps the state is saved; after the last step all leave with 0.
// It is ground truth: cores learn of it only through exits and progress pages.

#include "model/attempt.hpp"
#include "model/workload.hpp"
#include "sim/rpc.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::sim {

class World;

/// What a job's program is like. Found by the workload's name.
struct JobPlan {
    WorkloadSpec spec; // with a name
    std::int64_t steps = 100;
    Duration step_time = Duration::millis(200);
    std::int64_t save_every = 10;
    Duration import_max = Duration::seconds(2);   // from exec to the first barrier
    Duration epilogue_max = Duration::millis(50); // from the last step to exit, per rank
    bool user_error = false;                      // every rank fails alike at once
    bool cannot_execute = false;
    bool peers_hang = false; // ranks do not notice that one of them is gone
    Duration submit_at;
    std::optional<Duration> cancel_at;
};

struct RankProcess {
    std::int64_t pid = 0;
    std::int64_t launcher_pid = 0;
    AttemptKey key;
    Term term = 0;
    Generation generation = 0;
    std::int64_t rank = 0;
    std::int64_t local_rank = 0;
    std::vector<std::int64_t> devices;
    bool main = true;   // the rank itself runs
    bool child = false; // a child of it runs
    bool ignores_term = false;
    bool leaves_child = false;
    bool joined = false; // has met its gang
    bool killed = false; // SIGKILL was sent
    bool stuck = false;  // in D state: dies later
    Duration started;

    bool alive() const { return main || child; }
};

struct GangKey {
    AttemptKey attempt;
    Term term = 0;
    Generation generation = 0;
    friend auto operator<=>(const GangKey&, const GangKey&) = default;
};

struct Gang {
    const JobPlan* plan = nullptr;
    std::int64_t ranks = 0;
    std::vector<std::pair<MachineId, std::int64_t>> members; // machine and pid
    std::int64_t joined = 0;
    std::int64_t first_step = -1; // of this generation
    std::int64_t step = -1;       // newest done
    std::int64_t clean_exits = 0; // ranks that left with 0
    Duration first_step_at;
    Duration step_at;
    Duration slow_until;
    std::int64_t slow_factor = 1;
    bool broken = false; // a member is gone: no step is ever made again
    bool stepping = false;
};

class Training {
  public:
    explicit Training(World& world) : world_(world) {}

    void started(MachineId machine, const RankProcess& process, const JobPlan& plan,
                 std::int64_t ranks);
    /// The rank itself is gone; `clean`: by itself, with exit code 0.
    void ended(const RankProcess& process, bool clean);
    void slow_down(const GangKey& key, std::int64_t factor, Duration until);

    const Gang* gang(const GangKey& key) const;
    const std::map<GangKey, Gang>& gangs() const { return gangs_; }
    /// True once every rank of one generation of this attempt left with 0.
    bool complete(const AttemptKey& key) const { return complete_.contains(key); }
    /// Newest saved step; -1: none.
    std::int64_t saved(const WorkloadId& id) const;
    std::int64_t reached(const WorkloadId& id) const;

  private:
    void join(MachineId machine, std::int64_t pid, const GangKey& key);
    void next_step(const GangKey& key);
    void step(const GangKey& key);
    void leave_all(const Gang& gang);
    bool connected(const Gang& gang) const;
    void break_up(const GangKey& key);
    void lose_peers(const Gang& gang, Duration after, const std::string& words);

    World& world_;
    std::map<GangKey, Gang> gangs_;
    std::map<AttemptKey, Generation> complete_;
    std::map<WorkloadId, std::int64_t> saved_;
    std::map<WorkloadId, std::int64_t> reached_;
};

} // namespace muster::sim
