#pragma once
// EventQueue: the one order of everything in a simulated world, by (time, sequence). True time is a
// Duration since the start of the run; machines see Instants of their own clocks (clock.hpp).

#include "base/prng.hpp"
#include "base/time.hpp"
#include "sim/action.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace muster::sim {

/// What an event is, for the trace and the digest: a static text and a number of its subject.
struct Label {
    const char* what = "";
    std::int64_t subject = 0;
};

class EventQueue {
  public:
    Duration now() const { return now_; }
    std::uint64_t events() const { return run_; }
    bool empty() const { return heap_.empty(); }
    Duration next_at() const { return heap_.empty() ? Duration::max() : heap_.front().at; }
    const Label& running() const { return running_; }

    /// A time in the past means now: after everything that was queued for now already.
    void at(Duration when, Label label, Action action) {
        if (when < now_) when = now_;
        std::uint32_t slot;
        if (free_.empty()) {
            slot = static_cast<std::uint32_t>(slots_.size());
            slots_.push_back({label, std::move(action)});
        } else {
            slot = free_.back();
            free_.pop_back();
            slots_[slot] = {label, std::move(action)};
        }
        heap_.push_back({when, sequence_++, slot});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    void after(Duration delay, Label label, Action action) {
        at(now_ + delay, label, std::move(action));
    }

    void run_next() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Entry entry = heap_.back();
        heap_.pop_back();
        now_ = entry.at;
        ++run_;
        Slot slot = std::move(slots_[entry.slot]);
        free_.push_back(entry.slot);
        running_ = slot.label;
        slot.action();
    }

  private:
    struct Entry {
        Duration at;
        std::uint64_t sequence;
        std::uint32_t slot;
    };
    struct Slot {
        Label label;
        Action action;
    };
    static bool later(const Entry& a, const Entry& b) {
        return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }

    Duration now_;
    std::uint64_t sequence_ = 0;
    std::uint64_t run_ = 0;
    Label running_;
    std::vector<Entry> heap_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

} // namespace muster::sim
