#pragma once
// The three backends, inside io/process only. Each has a form of ProcessGroup; the cgroup ones
// share how folders are made and walked.

#include "io/process/group.hpp"

#include <chrono>
#include <functional>

namespace muster::io {

inline constexpr const char* group_prefix = "muster-";

/// A limit on a wait, on the steady clock of the machine.
class Deadline {
  public:
    explicit Deadline(Duration limit)
        : at_(std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.ns)) {}
    bool over() const { return std::chrono::steady_clock::now() >= at_; }
    int left_ms() const;

  private:
    std::chrono::steady_clock::time_point at_;
};

/// Sleeps a little between two looks at something that has no event to wait for.
void pause_between_looks();

// ---- cgroup folders (group_cgroup.cpp)
/// Where a hierarchy is mounted ("cgroup2", or "cgroup" with the controller's name in its options),
/// joined with this process's own place in it. not_found where there is none.
Result<std::string> own_cgroup_folder(const std::string& controller);
Status make_cgroup(const std::string& path);
/// rmdir from the inside out; a missing one is fine.
Status remove_cgroup(const std::string& path);
/// Pids listed in `path` and everything below it.
std::vector<pid_t> cgroup_pids(const std::string& path);
/// `path` and every folder below it, outside in.
std::vector<std::string> cgroup_folders(const std::string& path);
Status write_control(const std::string& path, std::string_view text);
/// True where the process is in the cgroup folder `path` or below it.
bool in_cgroup(pid_t pid, const std::string& path, const std::string& controller);
/// rmdir of empty folders named muster-* in `base`. Kernel refuses where a process is inside.
void sweep_cgroups(const std::string& base);
/// Held by a maker between mkdir and the first process, so that a sweep does not take the folder.
Result<UniqueFd> lock_cgroup(const std::string& path);

class UnifiedGroup final : public ProcessGroup { // cgroup v2
  public:
    using ProcessGroup::ProcessGroup;
    std::vector<pid_t> members() const override;
    void signal_all(int signal) const override;
    std::vector<LeftoverProcess> kill_and_verify(Duration limit) const override;
    Status remove() const override;
    Result<Entry> entry() const override;
};

class FreezerGroup final : public ProcessGroup { // cgroup v1
  public:
    using ProcessGroup::ProcessGroup;
    std::vector<pid_t> members() const override;
    void signal_all(int signal) const override;
    std::vector<LeftoverProcess> kill_and_verify(Duration limit) const override;
    Status remove() const override;
    Result<Entry> entry() const override;
};

class SessionGroup final : public ProcessGroup { // no cgroup
  public:
    using ProcessGroup::ProcessGroup;
    std::vector<pid_t> members() const override;
    void signal_all(int signal) const override;
    std::vector<LeftoverProcess> kill_and_verify(Duration limit) const override;
    Status remove() const override { return ok(); }
    Result<Entry> entry() const override { return Entry{}; }
};

} // namespace muster::io
