#pragma once
// The accelerators that NVIDIA's management library knows of. It is loaded at run time, so that one
// binary runs on machines with and without it.

#include "model/node.hpp"

#include <string>
#include <vector>

namespace muster::io {

/// A path here is loaded in the place of libnvidia-ml.so.1.
inline constexpr const char* nvml_library_variable = "MUSTER_NVML_LIBRARY";
inline constexpr const char* nvml_library_default = "libnvidia-ml.so.1";
inline constexpr unsigned nvml_devices_max = 64;

struct FoundDevices {
    std::vector<Device> devices; // in the library's order, numbered from 0
    std::string note;            // why there are none, or why one is left out; may be empty
};

/// Never fails: a machine without the library, its driver or a device has none, and `note` says
/// why.
FoundDevices find_nvidia_devices(const std::string& library);
/// The library named by MUSTER_NVML_LIBRARY, else the default.
FoundDevices find_nvidia_devices();

} // namespace muster::io
