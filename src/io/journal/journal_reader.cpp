#include "io/journal/journal_reader.hpp"

#include "codec/json.hpp"

#include <algorithm>

namespace muster::io {
namespace {

constexpr const char* what_to_do =
    "restore the journal from a copy; nothing was changed. `muster journal verify` checks it again";

tl::unexpected<Error> broken(const Database& database, Sequence sequence, const std::string& what) {
    return fail(Code::data_loss,
                "journal " + database.path() + " is broken at sequence " +
                    std::to_string(sequence) + ": " + what,
                what_to_do);
}

Status verify_snapshots(Database& database, JournalHealth& health) {
    auto rows =
        database.prepare("SELECT seq, format, ledger_hash, body FROM snapshots ORDER BY seq");
    if (!rows) return fail(rows.error());
    Chain chain;
    while (rows->step()) {
        const Sequence sequence = rows->integer(0);
        auto at = hash_at(database, sequence);
        if (!at) return fail(at.error());
        if (rows->bytes(2) != view(chain.snapshot(*at, rows->integer(1), rows->bytes(3))))
            return broken(database, sequence, "the snapshot does not match its hash");
        ++health.snapshots;
    }
    if (rows->failed()) return fail(database.error());
    return ok();
}

} // namespace

Result<Hash> hash_at(Database& database, Sequence sequence) {
    Hash hash{};
    if (sequence == 0) return hash;
    auto row = database.prepare("SELECT hash FROM facts WHERE seq = ?");
    if (!row) return fail(row.error());
    row->bind(1, sequence);
    if (!row->step()) {
        if (row->failed()) return fail(database.error());
        return broken(database, sequence, "a snapshot was made here, but the fact is missing");
    }
    if (!load(hash, row->bytes(0))) return broken(database, sequence, "its hash is damaged");
    return hash;
}

Result<Hash> walk_chain(Database& database, Sequence after, const Hash& before,
                        const TakeRow& take) {
    auto rows =
        database.prepare("SELECT seq, at, tag, body, hash FROM facts WHERE seq > ? ORDER BY seq");
    if (!rows) return fail(rows.error());
    rows->bind(1, after);
    Chain chain;
    Hash hash = before;
    Sequence expected = after;
    while (rows->step()) {
        const ChainRow row{rows->integer(0), Instant{rows->integer(1)}, rows->bytes(2),
                           rows->bytes(3)};
        if (row.sequence != ++expected)
            return broken(database, expected,
                          "facts up to " + std::to_string(row.sequence - 1) + " are missing");
        hash = chain.next(hash, row);
        if (rows->bytes(4) != view(hash))
            return broken(database, row.sequence, "the fact does not match its chained hash");
        if (auto status = take(row); !status) return fail(status.error());
    }
    if (rows->failed()) return fail(database.error());
    return hash;
}

Status check_format(Database& database) {
    auto magic = database.number("PRAGMA application_id");
    if (!magic) return fail(magic.error());
    auto format = database.number("PRAGMA user_version");
    if (!format) return fail(format.error());
    if (*magic != journal_magic)
        return fail(Code::failed_precondition, database.path() + " is not a journal of Muster",
                    "choose another state directory with --state");
    if (*format > journal_format)
        return fail(Code::failed_precondition,
                    "journal " + database.path() + " has format " + std::to_string(*format) +
                        ", this Muster reads up to " + std::to_string(journal_format),
                    "start the newer Muster that wrote it");
    return ok();
}

Result<FactRecord> decode_fact(const ChainRow& row) {
    auto record = codec::from_json<FactRecord>(row.body);
    if (!record)
        return fail(Code::data_loss,
                    "the fact at sequence " + std::to_string(row.sequence) + " (" +
                        std::string(row.tag) + ") cannot be read: " + to_text(record.error()),
                    "it was written by another version of Muster: start that one");
    if (record->sequence != row.sequence || record->at != row.at)
        return fail(Code::data_loss,
                    "the fact at sequence " + std::to_string(row.sequence) +
                        " says that it is another",
                    what_to_do);
    return record;
}

Result<std::unique_ptr<JournalReader>> JournalReader::open(const std::string& path) {
    auto database = Database::open(path, OpenMode::read_only);
    if (!database) return fail(database.error());
    if (auto status = check_format(*database); !status) return fail(status.error());
    return std::unique_ptr<JournalReader>(new JournalReader(std::move(*database)));
}

Result<std::vector<FactRecord>> JournalReader::read(Sequence after, std::size_t limit) {
    const std::lock_guard lock(mutex_);
    auto rows = database_.prepare(
        "SELECT seq, at, tag, body FROM facts WHERE seq > ? ORDER BY seq LIMIT ?");
    if (!rows) return fail(rows.error());
    rows->bind(1, after);
    rows->bind(2, static_cast<std::int64_t>(std::min(limit, read_limit_max)));
    std::vector<FactRecord> records;
    while (rows->step()) {
        auto record = decode_fact(
            {rows->integer(0), Instant{rows->integer(1)}, rows->bytes(2), rows->bytes(3)});
        if (!record) return fail(record.error());
        records.push_back(std::move(*record));
    }
    if (rows->failed()) return fail(database_.error());
    return records;
}

Result<Sequence> JournalReader::last() {
    const std::lock_guard lock(mutex_);
    return database_.number("SELECT max(seq) FROM facts");
}

Result<JournalHealth> JournalReader::verify() {
    const std::lock_guard lock(mutex_);
    if (auto begun = database_.run("BEGIN"); !begun) return fail(begun.error()); // one view of both
    JournalHealth health;
    auto hash = walk_chain(database_, 0, Hash{}, [&](const ChainRow& row) -> Status {
        health.facts = row.sequence;
        auto record = decode_fact(row);
        if (!record) return fail(record.error());
        return ok();
    });
    Status snapshots = hash ? verify_snapshots(database_, health) : fail(hash.error());
    auto ended = database_.run("COMMIT");
    if (!snapshots) return fail(snapshots.error());
    if (!ended) return fail(ended.error());
    health.last_hash = to_hex(*hash);
    return health;
}

} // namespace muster::io
