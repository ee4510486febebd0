#pragma once
// A request and its answer between two machines, as HTTP gives it: the asker waits up to a limit
// and then does not know whether it was served. A copy of the request may arrive twice; an answer
// may arrive after the asker gave up (the fences of the cores must ignore it).

#include "base/result.hpp"
#include "base/time.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace muster::sim {

/// Position of a machine in a world: 0 the server's, 1..n the nodes', n + 1 the people's.
using MachineId = std::int64_t;

struct Route {
    MachineId from = 0;
    MachineId to = 0;
    Route back() const { return {to, from}; }
};

template <class Answer>
struct Call {
    Route route;
    bool done = false; // answered, timed out or given up
    std::function<void(const Result<Answer>&, bool late)> complete;
    std::function<void()> abandoned; // set by the receiver that holds the request
};

template <class Answer>
using CallPtr = std::shared_ptr<Call<Answer>>;

} // namespace muster::sim
