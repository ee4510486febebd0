#pragma once
// MemoryJournal: the fake of the journal port. What is appended becomes durable when flush() says
// so, and a crash() loses the rest, as a machine does. Life: of a test or a simulated disk. One
// thread.

#include "base/require.hpp"
#include "runtime/ports.hpp"

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace muster::runtime {

template <class Record>
class MemoryJournal final : public Journal<Record> {
  public:
    explicit MemoryJournal(std::function<void(Sequence)> durable = {})
        : durable_(std::move(durable)) {}

    void append(std::vector<Record> records) override {
        for (auto& record : records) {
            REQUIRE(records_.empty() || record.sequence == records_.back().sequence + 1,
                    "records are appended in order, without gaps");
            records_.push_back(std::move(record));
        }
    }

    /// Makes all that was appended durable.
    void flush() {
        if (durable_count_ == records_.size()) return;
        durable_count_ = records_.size();
        if (durable_) durable_(records_.back().sequence);
    }
    /// Loses what is not durable.
    void crash() { records_.resize(durable_count_); }

    const std::vector<Record>& records() const { return records_; }
    std::size_t waiting() const { return records_.size() - durable_count_; }

  private:
    std::function<void(Sequence)> durable_;
    std::vector<Record> records_;
    std::size_t durable_count_ = 0;
};

} // namespace muster::runtime
