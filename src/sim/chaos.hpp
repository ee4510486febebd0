#pragma once
// Chaos: brings faults into a world at random times until the healing, and heals it then.

#include "base/time.hpp"

namespace muster::sim {

class LauncherHost;
class World;

class Chaos {
  public:
    explicit Chaos(World& world) : world_(world) {}

    void begin();
    /// Ends all faults: mends cuts, turns on machines, starts what is down.
    void heal();

  private:
    void repeat(Duration every, const char* what, void (Chaos::*strike)());
    Duration up_to(Duration most);
    LauncherHost* any_launcher(); // null: none runs

    void cut();
    void crash_server();
    void stall_disk();
    void fill_disk();
    void pause_server();
    void lose_power();
    void crash_agent();
    void crash_launcher();
    void pause_agent();
    void pause_launcher();
    void hurt_rank();
    void slow_rank();
    void cordon();

    World& world_;
};

} // namespace muster::sim
