// Thousands of random attempts: random sizes, clocks, networks, faults and orders. The world's
// checkers watch the mechanism; here the outcome is held against what was really done.

#include "plans.hpp"
#include "recovery/recovery.hpp"

#include <cstdlib>
#include <string>

namespace muster::launch::test {
namespace {

using std::int64_t;

constexpr std::uint64_t runs_default = 500; // MUSTER_LAUNCH_RUNS=20000 asks for more
constexpr Duration attempt_limit = Duration::hours(12);

/// One drawn attempt, printed by its seed: a failure is repeated by MUSTER_LAUNCH_SEED.
struct Draw {
    WorldOptions options;
    int64_t failing_generations = 0; // from the first on
    bool cancel = false;
    bool fence = false;
    bool power_off = false;
    bool member_leaves = false;
    bool cuts = false;
    bool server_outage = false;
    bool stuck = false;
    std::map<Generation, int64_t> victim;
    Script script;

    explicit Draw(std::uint64_t seed);
    bool disturbed() const {
        return cancel || fence || power_off || member_leaves || cuts || stuck;
    }
};

Draw::Draw(std::uint64_t seed) {
    Prng prng(seed);
    options.seed = prng.next();
    options.launchers = prng.between(1, 3);
    options.ranks_each = prng.between(1, 3);
    options.latency_max = Duration::micros(prng.between(300, 15'000));
    if (prng.chance(300)) options.loss_per_mille = static_cast<std::uint32_t>(prng.between(1, 150));
    for (int64_t i = 0; i < options.launchers; ++i)
        options.skew.push_back(
            Duration::seconds(prng.chance(500) ? 0 : prng.between(-90'000, 90'000)));
    options.stop_grace = Duration::seconds(prng.between(0, 20));
    options.restarts = {1000, 1000};
    if (prng.chance(100)) options.port_failures = prng.between(1, 3);
    failing_generations = prng.between(0, 4);
    cancel = prng.chance(150);
    fence = prng.chance(50);
    server_outage = prng.chance(200);
    stuck = prng.chance(30);
    if (options.launchers > 1) {
        power_off = prng.chance(80);
        member_leaves = prng.chance(60);
        cuts = prng.chance(100);
    }
    const int64_t ranks = options.launchers * options.ranks_each;
    for (Generation g = 1; g <= failing_generations; ++g) victim[g] = prng.between(0, ranks - 1);
    script = [*this, salt = prng.next(), ranks](Generation g, int64_t rank) {
        Prng p(mix64(salt + static_cast<std::uint64_t>(g * 1000 + rank)));
        RankPlan plan = done_after(Duration::millis(p.between(30'000, 32'000)));
        plan.step_time = Duration::millis(p.between(200, 2'000));
        plan.first_step = g * 1'000;
        plan.dies_after_term = p.chance(100) ? never : Duration::millis(p.between(0, 900));
        plan.notices_peer = p.chance(300) ? never : Duration::millis(p.between(1, 400));
        plan.leaves_child = p.chance(200);
        plan.survives_kills = stuck && rank == 0 ? 1'000 : p.chance(30) ? p.between(1, 2) : 0;
        const auto failing = victim.find(g);
        if (failing == victim.end()) return plan;
        plan.ends_after = Duration::hours(3);
        if (failing->second != rank) return plan;
        // After the first steps, so that it counts as progress; sometimes at the very start.
        plan.ends_after =
            Duration::millis(p.chance(100) ? p.between(0, 50) : p.between(5'000, 20'000));
        if (p.chance(500))
            plan.signal = p.chance(500) ? 9 : 11;
        else {
            plan.exit_code = 17;
            plan.traceback = "Traceback (most recent call last):\n  File \"t.py\", line 3\n"
                             "ValueError: rank " +
                             std::to_string(ranks) + " of its own\n";
        }
        plan.linger = Duration::millis(p.between(0, 90));
        return plan;
    };
}

std::string explain_problems(const World& world) {
    std::string text;
    for (const auto& problem : world.problems) text += problem + "; ";
    return text;
}

void schedule(World& world, const Draw& draw, Prng& prng) {
    const auto some_time = [&] { return Duration::millis(prng.between(0, 60'000)); };
    if (draw.cancel) world.at(some_time(), [&world] { world.cancel(); });
    if (draw.fence) world.at(some_time(), [&world] { world.fence(); });
    if (draw.server_outage) {
        const Duration from = Duration::seconds(2) + some_time();
        world.at(from, [&world] { world.server_down = true; });
        world.at(from + some_time(), [&world] { world.server_down = false; });
    }
    if (draw.options.launchers < 2) return;
    const int64_t member = prng.between(1, draw.options.launchers - 1);
    if (draw.power_off) {
        const int64_t victim = prng.between(0, draw.options.launchers - 1);
        world.at(some_time(), [&world, victim] { world.power_off(victim); });
    }
    if (draw.member_leaves)
        world.at(some_time(), [&world, member] {
            if (!world.launcher(member).dead) world.signal(member, 15);
        });
    if (draw.cuts) {
        const Duration from = some_time();
        world.at(from, [&world, member] { world.cut.insert(member); });
        world.at(from + some_time() / 2, [&world] { world.cut.clear(); });
    }
}

void check_summaries(World& world, const Draw& draw) {
    Instant before;
    const auto summaries = world.summaries();
    for (const auto& summary : summaries) {
        EXPECT_GE(summary.began_at, before);
        EXPECT_LE(summary.began_at, summary.detected_at);
        if (summary.torn_down_at != Instant{}) {
            EXPECT_LE(summary.detected_at, summary.torn_down_at);
            before = summary.torn_down_at;
        }
        if (summary.fault_at != Instant{}) {
            EXPECT_LE(summary.fault_at, summary.detected_at);
        }
        const bool by_rank = summary.cause && summary.cause->rank &&
                             summary.cause->reason.code == ReasonCode::rank_failed;
        if (!by_rank || draw.power_off) continue;
        const auto real = world.first_fault.find(summary.generation);
        ASSERT_NE(real, world.first_fault.end()) << "generation " << summary.generation;
        EXPECT_EQ(*summary.cause->rank, real->second) << "generation " << summary.generation;
    }
    // Each restart has its summary; nothing is told twice or forgotten.
    for (std::size_t i = 0; i < summaries.size(); ++i)
        EXPECT_EQ(summaries[i].generation, static_cast<Generation>(i) + 1);
    EXPECT_EQ(summaries.size(), world.launcher(0).tables.size());
}

void check_outcome(World& world, const Draw& draw) {
    const LauncherResult& result = world.result();
    if (draw.disturbed()) {
        if (result.outcome == AttemptOutcome::cancelled) {
            EXPECT_TRUE(draw.cancel);
        }
        if (result.outcome == AttemptOutcome::none) {
            EXPECT_TRUE(draw.fence);
        }
        if (result.outcome == AttemptOutcome::lost) {
            EXPECT_TRUE(draw.power_off || draw.member_leaves || draw.cuts || draw.fence);
        }
        return;
    }
    // Victims that die at the very start again and again make no progress: the only other end.
    const bool stopped = result.cause && (result.cause->reason.code == ReasonCode::no_progress ||
                                          result.cause->reason.code == ReasonCode::user_error);
    if (stopped) return;
    EXPECT_EQ(result.outcome, AttemptOutcome::succeeded)
        << (result.cause ? explain(result.cause->reason) : "");
    EXPECT_EQ(static_cast<int64_t>(world.launcher(0).tables.size()), draw.failing_generations + 1);
    EXPECT_EQ(world.exit_code(), 0);
}

/// What the runs came to, so that draws which reach nothing are seen.
struct Tally {
    std::map<AttemptOutcome, int64_t> outcomes;
    int64_t restarts = 0;
    int64_t causes = 0;
};

void run_one(std::uint64_t seed, Tally& tally) {
    SCOPED_TRACE("MUSTER_LAUNCH_SEED=" + std::to_string(seed));
    const Draw draw(seed);
    World world(draw.options, draw.script);
    world.allowance.policy = draw.options.restarts;
    Prng prng(mix64(seed));
    schedule(world, draw, prng);
    world.run(attempt_limit);
    ASSERT_TRUE(world.all_left()) << "somebody never leaves";
    EXPECT_TRUE(world.problems.empty()) << explain_problems(world);
    if (!draw.stuck) {
        EXPECT_EQ(world.alive(), 0);
    }
    if (world.launcher(0).dead) return; // the lead lost its power: nobody speaks for the attempt
    ++tally.outcomes[world.result().outcome];
    tally.restarts += static_cast<int64_t>(world.summaries().size()) - 1;
    for (const auto& summary : world.summaries())
        tally.causes += summary.cause && summary.cause->rank ? 1 : 0;
    check_summaries(world, draw);
    check_outcome(world, draw);
}

TEST(Random, attempts_end_once_and_generations_never_overlap) {
    Tally tally;
    if (const char* seed = std::getenv("MUSTER_LAUNCH_SEED")) {
        run_one(std::stoull(seed), tally);
        return;
    }
    const char* asked = std::getenv("MUSTER_LAUNCH_RUNS");
    const std::uint64_t runs = asked ? std::stoull(asked) : runs_default;
    for (std::uint64_t seed = 1; seed <= runs && !HasFailure(); ++seed) run_one(seed, tally);
    const auto enough = static_cast<int64_t>(runs / 100);
    for (const auto outcome :
         {AttemptOutcome::succeeded, AttemptOutcome::failed, AttemptOutcome::lost,
          AttemptOutcome::cancelled, AttemptOutcome::none})
        EXPECT_GT(tally.outcomes[outcome], enough) << static_cast<int>(outcome);
    EXPECT_GT(tally.restarts, static_cast<int64_t>(runs) / 2);
    EXPECT_GT(tally.causes, static_cast<int64_t>(runs) / 2);
}

} // namespace
} // namespace muster::launch::test
