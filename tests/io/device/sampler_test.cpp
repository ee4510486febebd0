#include "io/posix/files.hpp"
#include "io/posix/sampler.hpp"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace muster::io {
namespace {

class SamplerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/muster-sampler-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        proc_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(proc_); }
    void put(const std::string& path, const std::string& text) {
        const auto full = proc_ + "/" + path;
        ASSERT_TRUE(make_directories(std::filesystem::path(full).parent_path()));
        ASSERT_TRUE(write_file_atomically(full, text));
    }
    std::string proc_;
};

TEST_F(SamplerTest, the_cpu_share_is_taken_between_two_calls) {
    Sampler sampler({proc_, "/"});
    put("stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n");
    EXPECT_EQ(sampler.take(Instant{1}).cpu_per_mille, 0);
    put("stat", "cpu  150 0 100 820 30 0 0 0 0 0\ncpu0 1 2 3\n");
    EXPECT_EQ(sampler.take(Instant{2}).cpu_per_mille, 500);
    put("stat", "cpu  10 0 10 80 0 0 0 0 0 0\n");
    EXPECT_EQ(sampler.take(Instant{3}).cpu_per_mille, 0) << "counters stepped back";
}

TEST_F(SamplerTest, memory_disk_and_network) {
    put("meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n");
    put("net/dev", "Inter-|   Receive\n face |bytes\n"
                   "    lo: 99 1 0 0 0 0 0 0 99 1 0 0 0 0 0 0\n"
                   "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                   "  eth1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n");
    const auto sample = Sampler({proc_, proc_}).take(Instant{5});
    EXPECT_EQ(sample.at, Instant{5});
    EXPECT_EQ(sample.memory_used_bytes, 600 * 1024);
    EXPECT_EQ(sample.network_received_bytes, 1001);
    EXPECT_EQ(sample.network_sent_bytes, 2002);
    EXPECT_GE(sample.disk_used_per_mille, 0);
    EXPECT_LE(sample.disk_used_per_mille, 1000);
    EXPECT_EQ(memory_total_bytes(proc_), 1000 * 1024);
}

TEST_F(SamplerTest, nothing_to_read_is_zero) {
    const auto sample = Sampler({proc_ + "/missing", proc_ + "/missing"}).take(Instant{1});
    EXPECT_EQ(sample, NodeSample{.at = Instant{1}});
    put("stat", "garbage");
    put("meminfo", "MemTotal: lots\n");
    put("net/dev", "  eth0: many\n:\n");
    EXPECT_EQ(Sampler({proc_, proc_ + "/missing"}).take(Instant{1}), NodeSample{.at = Instant{1}});
}

TEST_F(SamplerTest, the_real_machine_has_a_load) {
    const auto sample = Sampler({}).take(Instant{1});
    EXPECT_GT(sample.memory_used_bytes, 0);
    EXPECT_GT(memory_total_bytes(), sample.memory_used_bytes);
    EXPECT_GE(usable_cpus(), 1);
    EXPECT_TRUE(machine_boot_id().has_value());
}

TEST_F(SamplerTest, a_boot_id_tells_container_starts_apart) {
    EXPECT_FALSE(machine_boot_id(proc_).has_value());
    put("sys/kernel/random/boot_id", "1234-5678\n");
    EXPECT_EQ(machine_boot_id(proc_).value(), "1234-5678");
    put("1/stat", "1 (a) b) c) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
    EXPECT_EQ(machine_boot_id(proc_).value(), "1234-5678.77");
}

TEST_F(SamplerTest, a_hostname_becomes_a_label) {
    EXPECT_EQ(hostname_label("GPU-Box_7.example.org"), "gpu-box-7");
    EXPECT_EQ(hostname_label("--x--"), "x");
    EXPECT_EQ(hostname_label("..."), "node");
    EXPECT_EQ(hostname_label("\xc3\xa4"), "node");
    EXPECT_EQ(hostname_label(std::string(62, 'a') + "--b").size(), 62U);
    for (const char* name : {"", "-", "A.b", "_"}) EXPECT_TRUE(is_dns_label(hostname_label(name)));
}

} // namespace
} // namespace muster::io
