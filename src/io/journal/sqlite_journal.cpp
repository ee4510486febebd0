#include "io/journal/sqlite_journal.hpp"

#include "base/require.hpp"
#include "codec/json.hpp"
#include "io/posix/files.hpp"

#include <algorithm>
#include <chrono>

namespace muster::io {
namespace {

constexpr std::int64_t snapshot_format = 1;      // of the ledger's document (control/ledger.hpp)
constexpr std::size_t batch_records_max = 4'096; // of one transaction

// With what marks the file as ours, in one transaction: a kill leaves all of it or nothing.
const std::string& schema() {
    static const std::string text =
        "BEGIN IMMEDIATE; PRAGMA application_id=" + std::to_string(journal_magic) +
        "; PRAGMA user_version=" + std::to_string(journal_format) + R"(;
CREATE TABLE IF NOT EXISTS facts(
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, tag TEXT NOT NULL, body TEXT NOT NULL,
    hash BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS snapshots(
    seq INTEGER PRIMARY KEY, format INTEGER NOT NULL, ledger_hash BLOB NOT NULL,
    body TEXT NOT NULL) STRICT;
COMMIT;)";
    return text;
}

Status set_up(Database& database) {
    auto magic = database.number("PRAGMA application_id");
    if (!magic) return fail(magic.error());
    auto tables = database.number("SELECT count(*) FROM sqlite_master");
    if (!tables) return fail(tables.error());
    if (*magic != 0 || *tables != 0)
        if (auto status = check_format(database); !status) return status;
    // 16 MiB between checkpoints: fewer long commits; the log file is cut back after each.
    if (auto status = database.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                   "PRAGMA wal_autocheckpoint=4096;"
                                   "PRAGMA journal_size_limit=67108864;");
        !status)
        return status;
    if (*tables != 0) return ok();
    return database.run(schema());
}

std::string_view tag_of(const Fact& fact) {
    return codec::shape_of<Fact>.cases[fact.index()]->name;
}

} // namespace

struct SqliteJournal::Row {
    Sequence sequence;
    Instant at;
    std::string_view tag;
    std::string body;
    Hash hash;
};

SqliteJournal::SqliteJournal(JournalOptions options, Database database, StateLock lock,
                             std::unique_ptr<ShadowLedger> shadow)
    : options_(std::move(options)), lock_(std::move(lock)), database_(std::move(database)),
      shadow_(std::move(shadow)) {}

SqliteJournal::~SqliteJournal() { static_cast<void>(stop()); }

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(JournalOptions options,
                                                           std::unique_ptr<ShadowLedger> shadow) {
    if (auto made = make_directories(options.directory, 0700); !made) return fail(made.error());
    auto lock = StateLock::acquire(options.directory + "/lock");
    if (!lock) return fail(lock.error());
    const std::string path = options.directory + "/journal.db";
    auto database = Database::open(path, OpenMode::create);
    if (!database) return fail(database.error());
    std::unique_ptr<SqliteJournal> journal(new SqliteJournal(
        std::move(options), std::move(*database), std::move(*lock), std::move(shadow)));
    if (auto status = set_up(journal->database_); !status) return fail(status.error());
    if (auto status = journal->replay(); !status) return fail(status.error());
    if (auto status = journal->prepare(); !status) return fail(status.error());
    auto reader = JournalReader::open(path);
    if (!reader) return fail(reader.error());
    journal->reader_ = std::move(*reader);
    return journal;
}

Status SqliteJournal::prepare() {
    auto insert =
        database_.prepare("INSERT INTO facts(seq, at, tag, body, hash) VALUES(?,?,?,?,?)");
    if (!insert) return fail(insert.error());
    insert_ = std::make_unique<Statement>(std::move(*insert));
    appended_ = shadow_->last_sequence();
    next_snapshot_ = appended_ + options_.snapshot_every;
    return ok();
}

