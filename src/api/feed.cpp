#include "api/feed.hpp"

#include "codec/json.hpp"

#include <algorithm>
#include <chrono>

namespace muster::api {
namespace {

constexpr std::size_t history_batch = 200; // facts read at once for one watcher

std::chrono::nanoseconds nanos(Duration duration) { return std::chrono::nanoseconds(duration.ns); }

} // namespace

void EventFeed::start(Sequence durable, WorkloadNames names) {
    durable_ = durable;
    names_ = std::move(names);
    thread_ = std::thread([this] { run(); });
}

void EventFeed::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    watchers_.clear();
    joining_.clear();
    tasks_.clear();
}

void EventFeed::publish(std::vector<FactRecord> records) {
    {
        const std::lock_guard lock(mutex_);
        if (published_.empty())
            published_ = std::move(records);
        else
            std::move(records.begin(), records.end(), std::back_inserter(published_));
    }
    wake_.notify_all();
}

void EventFeed::watch(http::HttpStream stream, Sequence after) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        joining_.push_back({std::move(stream), after});
    }
    wake_.notify_all();
}

void EventFeed::page(Answer answer, Sequence after, std::size_t limit, bool facts) {
    auto shared = std::make_shared<Answer>(std::move(answer)); // std::function copies
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || tasks_.size() >= feed_tasks_max)
            return shared->give(Error{Code::unavailable,
                                      "too many pages are asked for at once",
                                      "try again in a moment",
                                      {}});
        tasks_.push_back([this, shared, after, limit, facts] {
            serve_page(std::move(*shared), after, limit, facts);
        });
    }
    wake_.notify_all();
}

std::size_t EventFeed::watchers() const {
    const std::lock_guard lock(mutex_);
    return watching_;
}

void EventFeed::run() {
    auto next_heartbeat = std::chrono::steady_clock::now() + nanos(heartbeat_every);
    Pace pace = Pace::idle; // of the busiest watcher
    for (;;) {
        std::vector<FactRecord> records;
        std::deque<std::function<void()>> tasks;
        {
            std::unique_lock lock(mutex_);
            auto limit = next_heartbeat;
            if (pace == Pace::busy) limit = std::chrono::steady_clock::now();
            if (pace == Pace::slow)
                limit =
                    std::min(limit, std::chrono::steady_clock::now() + nanos(slow_watcher_pause));
            wake_.wait_until(lock, limit, [this] {
                return stopping_ || !published_.empty() || !joining_.empty() || !tasks_.empty();
            });
            if (stopping_) return;
            records.swap(published_);
            tasks.swap(tasks_);
            std::move(joining_.begin(), joining_.end(), std::back_inserter(watchers_));
            joining_.clear();
        }
        take_published(std::move(records));
        for (auto& task : tasks) task();
        if (std::chrono::steady_clock::now() >= next_heartbeat) {
            next_heartbeat = std::chrono::steady_clock::now() + nanos(heartbeat_every);
            const auto beat = std::make_shared<const std::string>(": still here\n\n");
            for (auto& watcher : watchers_)
                if (watcher.stream.unsent() == 0) watcher.stream.write(beat);
        }
        pace = Pace::idle;
        for (auto& watcher : watchers_) pace = std::max(pace, pump(watcher));
        std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.stream.gone(); });
        const std::lock_guard lock(mutex_);
        watching_ = watchers_.size();
    }
}

void EventFeed::take_published(std::vector<FactRecord> records) {
    for (const auto& record : records) {
        names_.learn(record);
        durable_ = record.sequence;
        recent_.push_back({record.sequence, nullptr});
        if (is_event(record.fact))
            recent_.back().text = std::make_shared<const std::string>(event_text(record));
        if (recent_.size() > recent_events_max) recent_.pop_front();
    }
}

std::string EventFeed::event_text(const FactRecord& record) const {
    return "id: " + std::to_string(record.sequence) +
           "\nevent: fact\ndata: " + codec::to_json(event_view(record, names_)) + "\n\n";
}

EventFeed::Pace EventFeed::pump(Watcher& watcher) {
    while (watcher.after < durable_) {
        if (watcher.stream.gone()) return Pace::idle;
        if (watcher.stream.unsent() > watcher_unsent_max) return Pace::slow;
        if (recent_.empty() || recent_.front().sequence > watcher.after + 1) {
            pump_history(watcher);
            return Pace::busy; // the others' turn first
        }
        const auto offset = static_cast<std::size_t>(watcher.after + 1 - recent_.front().sequence);
        const auto& next = recent_[offset];
        if (next.text && !watcher.stream.write(next.text)) return Pace::idle;
        watcher.after = next.sequence;
    }
    return Pace::idle;
}

void EventFeed::pump_history(Watcher& watcher) {
    const auto records = read_(watcher.after, history_batch);
    if (!records || records->empty()) {
        watcher.stream.close(); // the reader resumes with its last id
        watcher.after = durable_;
        return;
    }
    for (const auto& record : *records) {
        if (record.sequence > durable_) break;
        names_.recall(record);
        watcher.after = record.sequence;
        if (is_event(record.fact) && !watcher.stream.write(event_text(record))) break;
    }
}

void EventFeed::serve_page(Answer answer, Sequence after, std::size_t limit, bool facts) {
    auto records = read_(after, limit);
    if (!records) return answer.give(records.error());
    for (const auto& record : *records) names_.recall(record);
    http::HttpResponse response;
    const Sequence next = records->empty() ? after : records->back().sequence;
    if (facts) {
        response.body = codec::to_json(FactPage{std::move(*records), next}, codec::Style::exact);
    } else {
        EventPage page;
        for (const auto& record : *records)
            if (is_event(record.fact)) page.items.push_back(event_view(record, names_));
        page.next = next;
        response.body = codec::to_json(page);
    }
    answer.give(std::move(response));
}

} // namespace muster::api
