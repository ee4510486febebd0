#pragma once
// Faults: which faults a run has and how strong they are. Drawn per seed (swarm): a run with few
// kinds of faults finds other bugs than one with all of them. Only what the design promises to
// survive.

#include "base/prng.hpp"
#include "base/time.hpp"

#include <cstdint>
#include <string>

namespace muster::sim {

/// "every" is the mean time between two faults of a kind over the whole world; zero: never.
struct Faults {
    // network
    std::uint32_t drop_per_mille = 0;
    std::uint32_t duplicate_per_mille = 0;
    std::uint32_t late_per_mille = 0; // an answer after the asker gave up still arrives
    Duration delay_max = Duration::millis(2);
    std::uint32_t slow_per_mille = 0; // messages that take up to slow_max
    Duration slow_max = Duration::millis(0);
    Duration cut_every;
    Duration cut_max = Duration::seconds(20);
    // the server and its disk
    Duration server_crash_every;
    Duration server_down_max = Duration::seconds(5);
    Duration fsync_max = Duration::millis(2);
    Duration stall_every;
    Duration stall_max = Duration::seconds(4);
    Duration disk_full_every;
    Duration disk_full_max = Duration::seconds(10);
    Duration server_pause_every; // its process is stopped, or its whole virtual machine
    Duration server_pause_max = Duration::seconds(20);
    // machines and the processes on them
    Duration power_loss_every;
    Duration power_down_max = Duration::seconds(40);
    Duration agent_crash_every;
    Duration agent_down_max = Duration::seconds(10);
    Duration launcher_crash_every;
    Duration agent_pause_every;
    Duration pause_max = Duration::seconds(12);
    Duration launcher_pause_every;
    Duration launcher_pause_max = Duration::seconds(40); // well past the limit of its silence
    std::int64_t drift_ppm_max = 0;
    Duration offset_max;
    // ranks
    Duration rank_fault_every;
    Duration slow_rank_every;
    std::uint32_t term_ignored_per_mille = 0;   // SIGTERM does nothing
    std::uint32_t child_survives_per_mille = 0; // a child outlives its rank until it is killed
    std::uint32_t stuck_per_mille = 0;          // D state: SIGKILL takes effect later
    Duration stuck_max = Duration::seconds(20);
    std::uint32_t port_taken_per_mille = 0; // BindPort fails
    // people
    std::uint32_t cancel_per_mille = 0;
    Duration cordon_every;
    std::uint32_t user_error_per_mille = 0; // of jobs
    std::uint32_t cannot_execute_per_mille = 0;
};

Faults draw_faults(Prng& prng);
/// Drawn after all else of a world, so that the worlds of older seeds stay what they were.
void draw_server_pauses(Prng& prng, Faults& faults);
/// One line, only what is not at rest.
std::string to_text(const Faults& faults);

} // namespace muster::sim
