#include "sim/world.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration look_every = Duration::millis(250);     // for the end of a run
constexpr Duration looks_mean = Duration::seconds(10);     // of people who only look
constexpr Duration uncordon_after = Duration::seconds(15); // late requests are over by then
constexpr std::int64_t events_at_once_max = 20'000;        // more at one time: something spins
constexpr std::uint64_t label_salt = 0x9E37'79B9'7F4A'7C15;

constexpr std::array plants{
    PlantName{Plant::none, "none", "no planted bug"},
    PlantName{Plant::commands_before_durable, "commands_before_durable",
              "the server answers before its journal is durable"},
    PlantName{Plant::no_fence, "no_fence", "agents take late orders for fresh ones"},
    PlantName{Plant::release_without_clearing, "release_without_clearing",
              "an agent says that a group is empty and does not look"},
    PlantName{Plant::cleared_without_killing, "cleared_without_killing",
              "a launcher says that ranks are cleared and does not kill"},
    PlantName{Plant::early_release, "early_release", "the server takes stopping for released"},
    PlantName{Plant::lost_tail, "lost_tail", "a restarted server forgets its last fact"},
    PlantName{Plant::token_dropped, "token_dropped", "the server does not see client tokens"},
    PlantName{Plant::agent_forgets, "agent_forgets", "a restarted agent does not read its journal"},
    PlantName{Plant::order_without_journal, "order_without_journal",
              "an agent starts launchers before its journal knows"},
    PlantName{Plant::hasty_loss, "hasty_loss",
              "a server that slept makes up for each wake-up it missed, as if it had listened"},
    PlantName{Plant::success_always, "success_always",
              "a launcher reports success whatever happened"},
};

} // namespace

std::span<const PlantName> plant_names() { return plants; }
std::string_view to_text(Plant plant) {
    for (const auto& entry : plants)
        if (entry.plant == plant) return entry.name;
    return "";
}

World::World(Options options_in, WorldSetup setup_in)
    : options(std::move(options_in)), setup(std::move(setup_in)),
      prng(mix64(options.seed ^ label_salt)), faults(setup.faults),
      network(queue, prng, faults, setup.devices.size() + 2), training(*this), checks(*this),
      server(*this), people(*this), chaos(*this) {
    installation = InstallationId::make(epoch, prng.next(), prng.next());
    server.clock.offset = draw(Duration{} - faults.offset_max, faults.offset_max);
    server.clock.drift_ppm = prng.between(-faults.drift_ppm_max, faults.drift_ppm_max);
    for (std::size_t i = 0; i < setup.devices.size(); ++i)
        machines.push_back(
            std::make_unique<Machine>(*this, static_cast<MachineId>(i) + 1, setup.devices[i]));
}
World::~World() = default;

Machine* World::machine_at(const std::string& address) {
    const std::string host = address.substr(0, address.find(':'));
    for (const auto& machine : machines)
        if (machine->inventory().address == host) return machine.get();
    return nullptr;
}

const JobPlan* World::plan_of(const WorkloadName& name) const {
    for (const auto& plan : setup.jobs)
        if (*plan.spec.name == name) return &plan;
    return nullptr;
}

void World::trace(std::string_view subject, const std::string& text) {
    if (options.trace)
        options.trace(fmt::format("{:>10.3f} {:<8} {}", queue.now().as_seconds(), subject, text));
}

void World::violate(std::string checker, std::string text) {
    if (tracing()) trace("VIOLATED", checker + ": " + text);
    if (!violation_) violation_ = Violation{std::move(checker), std::move(text), queue.now()};
}

void World::schedule_people() {
    for (const auto& plan : setup.jobs) {
        if (plan.submit_at == Duration::max()) continue; // a scenario says when
        queue.at(plan.submit_at, {"submit", 0}, [this, &plan] { people.submit(plan); });
        if (plan.cancel_at)
            queue.at(*plan.cancel_at, {"cancel", 0},
                     [this, &plan] { people.cancel(plan.spec.name->text); });
    }
}

