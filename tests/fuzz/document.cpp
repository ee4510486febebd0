// A document that another process of Muster, of this version or another, has written: TYPE and
// UNKNOWN come from CMakeLists.txt, one target each.

#include "agent/ledger.hpp"
#include "control/ledger.hpp"
#include "model/facts.hpp"
#include "model/launch_file.hpp"
#include "round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace muster;
    static_cast<void>(fuzz::decoded<MUSTER_FUZZ_TYPE>(fuzz::text_of(data, size),
                                                      codec::UnknownKeys::MUSTER_FUZZ_UNKNOWN));
    return 0;
}
