#include "app/agent.hpp"

#include "app/agent_journal.hpp"
#include "app/agent_lane.hpp"
#include "app/agent_launchers.hpp"
#include "app/agent_node_dir.hpp"
#include "app/local_address.hpp"
#include "app/random.hpp"
#include "app/signals.hpp"
#include "io/device/nvml.hpp"
#include "io/logs/log_reader.hpp"
#include "io/posix/clock.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"
#include "io/posix/mailbox.hpp"
#include "io/posix/sampler.hpp"
#include "model/spec.hpp"
#include "runtime/loop.hpp"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <set>

namespace muster::app {
namespace {

constexpr Duration sample_interval = Duration::seconds(5);
constexpr Duration sweep_interval = Duration::minutes(10);
constexpr Duration journal_retry = Duration::seconds(1); // while the disk is full

/// The agent's process around its core: one loop that waits for signals, ends of launchers, answers
/// and time. What blocks (requests, reading logs, ending groups) is done by threads that post.
class AgentShell : runtime::Outbox<agent::AgentCommand> {
  public:
    AgentShell(const NodeDir& dir, AgentJournal::Opened opened, agent::AgentConfig config,
               LauncherContext context, io::UniqueFd signals)
        : dir_(dir), journal_(std::move(opened.journal)),
          core_(std::move(config), std::move(opened.ledger)),
          loop_(core_, journal_, static_cast<runtime::Outbox<agent::AgentCommand>&>(*this)),
          launchers_(dir, with_post(std::move(context))), sampler_({"/proc", dir.path()}),
          signals_(std::move(signals)), reader_(1) {
        loop_.resume_from(core_.ledger().last_sequence);
    }

    Status run(const std::string& server, const std::string& token_file);

  private:
    LauncherContext with_post(LauncherContext context) {
        context.post = [this](agent::AgentEvent event) { mailbox_.post(std::move(event)); };
        return context;
    }

    void step(const agent::AgentEvent& event);
    void flush_journal();
    void take_events();
    void take_ends(const std::vector<pollfd>& polled,
                   const std::vector<Launchers::Watched>& watched);
    void do_what_is_due();
    void wait_for_something();
    Duration until_next() const;
    std::set<AttemptKey> held() const;
    void note_contact(const agent::AgentEvent& event);

    void send(agent::AgentCommand command) override {
        std::visit([this](const auto& one) { carry_out(one); }, command);
    }
    void carry_out(const agent::SendBeat& command) {
        (command.lane == Lane::poll ? poll_ : push_)->send(command.beat);
    }
    void carry_out(const agent::StartLauncher& command);
    void carry_out(const agent::AdoptLauncher& command);
    void carry_out(const agent::AskLauncherToLeave& command);
    void carry_out(const agent::ClearGroup& command) { launchers_.clear(command.key); }
    void carry_out(const agent::ReadLogs& command);
    void carry_out(const agent::GiveUp& command) { outcome_ = fail(command.error); }

