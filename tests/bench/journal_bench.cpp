// Durable facts a second at batch 10: the journal against raw prepared inserts of the same bytes
// without hash and snapshots, in the same run, in turns.
//
//     journal_bench [folder on the disk to measure]

#include "control/ledger.hpp"
#include "io/journal/sqlite_journal.hpp"
#include "measure.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sqlite3.h>

namespace muster {
namespace {

constexpr Sequence batch = 10;
constexpr Sequence batches = 1'000;

FactRecord fact_number(Sequence sequence) {
    if (sequence == 1)
        return {1, Instant{1}, "controller",
                InstallationCreated{InstallationId{{1, 2}}, ClusterName{"main"}}};
    WorkloadStopAsked fact;
    fact.id = WorkloadId{{7, static_cast<std::uint64_t>(sequence)}};
    fact.reason = {ReasonCode::cancelled_by_user, "root", 0, 0, "asked from the command line"};
    return {sequence, Instant{1'800'000'000'000'000'000 + sequence}, "user:root", fact};
}

/// Takes no part in the measure: the shadow's own cost is the core's, paid with or without a
/// journal.
struct SequenceOnly {
    Sequence last_sequence = 0;
    void apply(const FactRecord& record) { last_sequence = record.sequence; }
};
MUSTER_DESCRIBE(SequenceOnly, last_sequence)

double journal_round(const std::string& folder) {
    io::JournalOptions options;
    options.directory = folder;
    auto opened = io::open_journal<SequenceOnly>(options);
    if (!opened) std::abort();
    std::mutex mutex;
    std::condition_variable changed;
    Sequence durable = 0;
    io::JournalCallbacks callbacks;
    callbacks.durable = [&](Sequence s) {
        const std::lock_guard lock(mutex);
        durable = s;
        changed.notify_one();
    };
    opened->journal->start(callbacks);
    return bench::seconds_of([&] {
        for (Sequence first = 1; first <= batch * batches; first += batch) {
            std::vector<FactRecord> records;
            for (Sequence s = first; s < first + batch; ++s) records.push_back(fact_number(s));
            opened->journal->append(std::move(records));
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return durable == first + batch - 1; });
        }
    });
}

double raw_round(const std::string& folder) {
    sqlite3* database = nullptr;
    sqlite3_open((folder + "/raw.db").c_str(), &database);
    sqlite3_exec(
        database,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4096;"
        "CREATE TABLE facts(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, tag TEXT NOT NULL,"
        "body TEXT NOT NULL) STRICT",
        nullptr, nullptr, nullptr);
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(database, "INSERT INTO facts VALUES(?,?,?,?)", -1, &insert, nullptr);
    std::vector<std::string> bodies;
    for (Sequence s = 1; s <= batch * batches; ++s)
        bodies.push_back(codec::to_json(fact_number(s), codec::Style::exact));
    const double seconds = bench::seconds_of([&] {
        for (Sequence first = 1; first <= batch * batches; first += batch) {
            sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
            for (Sequence s = first; s < first + batch; ++s) {
                const auto& body = bodies[static_cast<std::size_t>(s - 1)];
                sqlite3_bind_int64(insert, 1, s);
                sqlite3_bind_int64(insert, 2, s);
                sqlite3_bind_text(insert, 3, "WorkloadStopAsked", -1, SQLITE_STATIC);
                sqlite3_bind_text(insert, 4, body.data(), static_cast<int>(body.size()),
                                  SQLITE_STATIC);
                if (sqlite3_step(insert) != SQLITE_DONE) std::abort();
                sqlite3_reset(insert);
            }
            if (sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK)
                std::abort();
        }
    });
    sqlite3_finalize(insert);
    sqlite3_close(database);
    return seconds;
}

void run(const std::string& base) {
    constexpr int rounds = 7;
    std::vector<double> ours, raw;
    for (int round = 0; round < rounds; ++round) {
        const std::string folder = base + "/muster-journal-bench-" + std::to_string(round);
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        raw.push_back(raw_round(folder));
        ours.push_back(journal_round(folder));
        std::filesystem::remove_all(folder);
    }
    const double facts = static_cast<double>(batch * batches);
    std::printf(
        "durable facts/s at batch %lld, medians of %d rounds: journal %.0f, raw %.0f, ratio "
        "%.2f\n",
        static_cast<long long>(batch), rounds, facts / bench::median(ours),
        facts / bench::median(raw), bench::median(raw) / bench::median(ours));
}

} // namespace
} // namespace muster

int main(int argc, char** argv) { muster::run(argc > 1 ? argv[1] : "."); }
