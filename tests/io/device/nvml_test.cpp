#include "io/device/nvml.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace muster::io {
namespace {

class NvmlTest : public ::testing::Test {
  protected:
    void TearDown() override {
        ::unsetenv("FAKE_NVML_COUNT");
        ::unsetenv("FAKE_NVML_FAILS");
        ::unsetenv(nvml_library_variable);
    }
};

TEST_F(NvmlTest, lists_devices_with_name_uuid_and_memory) {
    ::setenv("FAKE_NVML_COUNT", "2", 1);
    ::setenv(nvml_library_variable, FAKE_NVML, 1);
    const auto found = find_nvidia_devices();
    EXPECT_EQ(found.note, "");
    ASSERT_EQ(found.devices.size(), 2U);
    const Device expected{1, DeviceKind::gpu, "GPU-0000-1", "NVIDIA Test 9",
                          std::int64_t{80} << 30};
    EXPECT_EQ(found.devices[1], expected);
}

TEST_F(NvmlTest, no_library_is_no_devices_and_a_note) {
    const auto found = find_nvidia_devices("/nowhere/libnvidia-ml.so.1");
    EXPECT_TRUE(found.devices.empty());
    EXPECT_NE(found.note.find("/nowhere/libnvidia-ml.so.1"), std::string::npos);
}

TEST_F(NvmlTest, a_library_without_a_symbol_names_it) {
    const auto found = find_nvidia_devices(FAKE_NVML_OLD);
    EXPECT_TRUE(found.devices.empty());
    EXPECT_NE(found.note.find("nvmlShutdown"), std::string::npos) << found.note;
}

TEST_F(NvmlTest, a_driver_that_does_not_start_is_no_devices_and_its_reason) {
    ::setenv("FAKE_NVML_COUNT", "2", 1);
    for (const char* call : {"init", "count"}) {
        ::setenv("FAKE_NVML_FAILS", call, 1);
        const auto found = find_nvidia_devices(FAKE_NVML);
        EXPECT_TRUE(found.devices.empty()) << call;
        EXPECT_NE(found.note.find("told to fail"), std::string::npos) << found.note;
    }
}

TEST_F(NvmlTest, a_silent_device_keeps_its_index) {
    ::setenv("FAKE_NVML_COUNT", "3", 1);
    ::setenv("FAKE_NVML_FAILS", "second", 1);
    const auto found = find_nvidia_devices(FAKE_NVML);
    ASSERT_EQ(found.devices.size(), 3U);
    EXPECT_EQ(found.devices[1].uuid, "");
    EXPECT_EQ(found.devices[2].index, 2);
    EXPECT_EQ(found.devices[2].uuid, "GPU-0000-2");
    EXPECT_NE(found.note.find("device 1"), std::string::npos);
}

TEST_F(NvmlTest, a_wild_count_is_bounded) {
    ::setenv("FAKE_NVML_COUNT", "100000", 1);
    EXPECT_EQ(find_nvidia_devices(FAKE_NVML).devices.size(), nvml_devices_max);
}

} // namespace
} // namespace muster::io