    const NodeDir& dir_;
    mutable io::SystemClock clock_{{.not_before = {}, .read = {}, .tell = io::log_clock_news}};
    // Nothing comes from outside: each event answers a beat, a command or a task of a thread.
    io::BoundedMailbox<agent::AgentEvent> mailbox_{0};
    AgentJournal journal_;
    agent::AgentCore core_;
    runtime::Loop<agent::AgentCore> loop_;
    Launchers launchers_;
    io::Sampler sampler_;
    std::unique_ptr<BeatLane> poll_;
    std::unique_ptr<BeatLane> push_;
    io::UniqueFd signals_;
    std::optional<Status> outcome_; // set: the loop ends
    Instant next_sample_;
    Instant next_sweep_;
    Instant next_flush_ = Instant::never();
    bool server_away_ = false;
    Worker reader_; // logs, old folders
};

Status AgentShell::run(const std::string& server, const std::string& token_file) {
    const auto post = [this](agent::AgentEvent event) { mailbox_.post(std::move(event)); };
    for (auto [lane, slot] : {std::pair{Lane::poll, &poll_}, std::pair{Lane::push, &push_}}) {
        auto started = BeatLane::start(lane, server, token_file, post);
        if (!started) return fail(started.error());
        *slot = std::move(*started);
    }
    step(agent::Begin{});
    while (!outcome_) {
        wait_for_something();
        take_events();
        do_what_is_due();
    }
    // The lanes end first: they post into the mailbox.
    poll_.reset();
    push_.reset();
    flush_journal();
    return *outcome_;
}

void AgentShell::step(const agent::AgentEvent& event) {
    note_contact(event);
    loop_.step(clock_.now(), event);
    flush_journal();
}

void AgentShell::flush_journal() {
    if (journal_.pending()) {
        const auto written = journal_.flush();
        if (!written) {
            if (next_flush_.is_never())
                io::log_event("journal_waits", {{"error", to_text(written.error())}});
            next_flush_ = clock_.now() + journal_retry;
            return;
        }
        if (!next_flush_.is_never()) io::log_event("journal_writes_again");
        next_flush_ = Instant::never();
        loop_.durable(*written);
    }
    if (loop_.held() == 0 && !journal_.pending())
        if (auto shortened = journal_.shorten_if_long(core_.ledger()); !shortened)
            io::log_event("journal_not_shortened", {{"error", to_text(shortened.error())}});
}

void AgentShell::take_events() {
    for (auto events = mailbox_.take({}); !events.empty(); events = mailbox_.take({}))
        for (const auto& event : events) {
            if (outcome_) return;
            // A launcher that ClearGroup ended is told of before its group: it may have left a
            // result.
            if (const auto* cleared = std::get_if<agent::GroupCleared>(&event))
                if (const auto gone = launchers_.take_end(cleared->key)) step(*gone);
            step(event);
        }
}

void AgentShell::wait_for_something() {
    const auto watched = launchers_.watched();
    std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}, {mailbox_.fd(), POLLIN, 0}};
    for (const auto& launcher : watched) polled.push_back({launcher.pidfd, POLLIN, 0});
    const Duration wait = until_next();
    const timespec limit{wait.ns / 1'000'000'000, wait.ns % 1'000'000'000};
    if (::ppoll(polled.data(), polled.size(), &limit, nullptr) <= 0) return;
    if (const int signal = take_signal(signals_); signal != 0) {
        io::log_event("agent_leaves", {{"signal", std::to_string(signal)}});
        outcome_ = ok();
        return;
    }
    take_ends(polled, watched);
}

void AgentShell::take_ends(const std::vector<pollfd>& polled,
                           const std::vector<Launchers::Watched>& watched) {
    for (std::size_t i = 0; i < watched.size(); ++i) {
        if (polled[i + 2].revents == 0) continue;
        const auto gone = launchers_.take_end(watched[i].key);
        if (!gone) continue;
        io::log_event("launcher_gone", {{"workload", to_text(gone->key.workload)},
                                        {"attempt", std::to_string(gone->key.attempt)},
                                        {"result", gone->result ? "yes" : "no"},
                                        {"error", gone->error}});
        step(*gone);
    }
}

Duration AgentShell::until_next() const {
    const Instant next = std::min({loop_.wake_at(), next_sample_, next_sweep_, next_flush_});
    const Duration wait = next - clock_.now();
    return std::clamp(wait, Duration{}, sample_interval);
}

void AgentShell::do_what_is_due() {
    const Instant now = clock_.now();
    if (now >= next_flush_) flush_journal();
    if (now >= loop_.wake_at()) step(agent::Wake{});
    if (now >= next_sample_) {
        next_sample_ = now + sample_interval;
        step(agent::SampleTaken{sampler_.take(now)});
    }
    if (now >= next_sweep_) {
        next_sweep_ = now + sweep_interval;
        reader_.add([this, keys = held()] { dir_.sweep(keys); });
    }
}

std::set<AttemptKey> AgentShell::held() const {
    std::set<AttemptKey> keys;
    for (const auto& [key, hold] : core_.ledger().holds) keys.insert(key);
    return keys;
}

void AgentShell::note_contact(const agent::AgentEvent& event) {
    const auto* failed = std::get_if<agent::BeatFailed>(&event);
    if (failed != nullptr && !server_away_) {
        server_away_ = true;
        io::log_event("server_away", {{"error", to_text(failed->error)}});
    } else if (server_away_ && std::holds_alternative<agent::OrderArrived>(event)) {
        server_away_ = false;
        io::log_event("server_back");
    }
}