/// The sequence of the newest snapshot, which is in the shadow now; 0: there is none.
Result<Sequence> SqliteJournal::load_snapshot() {
    auto row = database_.prepare(
        "SELECT seq, format, ledger_hash, body FROM snapshots ORDER BY seq DESC LIMIT 1");
    if (!row) return fail(row.error());
    if (!row->step()) {
        if (row->failed()) return fail(database_.error());
        return 0;
    }
    const Sequence sequence = row->integer(0);
    const auto broken = [&](const std::string& what) {
        return fail(Code::data_loss,
                    "journal " + database_.path() + ": the snapshot at sequence " +
                        std::to_string(sequence) + " is broken: " + what,
                    "the facts themselves may be whole: check with `muster journal verify`, then "
                    "remove the snapshot with: sqlite3 " +
                        database_.path() +
                        " 'DELETE FROM snapshots WHERE seq=" + std::to_string(sequence) + "'");
    };
    if (row->integer(1) > snapshot_format)
        return broken("it has format " + std::to_string(row->integer(1)) +
                      ", this Muster reads up to " + std::to_string(snapshot_format));
    auto at = hash_at(database_, sequence);
    if (!at) return fail(at.error());
    if (row->bytes(2) != view(chain_.snapshot(*at, row->integer(1), row->bytes(3))))
        return broken("it does not match its hash");
    if (auto status = shadow_->load(row->bytes(3)); !status)
        return broken("it cannot be read: " + to_text(status.error()));
    if (shadow_->last_sequence() != sequence) return broken("it is of another sequence");
    return sequence;
}

Status SqliteJournal::replay() {
    auto snapshot = load_snapshot();
    if (!snapshot) return fail(snapshot.error());
    auto hash = walk_chain(database_, 0, Hash{}, [&](const ChainRow& row) -> Status {
        if (row.sequence <= *snapshot) return ok();
        auto record = decode_fact(row);
        if (!record) return fail(record.error());
        shadow_->apply(*record);
        return ok();
    });
    if (!hash) return fail(hash.error());
    hash_ = *hash;
    return ok();
}

void SqliteJournal::start(JournalCallbacks callbacks) {
    REQUIRE(!thread_.joinable(), "a journal is started once");
    callbacks_ = std::move(callbacks);
    thread_ = std::thread([this] { work(); });
}

void SqliteJournal::append(std::vector<FactRecord> records) {
    std::unique_lock lock(mutex_);
    room_.wait(lock,
               [&] { return queue_.size() < options_.queue_records_max || failed_ || stopping_; });
    if (failed_) return; // told already; nothing of this is acknowledged
    REQUIRE(!stopping_, "nothing is appended to a journal that stops");
    for (auto& record : records) {
        REQUIRE(record.sequence == appended_ + 1, "facts are appended in order, without gaps");
        ++appended_;
        queue_.push_back(std::move(record));
    }
    wake_.notify_one();
}

Status SqliteJournal::accepting() const {
    const std::lock_guard lock(mutex_);
    if (failed_) return outcome_;
    if (trouble_) return fail(*trouble_);
    if (stopping_) return fail(Code::unavailable, "the journal is being closed");
    if (queue_.size() < options_.queue_records_max) return ok();
    return fail(Code::resource_exhausted,
                std::to_string(queue_.size()) + " facts wait to be written to the journal",
                "is the disk of the state directory slow?");
}

Status SqliteJournal::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        wake_.notify_all();
        room_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    return outcome_;
}

void SqliteJournal::work() {
    std::vector<FactRecord> batch;
    while (true) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
            if (queue_.empty()) break;
            if (queue_.size() <= batch_records_max) {
                batch = std::exchange(queue_, {});
            } else {
                const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(batch_records_max);
                batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
                queue_.erase(queue_.begin(), end);
            }
            room_.notify_all();
        }
        if (!commit(batch)) return;
        finish(batch);
        if (shadow_->last_sequence() >= next_snapshot_) {
            // One that fails is no loss of facts; the next is due after as many facts again.
            static_cast<void>(write_snapshot());
            next_snapshot_ = shadow_->last_sequence() + options_.snapshot_every;
        }
    }
    if (auto status = write_snapshot(); !status) outcome_ = status;
}

