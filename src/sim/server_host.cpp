#include "sim/server_host.hpp"

#include "sim/world.hpp"

#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr Duration sync_min = Duration::micros(200);
// A core cannot tell a shorter stop from a busy machine (control/core.cpp: stopped_limit past a
// wake-up at most listen_tick away).
constexpr Duration noticed_stop = Duration::seconds(3) + Duration::millis(100);
constexpr int missed_wakes_max = 100'000;

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::int64_t reply_of(const control::ControlCommand& command) {
    return std::visit([](const auto& c) { return c.reply; }, command);
}

} // namespace

Decision<FactRecord, control::ControlCommand> WatchedControl::step(Instant now,
                                                                   const Event& event) {
    auto decision = core_.step(now, event);
    if (!decision.facts.empty()) {
        world_.checks.facts_made(decision.facts, core_.ledger());
        world_.checks.scheduling_kept(core_.scheduling(), core_.ledger());
    }
    const Sequence need = core_.ledger().last_sequence;
    for (const auto& command : decision.commands) needs_[reply_of(command)] = need;
    return decision;
}

Sequence WatchedControl::take_need(std::int64_t reply) {
    const auto at = needs_.find(reply);
    if (at == needs_.end()) return 0;
    const Sequence need = at->second;
    needs_.erase(at);
    return need;
}

// ---- the process

void ServerHost::start() {
    if (core_) return;
    ++process_;
    armed_at_ = Duration::max();
    paused_ = false;
    listens_since_ = world_.queue.now();
    control::ControlConfig config;
    config.installation = world_.installation;
    config.version = "sim";
    control::Ledger ledger = read_back();
    if (world_.tracing())
        world_.trace("server", fmt::format("starts with {} facts", ledger.last_sequence));
    world_.checks.server_started(ledger);
    const Sequence known = ledger.last_sequence;
    core_ = std::make_unique<WatchedControl>(world_, std::move(config), std::move(ledger));
    if (world_.planted(Plant::commands_before_durable))
        loop_.emplace<UnsafeLoop>(*core_, *this, *this);
    else
        loop_.emplace<SafeLoop>(*core_, *this, *this).resume_from(known);
    step(control::Begin{});
}

control::Ledger ServerHost::read_back() {
    if (!world_.planted(Plant::lost_tail) || disk_.empty()) return durable_;
    disk_.pop_back();
    durable_ = {};
    for (const auto& record : disk_) durable_.apply(record);
    return durable_;
}

void ServerHost::crash() {
    if (!core_) return;
    // A sync that was under way may have reached the disk for a part of its records.
    if (syncing_ > 0)
        make_durable(
            static_cast<std::size_t>(world_.prng.between(0, static_cast<std::int64_t>(syncing_))));
    if (world_.tracing())
        world_.trace("server", fmt::format("killed, {} facts lost", pending_.size()));
    pending_.clear();
    syncing_ = 0;
    stalled_.reset();
    loop_.emplace<std::monostate>();
    core_.reset();
    reset_all(agents_);
    reset_all(launchers_);
    reset_all(requests_);
    paused_ = false;
    for (const auto& refused : std::exchange(waiting_, {})) refused();
}

void ServerHost::pause(Duration until, Clock clock_meanwhile) {
    if (!core_ || paused_ || until <= world_.queue.now()) return;
    paused_ = true;
    paused_at_ = world_.queue.now();
    paused_until_ = until;
    clock_meanwhile_ = clock_meanwhile;
    if (world_.tracing())
        world_.trace("server",
                     fmt::format("stopped until {} ms, its clock {}", until.whole_millis(),
                                 clock_meanwhile == Clock::goes ? "goes on" : "stands"));
    world_.queue.at(until, {"server_resumes", 0}, [this, until, process = process_] {
        if (process == process_ && paused_ && paused_until_ == until) resume();
    });
}

