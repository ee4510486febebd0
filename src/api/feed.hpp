#pragma once
// EventFeed: serves the facts as events, past ones from the journal and new ones as they become
// durable, on a thread of its own. A watcher is a cursor: a slow one waits at its place, nothing is
// lost for it, and others never wait for it. One whose client takes nothing for write_max is cut by
// the transport and resumes with the id it saw last.
// Life: longer than the HTTP server; start() to stop(). Thread-safe.

#include "api/answer.hpp"
#include "api/events.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::api {

struct EventPage {
    std::vector<EventView> items;
    Sequence next = 0; // ask after it for more; as asked: nothing is left, otherwise go on
};
MUSTER_DESCRIBE(EventPage, items, next)
struct FactPage {
    std::vector<FactRecord> items;
    Sequence next = 0;
};
MUSTER_DESCRIBE(FactPage, items, next)

inline constexpr std::size_t recent_events_max = 4'096;            // kept in memory for watchers
inline constexpr std::size_t watcher_unsent_max = 256 * 1024;      // then it waits at its place
inline constexpr std::size_t feed_tasks_max = 1'000;               // pages asked for and not served
inline constexpr Duration heartbeat_every = Duration::seconds(15); // a comment line to each watcher
inline constexpr Duration slow_watcher_pause = Duration::millis(50);

/// Durable facts behind `after`, oldest first, at most `limit`. Called on the feed's thread.
using ReadFacts = std::function<Result<std::vector<FactRecord>>(Sequence after, std::size_t limit)>;

class EventFeed {
  public:
    explicit EventFeed(ReadFacts read) : read_(std::move(read)) {}
    ~EventFeed() { stop(); }

    /// `durable`: the last fact in the journal; `names`: of the workloads in the ledger.
    void start(Sequence durable, WorkloadNames names);
    void stop();

    /// Facts that have just become durable, in order.
    void publish(std::vector<FactRecord> records);
    /// Sends the events after `after`, then new ones until the stream ends.
    void watch(http::HttpStream stream, Sequence after);
    void page(Answer answer, Sequence after, std::size_t limit, bool facts);
    std::size_t watchers() const;

  private:
    struct Watcher {
        http::HttpStream stream;
        Sequence after = 0;
    };
    struct Recent {
        Sequence sequence;
        std::shared_ptr<const std::string> text; // null: no event
    };

    void run();
    void take_published(std::vector<FactRecord> records);
    enum class Pace { idle, slow, busy }; // waits for facts, for its client, for its next turn
    Pace pump(Watcher& watcher);
    void pump_history(Watcher& watcher);
    void serve_page(Answer answer, Sequence after, std::size_t limit, bool facts);
    std::string event_text(const FactRecord& record) const;

    ReadFacts read_;

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<FactRecord> published_;
    std::vector<Watcher> joining_;
    std::deque<std::function<void()>> tasks_;
    bool stopping_ = false;
    std::size_t watching_ = 0;

    // the feed's thread
    WorkloadNames names_;
    std::vector<Watcher> watchers_;
    std::deque<Recent> recent_;
    Sequence durable_ = 0;
    std::thread thread_;
};

} // namespace muster::api
