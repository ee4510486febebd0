#pragma once
// Comparing secrets.

#include <string_view>

namespace muster {

/// Compares in a time that does not tell where the texts differ.
bool equal_secrets(std::string_view a, std::string_view b);

} // namespace muster
