#include "io/device/nvml.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <memory>

namespace muster::io {
namespace {

// NVML's C interface, as far as it is used here (nvml.h; stable since its version 2 entry points).
using NvmlDevice = void*;
struct NvmlMemory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
constexpr int nvml_success = 0;
constexpr unsigned nvml_text_max = 96; // both NVML_DEVICE_NAME_V2 and UUID_V2 buffers fit

/// The symbols in use. Life: while the library is loaded.
struct NvmlTable {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*error_text)(int) = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*by_index)(unsigned, NvmlDevice*) = nullptr;
    int (*name)(NvmlDevice, char*, unsigned) = nullptr;
    int (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
    int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
};

struct LibraryCloser {
    void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, LibraryCloser>;

template <class Function>
bool find_symbol(void* library, const char* name, Function& function, std::string& missing) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) missing = name;
    return function != nullptr;
}

bool fill_table(void* library, NvmlTable& table, std::string& missing) {
    return find_symbol(library, "nvmlInit_v2", table.init, missing) &&
           find_symbol(library, "nvmlShutdown", table.shutdown, missing) &&
           find_symbol(library, "nvmlErrorString", table.error_text, missing) &&
           find_symbol(library, "nvmlDeviceGetCount_v2", table.count, missing) &&
           find_symbol(library, "nvmlDeviceGetHandleByIndex_v2", table.by_index, missing) &&
           find_symbol(library, "nvmlDeviceGetName", table.name, missing) &&
           find_symbol(library, "nvmlDeviceGetUUID", table.uuid, missing) &&
           find_symbol(library, "nvmlDeviceGetMemoryInfo", table.memory, missing);
}

std::string error_of(const NvmlTable& table, int code) {
    const char* text = table.error_text(code);
    return text != nullptr ? text : "error " + std::to_string(code);
}

/// A device that does not answer keeps its index, without a name: others must not change theirs.
Device read_device(const NvmlTable& table, unsigned index, std::string& note) {
    Device device;
    device.index = index;
    device.kind = DeviceKind::gpu;
    NvmlDevice handle = nullptr;
    if (const int code = table.by_index(index, &handle); code != nvml_success) {
        note = "device " + std::to_string(index) + " does not answer: " + error_of(table, code);
        return device;
    }
    char text[nvml_text_max] = {};
    if (table.name(handle, text, sizeof text - 1) == nvml_success) device.product = text;
    char uuid[nvml_text_max] = {};
    if (table.uuid(handle, uuid, sizeof uuid - 1) == nvml_success) device.uuid = uuid;
    NvmlMemory memory{};
    if (table.memory(handle, &memory) == nvml_success)
        device.memory_bytes = static_cast<std::int64_t>(memory.total);
    return device;
}

} // namespace

FoundDevices find_nvidia_devices(const std::string& library_path) {
    FoundDevices found;
    const Library library(::dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library) {
        found.note = library_path + " is not there or cannot be loaded";
        return found;
    }
    NvmlTable table;
    std::string missing;
    if (!fill_table(library.get(), table, missing)) {
        found.note = library_path + " has no " + missing + ": it is too old";
        return found;
    }
    if (const int code = table.init(); code != nvml_success) {
        found.note = library_path + " does not start: " + error_of(table, code);
        return found;
    }
    unsigned count = 0;
    if (const int code = table.count(&count); code != nvml_success)
        found.note = "the devices cannot be counted: " + error_of(table, code);
    for (unsigned index = 0; index < count && index < nvml_devices_max; ++index)
        found.devices.push_back(read_device(table, index, found.note));
    table.shutdown();
    return found;
}

FoundDevices find_nvidia_devices() {
    const char* chosen = std::getenv(nvml_library_variable);
    return find_nvidia_devices(chosen != nullptr && *chosen != '\0' ? chosen
                                                                    : nvml_library_default);
}

} // namespace muster::io
