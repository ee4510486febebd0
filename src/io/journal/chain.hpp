#pragma once
// Chain: each row's hash covers the row and the hash before it, so that a changed, missing, added
// or moved row shows. SHA-256; the chain begins with 32 zero bytes.

#include "base/time.hpp"
#include "model/ids.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;
struct evp_md_st;

namespace muster::io {

using Hash = std::array<char, 32>;

inline std::string_view view(const Hash& hash) { return {hash.data(), hash.size()}; }
std::string to_hex(const Hash& hash);
/// False where `bytes` are not as long as a hash.
bool load(Hash& hash, std::string_view bytes);

struct ChainRow {
    Sequence sequence = 0;
    Instant at;
    std::string_view tag;
    std::string_view body;
};

/// Life: one per thread that hashes; reused, because setting up costs more than hashing a row.
class Chain {
  public:
    Chain();
    ~Chain();

    Hash next(const Hash& before, const ChainRow& row);
    /// Of a snapshot: binds its text to the chain at its sequence.
    Hash snapshot(const Hash& at_sequence, std::int64_t format, std::string_view body);

  private:
    void begin();
    void add(std::string_view bytes);
    void add(std::uint64_t number);
    Hash end();

    evp_md_st* method_;
    evp_md_ctx_st* context_;
};

} // namespace muster::io
