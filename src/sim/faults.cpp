#include "sim/faults.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

class Draw {
  public:
    explicit Draw(Prng& prng) : prng_(prng) {
        // Some runs are gentle, some have nearly everything.
        present_per_mille_ = static_cast<std::uint32_t>(prng_.between(100, 700));
    }
    bool present() { return prng_.chance(present_per_mille_); }
    std::uint32_t per_mille(std::uint32_t max) {
        return present() ? static_cast<std::uint32_t>(prng_.between(1, max)) : 0;
    }
    Duration every(Duration least, Duration most) {
        return present() ? Duration::nanos(prng_.between(least.ns, most.ns)) : Duration{};
    }
    Duration within(Duration least, Duration most) {
        return Duration::nanos(prng_.between(least.ns, most.ns));
    }

  private:
    Prng& prng_;
    std::uint32_t present_per_mille_;
};

constexpr Duration s(std::int64_t n) { return Duration::seconds(n); }
constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

} // namespace

Faults draw_faults(Prng& prng) {
    Draw draw(prng);
    Faults f;
    f.drop_per_mille = draw.per_mille(200);
    f.duplicate_per_mille = draw.per_mille(100);
    f.late_per_mille = draw.per_mille(500);
    f.delay_max = draw.within(ms(1), ms(50));
    f.slow_per_mille = draw.per_mille(200);
    f.slow_max = draw.within(ms(50), s(8));
    f.cut_every = draw.every(s(8), s(60));
    f.cut_max = draw.within(s(1), s(60));
    f.server_crash_every = draw.every(s(5), s(60));
    f.server_down_max = draw.within(ms(50), s(30));
    f.fsync_max = draw.present() ? draw.within(ms(1), s(1)) : ms(2);
    f.stall_every = draw.every(s(10), s(60));
    f.stall_max = draw.within(ms(500), s(8));
    f.disk_full_every = draw.every(s(20), s(90));
    f.disk_full_max = draw.within(s(1), s(20));
    f.power_loss_every = draw.every(s(15), s(120));
    f.power_down_max = draw.within(s(2), s(60));
    f.agent_crash_every = draw.every(s(5), s(60));
    f.agent_down_max = draw.within(ms(50), s(30));
    f.launcher_crash_every = draw.every(s(15), s(90));
    f.agent_pause_every = draw.every(s(15), s(90));
    f.pause_max = draw.within(s(1), s(25));
    f.drift_ppm_max = draw.present() ? prng.between(1, 10'500) : 0; // a slewing clock runs 1 % off
    f.offset_max = draw.present() ? draw.within(ms(1), s(120)) : Duration{};
    f.rank_fault_every = draw.every(s(10), s(90));
    f.slow_rank_every = draw.every(s(10), s(60));
    f.term_ignored_per_mille = draw.per_mille(500);
    f.child_survives_per_mille = draw.per_mille(500);
    f.stuck_per_mille = draw.per_mille(200);
    f.stuck_max = draw.within(s(1), s(30));
    f.port_taken_per_mille = draw.per_mille(200);
    f.cancel_per_mille = draw.per_mille(400);
    f.cordon_every = draw.every(s(10), s(60));
    f.user_error_per_mille = draw.per_mille(300);
    f.cannot_execute_per_mille = draw.per_mille(200);
    f.launcher_pause_every = draw.every(s(15), s(90));
    f.launcher_pause_max = draw.within(s(1), s(60));
    return f;
}

void draw_server_pauses(Prng& prng, Faults& faults) {
    Draw draw(prng);
    faults.server_pause_every = draw.every(s(8), s(60));
    faults.server_pause_max = draw.within(s(1), s(40));
}

std::string to_text(const Faults& f) {
    std::string out;
    const auto number = [&](const char* name, std::int64_t value) {
        if (value != 0) out += fmt::format(" {}={}", name, value);
    };
    const auto time = [&](const char* name, Duration value) {
        if (value != Duration{}) out += fmt::format(" {}={}ms", name, value.whole_millis());
    };
    const auto kind = [&](const char* name, Duration every, Duration most) {
        if (every != Duration{})
            out += fmt::format(" {}=every {}ms up to {}ms", name, every.whole_millis(),
                               most.whole_millis());
    };
    number("drop", f.drop_per_mille);
    number("duplicate", f.duplicate_per_mille);
    number("late", f.late_per_mille);
    time("delay", f.delay_max);
    if (f.slow_per_mille != 0) {
        number("slow", f.slow_per_mille);
        time("slow_max", f.slow_max);
    }
    kind("cut", f.cut_every, f.cut_max);
    kind("server_crash", f.server_crash_every, f.server_down_max);
    time("fsync", f.fsync_max);
    kind("stall", f.stall_every, f.stall_max);
    kind("disk_full", f.disk_full_every, f.disk_full_max);
    kind("server_pause", f.server_pause_every, f.server_pause_max);
    kind("power_loss", f.power_loss_every, f.power_down_max);
    kind("agent_crash", f.agent_crash_every, f.agent_down_max);
    time("launcher_crash", f.launcher_crash_every);
    kind("agent_pause", f.agent_pause_every, f.pause_max);
    kind("launcher_pause", f.launcher_pause_every, f.launcher_pause_max);
    number("drift_ppm", f.drift_ppm_max);
    time("offset", f.offset_max);
    time("rank_fault", f.rank_fault_every);
    time("slow_rank", f.slow_rank_every);
    number("term_ignored", f.term_ignored_per_mille);
    number("child_survives", f.child_survives_per_mille);
    if (f.stuck_per_mille != 0) {
        number("stuck", f.stuck_per_mille);
        time("stuck_max", f.stuck_max);
    }
    number("port_taken", f.port_taken_per_mille);
    number("cancel", f.cancel_per_mille);
    time("cordon", f.cordon_every);
    number("user_error", f.user_error_per_mille);
    number("cannot_execute", f.cannot_execute_per_mille);
    return out;
}

} // namespace muster::sim