void ServerHost::resume() {
    if (!paused_) return;
    paused_ = false;
    const Duration now = world_.queue.now();
    if (clock_meanwhile_ == Clock::stands)
        clock.offset = clock.offset - (clock.at(now) - clock.at(paused_at_));
    else if (now - paused_at_ > noticed_stop)
        listens_since_ = now;
    if (world_.tracing())
        world_.trace("server", fmt::format("goes on, {} things wait", waiting_.size()));
    if (world_.planted(Plant::hasty_loss)) make_up_for_wakes();
    // Which of its threads runs first is open: the one that wakes the core, or the listener's.
    const bool wakes_first = world_.prng.chance(500);
    if (wakes_first) wake();
    for (const auto& thing : std::exchange(waiting_, {})) thing();
    if (!wakes_first) wake();
}

void ServerHost::make_up_for_wakes() {
    const Instant now = clock.at(world_.queue.now());
    for (int i = 0; i < missed_wakes_max && wake_at() < now; ++i)
        step_at(wake_at(), control::Wake{});
}

template <class F>
bool ServerHost::waits(F what) {
    if (!paused_) return false;
    waiting_.push_back(std::move(what));
    return true;
}

void ServerHost::step(const control::ControlEvent& event) {
    step_at(std::max(clock.read(world_.queue.now()), core_->ledger().last_at), event);
}

void ServerHost::step_at(Instant now, const control::ControlEvent& event) {
    if (stalled_)
        if (auto answer = stalled_->answer(core_->core(), now, event))
            return send(std::move(*answer));
    std::visit(Overloaded{[](std::monostate) {}, [&](auto& loop) { loop.step(now, event); }},
               loop_);
    answer_held();
    arm();
}

/// While the disk is full nobody waits for it.
void ServerHost::answer_held() {
    auto* loop = std::get_if<SafeLoop>(&loop_);
    if (!stalled_ || loop == nullptr) return;
    loop->answer_held([this](const control::ControlCommand& held) {
        core_->take_need(reply_of(held)); // what goes out instead tells of no fact
        return stalled_->instead_of(held);
    });
}

Instant ServerHost::wake_at() const {
    return std::visit(Overloaded{[](std::monostate) { return Instant::never(); },
                                 [](const auto& loop) { return loop.wake_at(); }},
                      loop_);
}

void ServerHost::arm() {
    const Instant wake_at = this->wake_at();
    if (wake_at.is_never()) return;
    const Duration truth = clock.truth_of(wake_at);
    if (truth >= armed_at_) return;
    armed_at_ = truth;
    world_.queue.at(truth, {"server_wake", 0}, [this, truth, process = process_] {
        if (process != process_ || !core_ || armed_at_ != truth) return;
        armed_at_ = Duration::max();
        if (!paused_) wake(); // else with the rest, once it goes on
    });
}

void ServerHost::wake() { step(control::Wake{}); }

// ---- the disk

void ServerHost::append(std::vector<FactRecord> records) {
    for (auto& record : records) pending_.push_back(std::move(record));
    if (syncing_ == 0) sync();
}

void ServerHost::sync() {
    syncing_ = pending_.size();
    if (syncing_ == 0) return;
    if (full_until_ > world_.queue.now() && !world_.healing) {
        stalled_.emplace(Error{Code::resource_exhausted, "the server's disk is full", {}, {}},
                         durable_);
        answer_held();
    }
    const Duration from = std::max(
        {world_.queue.now(), world_.healing ? Duration{} : std::max(stalled_until_, full_until_)});
    world_.queue.at(from + world_.draw(sync_min, world_.faults.fsync_max), {"synced", 0},
                    [this, process = process_, count = syncing_] {
                        if (process != process_ || !core_) return;
                        const auto told = [this, count] {
                            if (core_) synced(count); // else it was killed meanwhile
                        };
                        if (!waits(told)) told();
                    });
}

void ServerHost::synced(std::size_t count) {
    make_durable(count);
    syncing_ = 0;
    stalled_.reset();
    std::visit(Overloaded{[](std::monostate) {},
                          [&](auto& loop) { loop.durable(durable_.last_sequence); }},
               loop_);
    if (syncing_ == 0) sync();
}

