#pragma once
// SmallDisk: a fixture with a file system of a megabyte, to be filled; needs root.

#include "io/posix/fd.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace muster::app {

class SmallDisk : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_NE(::mkdtemp(path_.data()), nullptr);
        if (::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1600k") != 0)
            GTEST_SKIP() << "needs root to mount a small file system";
        mounted_ = true;
    }
    void TearDown() override {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
        std::filesystem::remove_all(path_);
    }
    void fill() const {
        const io::UniqueFd fd(
            ::open((path_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        const std::string block(4096, 'x');
        while (::write(fd.get(), block.data(), block.size()) > 0) {
        }
        ASSERT_EQ(errno, ENOSPC);
    }
    void free_room() const { ::unlink((path_ + "/filler").c_str()); }

    std::string path_ = "/tmp/muster-small-disk.XXXXXX";
    bool mounted_ = false;
};

} // namespace muster::app