void AgentShell::carry_out(const agent::StartLauncher& command) {
    const auto started = launchers_.start(command, core_.ledger().installation);
    io::log_event(started.pid != 0 ? "launcher_started" : "launcher_not_started",
                  {{"job", command.order.name.text},
                   {"workload", to_text(started.key.workload)},
                   {"attempt", std::to_string(started.key.attempt)},
                   {"pid", std::to_string(started.pid)},
                   {"error", started.error}});
    mailbox_.post(started);
}

void AgentShell::carry_out(const agent::AdoptLauncher& command) {
    const auto event = launchers_.adopt(command);
    io::log_event(std::holds_alternative<agent::LauncherStarted>(event) ? "launcher_adopted"
                                                                        : "launcher_not_found",
                  {{"workload", to_text(command.key.workload)},
                   {"attempt", std::to_string(command.key.attempt)}});
    mailbox_.post(event);
}

void AgentShell::carry_out(const agent::AskLauncherToLeave& command) {
    io::log_event("launcher_asked_to_leave", {{"workload", to_text(command.key.workload)},
                                              {"attempt", std::to_string(command.key.attempt)}});
    launchers_.ask_to_leave(command.key);
}

void AgentShell::carry_out(const agent::ReadLogs& command) {
    reader_.add([this, request = command.request] {
        mailbox_.post(agent::LogsRead{io::read_logs(dir_.path(), request)});
    });
}

Result<Inventory> take_inventory(const AgentOptions& options) {
    Inventory inventory;
    inventory.hostname = io::hostname();
    inventory.cpus = io::usable_cpus();
    inventory.memory_bytes = io::memory_total_bytes();
    inventory.version = MUSTER_VERSION;
    if (auto fine = check_slots(options.slots); !fine) return fail(fine.error());
    if (!options.slots) {
        auto found = io::find_nvidia_devices();
        io::log_event("devices_found",
                      {{"gpus", std::to_string(found.devices.size())}, {"note", found.note}});
        inventory.devices = std::move(found.devices);
    }
    if (inventory.devices.empty())
        for (std::int64_t i = 0; i < options.slots.value_or(inventory.cpus); ++i)
            inventory.devices.push_back({i, DeviceKind::slot, "", "", 0});
    return inventory;
}

} // namespace

Status check_slots(std::optional<std::int64_t> slots) {
    if (slots && (*slots < 1 || *slots > slots_max))
        return fail(Code::invalid_argument, std::to_string(*slots) + " slots are not possible",
                    "give 1 to " + std::to_string(slots_max), "slots");
    return ok();
}

std::string default_node_name() { return io::hostname_label(io::hostname()); }

Status run_agent(const AgentOptions& options) {
    // Before the first thread, so that all inherit it.
    auto signals = watch_end_signals();
    if (!signals) return fail(signals.error());
    auto node = parse_node_name(options.node.empty() ? default_node_name() : options.node);
    if (!node) return fail(node.error());
    auto inventory = take_inventory(options);
    if (!inventory) return fail(inventory.error());
    auto address = options.address.empty() ? local_address_towards(options.server)
                                           : Result<std::string>(options.address);
    if (!address) return fail(address.error());
    inventory->address = *address;
    auto dir = NodeDir::open(options.node_dir);
    if (!dir) return fail(dir.error());
    auto opened = AgentJournal::open(dir->journal_file());
    if (!opened) return fail(opened.error());

    std::error_code error;
    LauncherContext context;
    context.program = options.program.empty()
                          ? std::filesystem::read_symlink("/proc/self/exe", error).string()
                          : options.program;
    context.file.node = *node;
    context.file.server = options.server;
    context.file.token_file = std::filesystem::absolute(options.token_file, error).string();
    context.file.address = *address;
    context.file.node_dir = dir->path();
    if (!inventory->devices.empty()) context.file.devices = inventory->devices[0].kind;
    agent::AgentConfig config;
    config.node = *node;
    config.boot_id = dir->boot_id();
    config.session = random_id<AgentSessionTag>();
    config.inventory = std::move(*inventory);
    io::log_event("agent_starts", {{"node", node->text},
                                   {"server", options.server},
                                   {"devices", std::to_string(config.inventory.devices.size())},
                                   {"held", std::to_string(opened->ledger.holds.size())}});
    return AgentShell(*dir, std::move(*opened), std::move(config), std::move(context),
                      std::move(*signals))
        .run(options.server, options.token_file);
}

} // namespace muster::app