void ServerHost::make_durable(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        FactRecord record = std::move(pending_.front());
        pending_.pop_front();
        durable_.apply(record);
        world_.digest(static_cast<std::uint64_t>(record.sequence) * 31 + record.fact.index() +
                      static_cast<std::uint64_t>(record.at.ns));
        world_.checks.became_durable(record);
        disk_.push_back(std::move(record));
    }
}

// ---- the listener

template <class Answer>
void ServerHost::refuse(const CallPtr<Answer>& call) {
    world_.network.answer<Answer>(call, {"refused", 0},
                                  fail(Code::unavailable, "connection refused"));
}

template <class Answer>
void ServerHost::reset_all(std::map<std::int64_t, CallPtr<Answer>>& held) {
    for (auto& [reply, call] : held)
        world_.network.answer<Answer>(call, {"reset", 0},
                                      fail(Code::unavailable, "connection reset"));
    held.clear();
}

template <class Answer>
std::int64_t ServerHost::hold_reply(std::map<std::int64_t, CallPtr<Answer>>& held,
                                    const CallPtr<Answer>& call) {
    const std::int64_t reply = next_reply_++;
    held.emplace(reply, call);
    call->abandoned = [this, &held, reply, process = process_] {
        if (process != process_ || !core_ || held.erase(reply) == 0) return;
        const auto cancel = [this, reply] {
            if (core_) step(control::ReplyCancelled{reply});
        };
        if (!waits(cancel)) cancel();
    };
    return reply;
}

void ServerHost::agent_asked(const CallPtr<AgentOrder>& call, const AgentBeat& beat,
                             Duration hold) {
    if (waits([this, call, beat, hold] { agent_asked(call, beat, hold); })) return;
    if (!core_) return refuse(call);
    AgentBeat seen = beat;
    if (world_.planted(Plant::early_release))
        for (auto& held : seen.held)
            if (held.state == HoldState::stopping) held.state = HoldState::released;
    step(control::AgentAsked{hold_reply(agents_, call), std::move(seen), hold});
}

void ServerHost::launcher_asked(const CallPtr<LauncherOrder>& call, const LauncherBeat& beat,
                                Duration hold) {
    if (waits([this, call, beat, hold] { launcher_asked(call, beat, hold); })) return;
    if (!core_) return refuse(call);
    step(control::LauncherAsked{hold_reply(launchers_, call), beat, hold});
}

void ServerHost::request_asked(const CallPtr<control::Response>& call,
                               const control::Request& request, const std::string& actor) {
    if (waits([this, call, request, actor] { request_asked(call, request, actor); })) return;
    if (!core_) return refuse(call);
    control::RequestAsked asked{hold_reply(requests_, call), actor, world_.prng.next(),
                                world_.prng.next(), request};
    if (world_.planted(Plant::token_dropped))
        if (auto* submit = std::get_if<control::Submit>(&asked.request))
            submit->client_token.clear();
    step(asked);
}

template <class Answer>
void ServerHost::release(std::map<std::int64_t, CallPtr<Answer>>& held, std::int64_t reply,
                         Result<Answer> result) {
    const auto at = held.find(reply);
    if (at == held.end()) return;
    world_.network.answer<Answer>(at->second, {"answer", 0}, std::move(result));
    held.erase(at);
}

void ServerHost::send(control::ControlCommand command) {
    const std::int64_t reply = reply_of(command);
    world_.checks.leaves(core_->take_need(reply), reply);
    std::visit(
        Overloaded{
            [&](control::AnswerAgent& c) {
                if (c.order) world_.checks.order_leaves(*c.order);
                release(agents_, reply, std::move(c.order));
            },
            [&](control::AnswerLauncher& c) { release(launchers_, reply, std::move(c.order)); },
            [&](control::AnswerRequest& c) { release(requests_, reply, std::move(c.response)); }},
        command);
}

} // namespace muster::sim