void World::begin() {
    server.start();
    for (const auto& machine : machines) machine->power_on();
    schedule_people();
    chaos.begin();
    for (Duration at = looks_mean; at < setup.chaos && setup.chaos != Duration::max();
         at += looks_mean)
        queue.at(at, {"look", 0}, [this] { people.look(); });
}

void World::run_one() {
    queue.run_next();
    const Label& label = queue.running();
    digest(static_cast<std::uint64_t>(queue.now().ns) * label_salt +
           static_cast<std::uint64_t>(label.subject) + static_cast<std::uint64_t>(label.what[0]));
    if (!agents_.empty()) agents_.clear();
    if (!launchers_.empty()) launchers_.clear();
    if (queue.now() != last_time_) {
        last_time_ = queue.now();
        events_at_once_ = 0;
    } else if (++events_at_once_ > events_at_once_max) {
        violate("spinning", fmt::format("more than {} events at one time, now {}",
                                        events_at_once_max, label.what));
    }
}

bool World::run_until(const std::function<bool()>& done, Duration limit, Duration every) {
    limit = std::min(limit, options.until);
    Duration look_at = queue.now();
    while (!violation_) {
        if (queue.now() >= look_at) {
            if (done()) return true;
            look_at = queue.now() + every;
        }
        if (queue.next_at() > limit) return false;
        run_one();
    }
    return false;
}

void World::heal() {
    if (tracing()) trace("world", "faults end");
    healing = true;
    chaos.heal();
    queue.after(uncordon_after, {"uncordon", 0}, [this] {
        for (const auto& machine : machines) people.uncordon(machine->name());
    });
}

bool World::all_done() const {
    const control::Ledger* ledger = server.ledger();
    if (ledger == nullptr || people.open() != 0) return false;
    if (!people.all_submitted()) return false;
    for (const auto& [id, workload] : ledger->workloads) {
        if (!is_terminal(workload.phase)) return false;
        for (const auto& attempt : workload.attempts)
            if (!attempt.holding.empty()) return false;
    }
    return true;
}

Outcome World::run() {
    begin();
    run_until([] { return false; }, setup.chaos, look_every);
    return finish();
}

Outcome World::finish() {
    heal();
    come_to_rest();
    const auto never = [] { return false; };
    run_until(never, queue.now() + rest_before_quiet, look_every);
    const std::size_t facts = server.journal().size();
    run_until(never, queue.now() + quiet_for, look_every);
    if (!violation_ && queue.now() < options.until) {
        if (server.journal().size() != facts)
            violate("quiescence", "facts are made though nothing happens");
        checks.at_end();
    }
    return outcome();
}

void World::come_to_rest() {
    const Duration limit = queue.now() + liveness_limit;
    if (run_until([this] { return all_done(); }, limit, look_every)) return;
    if (violation_ || limit > options.until) return;
    std::string waiting;
    if (const auto* ledger = server.ledger())
        for (const auto& [id, workload] : ledger->workloads)
            if (!is_terminal(workload.phase))
                waiting += fmt::format(" {} ({})", workload.name.text, explain(workload.reason));
    violate("liveness", fmt::format("not at rest {} s after the faults ended:{}",
                                    liveness_limit.ns / 1'000'000'000, waiting));
}

Outcome World::outcome() const {
    Outcome outcome;
    outcome.violation = violation_;
    outcome.events = queue.events();
    outcome.digest = digest_;
    outcome.ended_at = queue.now();
    outcome.facts = server.journal().size();
    for (const auto& [id, workload] : server.durable().workloads) {
        outcome.succeeded += workload.phase == WorkloadPhase::succeeded;
        outcome.failed += workload.phase == WorkloadPhase::failed;
        outcome.cancelled += workload.phase == WorkloadPhase::cancelled;
    }
    return outcome;
}

Outcome run_seed(const Options& options) {
    World world(options, draw_setup(options.seed));
    return world.run();
}

} // namespace muster::sim
