#include "base/secret.hpp"

#include <cstddef>

namespace muster {

bool equal_secrets(std::string_view a, std::string_view b) {
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |=
            static_cast<unsigned char>(a[i]) ^
            static_cast<unsigned>(static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]));
    return difference == 0;
}

} // namespace muster
