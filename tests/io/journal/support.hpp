#pragma once
// What the journal's tests share: a folder that goes away, facts by number, a ledger that counts.

#include "io/journal/sqlite_journal.hpp"

#include <condition_variable>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <mutex>

namespace muster::io {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name =
            (std::filesystem::temp_directory_path() / "muster-journal-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

struct CountingLedger {
    Sequence last_sequence = 0;
    std::map<std::string, std::int64_t> actors;
    friend bool operator==(const CountingLedger&, const CountingLedger&) = default;

    void apply(const FactRecord& record) {
        EXPECT_EQ(record.sequence, last_sequence + 1);
        last_sequence = record.sequence;
        ++actors[record.actor];
    }
};
MUSTER_DESCRIBE(CountingLedger, last_sequence, actors)

inline FactRecord fact_number(Sequence sequence) {
    NodeCordoned fact{NodeName{"n" + std::to_string(sequence % 7)}, CordonOwner::admin, {}};
    fact.reason.detail = "fact " + std::to_string(sequence);
    return {sequence, Instant{1'000 * sequence}, "actor" + std::to_string(sequence % 3), fact};
}

inline std::vector<FactRecord> facts_between(Sequence first, Sequence last) {
    std::vector<FactRecord> records;
    for (Sequence s = first; s <= last; ++s) records.push_back(fact_number(s));
    return records;
}

/// Hears the journal's callbacks; waits are bounded.
class Hearing {
  public:
    JournalCallbacks callbacks() {
        return {[this](Sequence s) {
                    hear([&] {
                        orderly_ = orderly_ && s > durable_;
                        durable_ = s;
                    });
                },
                [this](const Error& e) { hear([&] { trouble_ = e.message; }); },
                [this] { hear([&] { relieved_ = true; }); },
                [this](const Error& e) { hear([&] { failure_ = to_text(e); }); }};
    }
    bool wait_durable(Sequence s) {
        return wait([&] { return durable_ >= s; });
    }
    std::string wait_trouble() {
        wait([&] { return !trouble_.empty(); });
        return trouble_;
    }
    std::string wait_failure() {
        wait([&] { return !failure_.empty(); });
        return failure_;
    }
    bool wait_relieved() {
        return wait([&] { return relieved_; });
    }
    bool orderly() const { return orderly_; }
    Sequence durable() {
        const std::lock_guard lock(mutex_);
        return durable_;
    }

  private:
    template <class Change>
    void hear(Change change) {
        const std::lock_guard lock(mutex_);
        change();
        changed_.notify_all();
    }
    template <class Condition>
    bool wait(Condition condition) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), condition);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Sequence durable_ = 0;
    bool orderly_ = true;
    bool relieved_ = false;
    std::string trouble_;
    std::string failure_;
};

inline Result<OpenedJournal<CountingLedger>> open_counting(const std::string& directory,
                                                           Sequence snapshot_every = 50'000) {
    JournalOptions options;
    options.directory = directory;
    options.snapshot_every = snapshot_every;
    return open_journal<CountingLedger>(options);
}

} // namespace muster::io
