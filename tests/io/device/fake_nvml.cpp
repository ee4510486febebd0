// A stand-in for libnvidia-ml.so.1: FAKE_NVML_COUNT devices, FAKE_NVML_FAILS names a call that
// fails.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int unknown_error = 999;
int open_count = 0;

bool fails(const char* call) {
    const char* chosen = std::getenv("FAKE_NVML_FAILS");
    return chosen != nullptr && std::strcmp(chosen, call) == 0;
}
unsigned device_count() {
    const char* text = std::getenv("FAKE_NVML_COUNT");
    return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 0;
}
unsigned index_of(void* device) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

} // namespace

struct FakeMemory {
    unsigned long long total, free, used;
};

extern "C" {

int nvmlInit_v2() {
    if (fails("init")) return unknown_error;
    ++open_count;
    return 0;
}
int nvmlShutdown() {
    --open_count;
    return 0;
}
int fake_nvml_open_count() { return open_count; }
const char* nvmlErrorString(int) { return "the fake was told to fail"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
    if (fails("count")) return unknown_error;
    *count = device_count();
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (fails("second") && index == 1) return unknown_error;
    *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
    return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
    std::snprintf(text, size, "NVIDIA Test 9");
    return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
    std::snprintf(text, size, "GPU-0000-%u", index_of(device));
    return 0;
}
int nvmlDeviceGetMemoryInfo(void*, FakeMemory* memory) {
    *memory = {80ULL << 30, 79ULL << 30, 1ULL << 30};
    return 0;
}

} // extern "C"
