#pragma once
// Starting shells in groups and waiting for what they write.

#include "io/posix/files.hpp"
#include "io/process/group.hpp"
#include "io/process/proc.hpp"
#include "io/process/reap.hpp"
#include "io/process/spawn.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace muster::io {

inline constexpr Duration test_limit = Duration::seconds(20);

/// A process under test with its output.
class Running {
  public:
    Running(std::vector<std::string> argv, const ProcessGroup* group,
            std::vector<std::string> env = {"PATH=/usr/bin:/bin"}) {
        int ends[2] = {};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        out_ = UniqueFd(ends[0]);
        const UniqueFd write_end(ends[1]);
        SpawnSpec spec;
        spec.argv = std::move(argv);
        spec.env = std::move(env);
        spec.cwd = "/";
        spec.stdout_fd = write_end.get();
        spec.stderr_fd = write_end.get();
        spec.group = group;
        auto made = spawn(spec);
        if (!made) {
            ADD_FAILURE() << to_text(made.error());
            return;
        }
        child_ = std::move(*made);
    }

    pid_t pid() const { return child_.pid; }
    /// Waits for one line of output.
    std::string line() {
        for (;;) {
            const auto end = text_.find('\n');
            if (end != std::string::npos) {
                const std::string result = text_.substr(0, end);
                text_.erase(0, end + 1);
                return result;
            }
            pollfd waiter{out_.get(), POLLIN, 0};
            if (::poll(&waiter, 1, 20'000) <= 0) {
                ADD_FAILURE() << "no output within 20 s";
                return {};
            }
            char buffer[4096];
            const ssize_t got = ::read(out_.get(), buffer, sizeof buffer);
            if (got <= 0) return text_;
            text_.append(buffer, static_cast<std::size_t>(got));
        }
    }
    std::optional<ProcessExit> end(Duration limit = test_limit) {
        return reap(child_.pidfd.get(), limit);
    }

  private:
    UniqueFd out_;
    SpawnedProcess child_;
    std::string text_;
};

inline std::vector<std::string> shell(const std::string& script) {
    return {"/bin/sh", "-c", script};
}

inline bool gone(pid_t pid) {
    const auto stat = read_proc_stat(pid);
    return !stat || stat->dead();
}

} // namespace muster::io
