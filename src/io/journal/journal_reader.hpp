#pragma once
// JournalReader: reads the control plane's journal, also beside a running server and from another
// process. Life: as long as somebody reads. Thread-safe.
//
// Tables (format 1): facts(seq, at, tag, body, hash), snapshots(seq, format, ledger_hash, body).

#include "base/result.hpp"
#include "io/journal/chain.hpp"
#include "io/journal/sqlite.hpp"
#include "model/facts.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace muster::io {

inline constexpr std::int64_t journal_format = 1;         // the database's user_version
inline constexpr std::int64_t journal_magic = 0x4d535452; // its application_id: "MSTR"
inline constexpr std::size_t read_limit_max = 10'000;     // facts of one read()

struct JournalHealth {
    Sequence facts = 0;
    std::int64_t snapshots = 0;
    std::string last_hash; // hex
};

/// One verified row in order; an error stops the walk.
using TakeRow = std::function<Status(const ChainRow& row)>;

/// Walks and verifies the chain behind `after`, whose hash is `before`; gives the last row's hash.
Result<Hash> walk_chain(Database& database, Sequence after, const Hash& before,
                        const TakeRow& take);
/// The hash of a row; zero bytes for sequence 0.
Result<Hash> hash_at(Database& database, Sequence sequence);
/// invalid_argument or data_loss where the file is not a journal that we can read.
Status check_format(Database& database);
Result<FactRecord> decode_fact(const ChainRow& row);

class JournalReader {
  public:
    static Result<std::unique_ptr<JournalReader>> open(const std::string& path);

    /// Durable facts behind `after`, oldest first, at most `limit` (and read_limit_max).
    Result<std::vector<FactRecord>> read(Sequence after, std::size_t limit);
    Result<Sequence> last();
    /// The whole chain and every snapshot's hash.
    Result<JournalHealth> verify();

  private:
    explicit JournalReader(Database database) : database_(std::move(database)) {}

    std::mutex mutex_;
    Database database_;
};

} // namespace muster::io
