#pragma once
// Ports that every core's shell offers: time, a journal, a way out for commands. What has a real
// and a fake form with behaviour of its own is asked the same questions in tests/contract.

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/ids.hpp"

#include <vector>

namespace muster::runtime {

/// One non-decreasing Instant. Thread-safe.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual Instant now() = 0;
};

/// An append-only store of records. append() queues and returns at once; the shell is told through
/// its own mailbox when records are durable, in order, and calls Loop::durable().
template <class Record>
class Journal {
  public:
    virtual ~Journal() = default;
    virtual void append(std::vector<Record> records) = 0;
};

/// Carries out commands whose facts are durable.
template <class Command>
class Outbox {
  public:
    virtual ~Outbox() = default;
    virtual void send(Command command) = 0;
};

} // namespace muster::runtime