/// Until the batch is durable. False: it never will be, and `failed` was told.
bool SqliteJournal::commit(const std::vector<FactRecord>& batch) {
    encode(batch);
    Duration delay = options_.retry_first;
    bool waited = false;
    while (!write_rows()) {
        const Error error = database_.error();
        const bool may_pass = database_.error_may_pass();
        static_cast<void>(database_.run("ROLLBACK")); // often rolled back already
        if (!may_pass || !wait_for_retry(error, delay)) {
            give_up(error);
            return false;
        }
        waited = true;
    }
    if (waited) {
        {
            const std::lock_guard lock(mutex_);
            trouble_.reset();
        }
        if (callbacks_.relieved) callbacks_.relieved();
    }
    return true;
}

void SqliteJournal::encode(const std::vector<FactRecord>& batch) {
    rows_.resize(batch.size());
    Hash before = hash_;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        Row& row = rows_[i];
        row.sequence = batch[i].sequence;
        row.at = batch[i].at;
        row.tag = tag_of(batch[i].fact);
        row.body.clear();
        codec::write_json(codec::shape_of<FactRecord>, &batch[i], codec::Style::exact, row.body);
        row.hash = chain_.next(before, {row.sequence, row.at, row.tag, row.body});
        before = row.hash;
    }
}

bool SqliteJournal::write_rows() {
    if (!database_.run("BEGIN IMMEDIATE")) return false;
    for (const auto& row : rows_) {
        insert_->bind(1, row.sequence);
        insert_->bind(2, row.at.ns);
        insert_->bind_text(3, row.tag);
        insert_->bind_text(4, row.body);
        insert_->bind_blob(5, view(row.hash));
        insert_->step();
        const bool failed = insert_->failed();
        insert_->reset();
        if (failed) return false;
    }
    return database_.run("COMMIT").has_value();
}

/// False: the journal is to stop, and the trouble has outlasted `stop_wait_max`.
bool SqliteJournal::wait_for_retry(const Error& error, Duration& delay) {
    std::unique_lock lock(mutex_);
    if (!std::exchange(trouble_, error)) {
        lock.unlock();
        if (callbacks_.trouble) callbacks_.trouble(error);
        lock.lock();
    }
    wake_.wait_for(lock, std::chrono::nanoseconds(delay.ns),
                   [&] { return stopping_ && !stop_seen_at_; });
    delay = std::min(delay * 2, options_.retry_max);
    if (!stopping_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (!stop_seen_at_) stop_seen_at_ = now;
    return now - *stop_seen_at_ <= std::chrono::nanoseconds(options_.stop_wait_max.ns);
}

void SqliteJournal::finish(const std::vector<FactRecord>& batch) {
    hash_ = rows_.back().hash;
    for (const auto& record : batch) shadow_->apply(record);
    if (callbacks_.durable) callbacks_.durable(batch.back().sequence);
}

void SqliteJournal::give_up(const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        queue_.clear();
        outcome_ = fail(error);
        room_.notify_all();
    }
    if (callbacks_.failed) callbacks_.failed(error);
}

Status SqliteJournal::write_snapshot() {
    const Sequence sequence = shadow_->last_sequence();
    if (sequence == 0) return ok();
    const std::string body = shadow_->text();
    const Hash hash = chain_.snapshot(hash_, snapshot_format, body);
    const auto write = [&]() -> Status {
        if (auto begun = database_.run("BEGIN IMMEDIATE"); !begun) return begun;
        auto insert =
            database_.prepare("INSERT OR REPLACE INTO snapshots(seq, format, ledger_hash, "
                              "body) VALUES(?,?,?,?)");
        if (!insert) return fail(insert.error());
        insert->bind(1, sequence);
        insert->bind(2, snapshot_format);
        insert->bind_blob(3, view(hash));
        insert->bind_text(4, body);
        insert->step();
        if (insert->failed()) return fail(database_.error());
        if (auto pruned = database_.run("DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM "
                                        "snapshots ORDER BY seq DESC LIMIT 2)");
            !pruned)
            return pruned;
        return database_.run("COMMIT");
    };
    Status status = write();
    if (!status) static_cast<void>(database_.run("ROLLBACK"));
    return status;
}

} // namespace muster::io
