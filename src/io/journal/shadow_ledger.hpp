#pragma once
// ShadowLedger: the ledger that a journal's records add up to, as the journal sees it, for replay
// at the start and for snapshots on the journal thread. The core's own ledger is never shared.

#include "base/result.hpp"
#include "codec/json.hpp"
#include "model/facts.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace muster::io {

inline constexpr std::size_t snapshot_bytes_max = std::size_t{1} << 30;

class ShadowLedger {
  public:
    virtual ~ShadowLedger() = default;
    virtual void apply(const FactRecord& record) = 0;
    virtual Sequence last_sequence() const = 0;
    /// The whole ledger as one document, and back.
    virtual std::string text() const = 0;
    virtual Status load(std::string_view text) = 0;
};

/// For control::Ledger: a described type with apply() and last_sequence.
template <class Ledger>
class ShadowOf final : public ShadowLedger {
  public:
    void apply(const FactRecord& record) override { ledger_.apply(record); }
    Sequence last_sequence() const override { return ledger_.last_sequence; }
    std::string text() const override { return codec::to_json(ledger_, codec::Style::exact); }
    Status load(std::string_view text) override {
        auto ledger = codec::from_json<Ledger>(text, {.bytes_max = snapshot_bytes_max});
        if (!ledger) return fail(ledger.error());
        ledger_ = std::move(*ledger);
        return ok();
    }
    const Ledger& ledger() const { return ledger_; }

  private:
    Ledger ledger_;
};

} // namespace muster::io
