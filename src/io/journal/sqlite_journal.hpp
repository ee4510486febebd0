#pragma once
// SqliteJournal: the control plane's journal. append() queues; a thread of its own commits all that
// waits as one transaction (WAL, synchronous=FULL) and tells `durable`. Rows are chained by
// SHA-256; every `snapshot_every` facts and at a clean stop a snapshot of the shadow ledger is
// written, the newest two are kept.
//
//     auto opened = open_journal<control::Ledger>({.directory = state + "/server"});
//     ... build the core from opened->ledger ...
//     opened->journal->start(callbacks);   append(), read() ...   opened->journal->stop();
//
// A full disk is waited out: `trouble` is told, nothing is lost or reordered, accepting() names it
// until it is over. Any other failure of a write is final: `failed` is told, nothing more is
// written, and what was not acknowledged may or may not be durable: start again and read. Life: one
// per server, holding the lock of its directory. append() by one thread; callbacks come on the
// journal's thread and must only post.

#include "io/journal/journal_reader.hpp"
#include "io/journal/shadow_ledger.hpp"
#include "io/journal/state_lock.hpp"
#include "runtime/ports.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace muster::io {

struct JournalOptions {
    std::string directory; // takes journal.db and lock; made where it is missing
    Sequence snapshot_every = 50'000;
    std::size_t queue_records_max = 100'000;     // append() waits above
    Duration retry_first = Duration::millis(50); // after a full disk; doubles up to
    Duration retry_max = Duration::seconds(2);
    Duration stop_wait_max = Duration::seconds(10); // for a disk that stays full at the stop
};

struct JournalCallbacks {
    std::function<void(Sequence)> durable;
    std::function<void(const Error&)> trouble; // waiting; told once per trouble, in which the
                                               // shadow ledger is what is durable
    std::function<void()> relieved;            // writes succeed again
    std::function<void(const Error&)> failed;  // final
};

class SqliteJournal final : public runtime::Journal<FactRecord> {
  public:
    /// Verifies and replays into `shadow`. data_loss names the sequence that is broken.
    static Result<std::unique_ptr<SqliteJournal>> open(JournalOptions options,
                                                       std::unique_ptr<ShadowLedger> shadow);
    ~SqliteJournal() override;

    void start(JournalCallbacks callbacks);
    void append(std::vector<FactRecord> records) override;
    /// Why nothing can be written now (a full disk, a lock, a full queue, a final failure), for
    /// people; ok: it can.
    Status accepting() const;
    /// Writes all that waits and a snapshot, and ends the thread. The error is of the first thing
    /// that could not be written. Idempotent.
    Status stop();

    /// From any thread, on a connection of its own.
    JournalReader& reader() { return *reader_; }

  private:
    struct Row;
    SqliteJournal(JournalOptions options, Database database, StateLock lock,
                  std::unique_ptr<ShadowLedger> shadow);

    Status replay();
    Result<Sequence> load_snapshot();
    Status prepare();
    void work();
    bool commit(const std::vector<FactRecord>& batch);
    void encode(const std::vector<FactRecord>& batch);
    bool write_rows();
    bool wait_for_retry(const Error& error, Duration& delay);
    void finish(const std::vector<FactRecord>& batch);
    Status write_snapshot();
    void give_up(const Error& error);

    const JournalOptions options_;
    StateLock lock_;
    Database database_;
    std::unique_ptr<Statement> insert_;
    std::unique_ptr<JournalReader> reader_;
    std::unique_ptr<ShadowLedger> shadow_; // the journal thread's after start()
    JournalCallbacks callbacks_;
    Chain chain_;
    Hash hash_{};                // of the last durable row
    std::vector<Row> rows_;      // of the batch that is being written
    Sequence next_snapshot_ = 0; // journal thread
    std::optional<std::chrono::steady_clock::time_point> stop_seen_at_; // journal thread

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable room_;
    std::vector<FactRecord> queue_;
    Sequence appended_ = 0;
    bool stopping_ = false;
    std::optional<Error> trouble_; // waited for; over once a write succeeds
    bool failed_ = false;
    Status outcome_ = ok();
    std::thread thread_;
};

template <class Ledger>
struct OpenedJournal {
    std::unique_ptr<SqliteJournal> journal;
    Ledger ledger;
    std::function<Ledger()> durable; // a copy of what is durable; for the journal's callbacks only
};

template <class Ledger>
Result<OpenedJournal<Ledger>> open_journal(JournalOptions options) {
    auto shadow = std::make_unique<ShadowOf<Ledger>>();
    const ShadowOf<Ledger>* seen = shadow.get();
    auto journal = SqliteJournal::open(std::move(options), std::move(shadow));
    if (!journal) return fail(std::move(journal.error()));
    return OpenedJournal<Ledger>{std::move(*journal), seen->ledger(),
                                 [seen] { return seen->ledger(); }};
}

} // namespace muster::io
