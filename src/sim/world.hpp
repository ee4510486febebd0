#pragma once
// World: everything of one simulated run, made from one seed. It owns the event queue, the
// machines, the network, the people and the checkers; run() drives it to its end or to the first
// violation. Two worlds of equal options run alike, event by event (digest()).

#include "sim/chaos.hpp"
#include "sim/checks.hpp"
#include "sim/event_queue.hpp"
#include "sim/faults.hpp"
#include "sim/machine.hpp"
#include "sim/network.hpp"
#include "sim/people.hpp"
#include "sim/plants.hpp"
#include "sim/server_host.hpp"
#include "sim/training.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster::sim {

struct Options {
    std::uint64_t seed = 1;
    Plant plant = Plant::none;
    Duration until = Duration::max();                      // stop here, for a look at a trace
    std::function<void(const std::string&)> trace;         // a line for each event; empty: none
    std::function<void(const launch::LaunchEvent&)> heard; // by a launcher's core; empty: none
};

/// What a world consists of; drawn from the seed, or written in a scenario.
struct WorldSetup {
    std::vector<std::int64_t> devices; // of each node
    std::vector<JobPlan> jobs;
    Faults faults;
    Duration chaos; // how long faults go on
};
WorldSetup draw_setup(std::uint64_t seed);

struct Violation {
    std::string checker;
    std::string text;
    Duration at;
};

struct Outcome {
    std::optional<Violation> violation;
    std::uint64_t events = 0;
    std::uint64_t digest = 0;
    Duration ended_at;
    std::size_t facts = 0;
    std::size_t succeeded = 0;
    std::size_t failed = 0;
    std::size_t cancelled = 0;
};

inline constexpr Duration liveness_limit = Duration::minutes(60); // from the healing to all done
inline constexpr Duration rest_before_quiet = Duration::seconds(30);
inline constexpr Duration quiet_for = Duration::seconds(30); // then no fact may be made

class World {
  public:
    World(Options options, WorldSetup setup);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    Outcome run();
    /// For scenarios, in this order: begin, some run_until, finish.
    void begin();
    /// Runs until `done`, asked every so often, says so; false at true time `limit`.
    bool run_until(const std::function<bool()>& done, Duration limit, Duration every);
    /// Ends all faults, waits for rest, checks the end.
    Outcome finish();
    Outcome outcome() const;

    // ---- shared by the parts
    const Options options;
    const WorldSetup setup;
    EventQueue queue;
    Prng prng;
    Faults faults; // as they are now: none after the healing
    Network network;
    Training training;
    Checks checks;
    ServerHost server;
    std::vector<std::unique_ptr<Machine>> machines; // the nodes, id = index + 1
    People people;
    Chaos chaos;
    InstallationId installation;
    bool healing = false;

    static constexpr MachineId server_id = 0;
    MachineId people_id() const { return static_cast<MachineId>(machines.size()) + 1; }
    Machine& machine(MachineId id) { return *machines[static_cast<std::size_t>(id - 1)]; }
    Machine* machine_at(const std::string& address);
    const JobPlan* plan_of(const WorkloadName& name) const;

    std::int64_t next_pid() { return ++pids_; }
    Duration draw(Duration least, Duration most) {
        return Duration::nanos(prng.between(least.ns, most.ns));
    }
    bool planted(Plant plant) const { return options.plant == plant; }
    bool tracing() const { return static_cast<bool>(options.trace); }
    void trace(std::string_view subject, const std::string& text);
    void digest(std::uint64_t value) { digest_ = mix64(digest_ ^ value); }
    /// Keeps the first; the run ends after the current event.
    void violate(std::string checker, std::string text);
    bool violated() const { return violation_.has_value(); }
    /// Objects that end within a call of their own live until the event is over.
    void bury(std::unique_ptr<AgentHost> agent) { agents_.push_back(std::move(agent)); }
    void bury(std::unique_ptr<LauncherHost> launcher) { launchers_.push_back(std::move(launcher)); }

  private:
    void run_one();
    void heal();
    void come_to_rest();
    bool all_done() const;
    void schedule_people();

    std::int64_t pids_ = 1'000;
    std::uint64_t digest_ = 0;
    std::optional<Violation> violation_;
    std::vector<std::unique_ptr<AgentHost>> agents_;
    std::vector<std::unique_ptr<LauncherHost>> launchers_;
    Duration last_time_;
    std::int64_t events_at_once_ = 0;
};

/// Draws and runs the world of one seed.
Outcome run_seed(const Options& options);

} // namespace muster::sim
