#include "app/control_shell.hpp"

#include "app/random.hpp"

namespace muster::app {

ControlShell::ControlShell(control::ControlConfig config, control::Ledger ledger,
                           runtime::Clock& clock, io::SqliteJournal& journal)
    : core_(std::move(config), std::move(ledger)), clock_(clock), journal_(journal),
      loop_(core_, *this, *this) {
    loop_.resume_from(core_.ledger().last_sequence);
}

void ControlShell::start(api::Rest& rest, api::EventFeed& feed) {
    rest_ = &rest;
    feed_ = &feed;
    running_ = true;
    thread_ = std::thread([this] { run(); });
}

void ControlShell::stop() {
    if (!thread_.joinable()) return;
    mailbox_.post(Stop{});
    thread_.join();
}

Status ControlShell::ask(control::ControlEvent event) {
    if (!running_.load())
        return fail(Code::unavailable, "the server is stopping", "try again in a moment");
    if (mailbox_.offer(std::move(event))) return ok();
    return fail(Code::unavailable,
                "the server has more to do than it can (" + std::to_string(core_mailbox_max) +
                    " requests wait)",
                "try again in a moment");
}

void ControlShell::cancel(std::int64_t reply) {
    mailbox_.post(control::ControlEvent{control::ReplyCancelled{reply}});
}

Status ControlShell::count(std::function<void(const api::ClusterCounts&)> take) {
    if (running_.load() && mailbox_.offer(Count{std::move(take)})) return ok();
    return fail(Code::unavailable, "the server is stopping or busy", "try again in a moment");
}

Status ControlShell::ready() {
    if (!running_.load()) return fail(Code::unavailable, "the core does not run");
    if (const auto writes = journal_.accepting(); !writes)
        return fail(Code::unavailable, "nothing can be changed now: " + writes.error().message,
                    writes.error().hint);
    return ok();
}

void ControlShell::draw(std::uint64_t& high, std::uint64_t& low) {
    high = random_bits();
    low = random_bits();
}

void ControlShell::run() {
    step(control::Begin{});
    while (!stopping_) {
        const Instant now = clock_.now();
        const Duration left = loop_.wake_at().is_never() ? Duration::max() : loop_.wake_at() - now;
        for (auto& message : mailbox_.take(left)) take(std::move(message));
        if (loop_.wake_at() <= clock_.now()) step(control::Wake{});
    }
    running_ = false;
    for (auto& message : mailbox_.take(Duration{})) take(std::move(message));
}

void ControlShell::step(const control::ControlEvent& event) {
    const auto began = std::chrono::steady_clock::now();
    auto answer = stalled_ ? stalled_->answer(core_, clock_.now(), event) : std::nullopt;
    if (answer)
        send(std::move(*answer));
    else
        loop_.step(clock_.now(), event);
    if (stalled_) answer_held();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    totals_.step_seconds += took.count();
    ++totals_.steps;
}

void ControlShell::take(Message message) {
    if (const auto* event = std::get_if<control::ControlEvent>(&message)) return step(*event);
    if (const auto* durable = std::get_if<Durable>(&message))
        return take_durable(durable->sequence);
    if (const auto* count = std::get_if<Count>(&message)) return count->take(counts());
    if (std::holds_alternative<Relieved>(message)) return stalled_.reset();
    if (auto* stalled = std::get_if<control::Stalled>(&message)) {
        stalled_ = std::move(*stalled);
        return answer_held();
    }
    stopping_ = true;
}

void ControlShell::answer_held() {
    loop_.answer_held(
        [this](const control::ControlCommand& held) { return stalled_->instead_of(held); });
}

void ControlShell::take_durable(Sequence sequence) {
    std::vector<FactRecord> news;
    while (!not_durable_.empty() && not_durable_.front().records.back().sequence <= sequence) {
        auto& batch = not_durable_.front();
        const std::chrono::duration<double> took =
            std::chrono::steady_clock::now() - batch.appended;
        totals_.journal_seconds += took.count();
        ++totals_.journal_commits;
        std::move(batch.records.begin(), batch.records.end(), std::back_inserter(news));
        not_durable_.pop_front();
    }
    loop_.durable(sequence);
    if (!news.empty()) feed_->publish(std::move(news));
}

void ControlShell::send(control::ControlCommand command) { rest_->answer(std::move(command)); }

void ControlShell::append(std::vector<FactRecord> records) {
    api::count_restarts(records, core_.ledger(), totals_);
    not_durable_.push_back({records, std::chrono::steady_clock::now()});
    journal_.append(std::move(records));
}

api::ClusterCounts ControlShell::counts() const {
    api::ClusterCounts counts = totals_;
    api::count_ledger(core_.ledger(), counts);
    counts.events_waiting = static_cast<std::int64_t>(mailbox_.waiting());
    counts.requests_refused = static_cast<std::int64_t>(mailbox_.refused());
    counts.commands_held = static_cast<std::int64_t>(loop_.held());
    counts.journal_accepts = journal_.accepting().has_value();
    return counts;
}

} // namespace muster::app
