#pragma once
// describe(): a fact in a few words, for the trace.

#include "model/facts.hpp"

#include <string>

namespace muster::sim {

std::string describe(const Fact& fact);

} // namespace muster::sim
