#pragma once
// Network: carries messages between machines with delay, loss, duplicates, reordering and one-way
// cuts.

#include "base/prng.hpp"
#include "sim/event_queue.hpp"
#include "sim/faults.hpp"
#include "sim/rpc.hpp"

#include <optional>
#include <vector>

namespace muster::sim {

class Network {
  public:
    Network(EventQueue& queue, Prng& prng, const Faults& faults, std::size_t machines)
        : queue_(queue), prng_(prng), faults_(faults), machines_(machines),
          cut_until_(machines * machines) {}

    /// `deliver` runs at the receiver, zero, one or two times. The receiver judges whether it is
    /// up.
    template <class F>
    void send(Route route, Label label, F deliver) {
        if (is_cut(route) || prng_.chance(faults_.drop_per_mille)) return;
        if (faults_.duplicate_per_mille != 0 && prng_.chance(faults_.duplicate_per_mille))
            queue_.after(delay(), label, deliver);
        queue_.after(delay(), label, std::move(deliver));
    }

    /// `serve(call)` runs at the receiver (perhaps twice), call->complete at the asker: once with
    /// the outcome and perhaps more often with late = true.
    template <class Answer, class Serve>
    CallPtr<Answer> ask(Route route, Label label, Duration limit, Serve serve,
                        std::function<void(const Result<Answer>&, bool)> complete) {
        auto call = std::make_shared<Call<Answer>>();
        call->route = route;
        call->complete = std::move(complete);
        send(route, label, [call, serve = std::move(serve)] { serve(call); });
        queue_.after(limit, {"time_out", route.from}, [this, call] { give_up(call); });
        return call;
    }
    template <class Answer>
    void answer(const CallPtr<Answer>& call, Label label, Result<Answer> result) {
        send(call->route.back(), label, [this, call, result = std::move(result)] {
            if (!call->done) {
                call->done = true;
                call->complete(result, false);
            } else if (result && prng_.chance(faults_.late_per_mille)) {
                call->complete(result, true);
            }
        });
    }

    bool is_cut(Route route) const { return cut_until_[index(route)] > queue_.now(); }
    void cut(Route route, Duration until) { cut_until_[index(route)] = until; }
    void mend() { cut_until_.assign(cut_until_.size(), Duration{}); }
    std::size_t machines() const { return machines_; }

  private:
    template <class Answer>
    void give_up(const CallPtr<Answer>& call) {
        if (call->done) return;
        call->done = true;
        if (call->abandoned) send(call->route, {"hang_up", call->route.from}, call->abandoned);
        call->complete(fail(Code::deadline_exceeded, "no answer in time"), false);
    }
    Duration delay() {
        if (faults_.slow_per_mille != 0 && prng_.chance(faults_.slow_per_mille))
            return Duration::nanos(prng_.between(0, faults_.slow_max.ns));
        return Duration::nanos(prng_.between(50'000, faults_.delay_max.ns));
    }
    std::size_t index(Route route) const {
        return static_cast<std::size_t>(route.from) * machines_ +
               static_cast<std::size_t>(route.to);
    }

    EventQueue& queue_;
    Prng& prng_;
    const Faults& faults_;
    std::size_t machines_;
    std::vector<Duration> cut_until_;
};

} // namespace muster::sim
