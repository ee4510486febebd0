#pragma once
// ProcessGroup: all processes that come from what was started in it, whatever they call afterwards
// (setsid, double fork). It can be signalled, ended and verified empty, and never touches a process
// outside it. Groups nest: ending one ends those inside it.
//
// Life: made by ProcessGroups::create or found again by open_group from its address, which outlives
// the process that made it. Thread-safe: it holds no state but its address and, with its maker, a
// lock.

#include "base/result.hpp"
#include "base/time.hpp"
#include "io/posix/fd.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace muster::io {

enum class GroupBackend { v2, v1, session };
std::string_view backend_name(GroupBackend backend);

/// The environment variable that marks every process of a group: the names of its groups from the
/// outside in, joined by '/'. The session backend finds members by it; the others set it too.
inline constexpr const char* group_mark_variable = "MUSTER_GROUP";

/// Where a group is, for whoever must end it later.
struct GroupAddress {
    GroupBackend backend = GroupBackend::session;
    std::string path; // folder in the cgroup file system; empty for sessions
    std::string mark; // value of MUSTER_GROUP
    friend bool operator==(const GroupAddress&, const GroupAddress&) = default;
};

/// A process that is still there after SIGKILL (in state D: waiting inside the kernel).
struct LeftoverProcess {
    pid_t pid = 0;
    std::string name;
    char state = '?';
};

/// "python3 (pid 7, state D), ...": the first three by name, the number of the others.
std::string names_of(const std::vector<LeftoverProcess>& processes);

class ProcessGroup {
  public:
    explicit ProcessGroup(GroupAddress address) : address_(std::move(address)) {}
    virtual ~ProcessGroup() = default;

    const GroupAddress& address() const { return address_; }

    /// As long as this object lives no sweep removes the group, even while it is empty.
    void keep(UniqueFd lock) { lock_ = std::move(lock); }

    /// Processes that are alive now (zombies are not).
    virtual std::vector<pid_t> members() const = 0;
    /// To every member; stopped ones are continued so that they can take it.
    virtual void signal_all(int signal) const = 0;
    /// SIGKILL to all, again and again until none is left or the time is over. Idempotent.
    virtual std::vector<LeftoverProcess> kill_and_verify(Duration limit) const = 0;
    /// Gives the empty group back to the kernel, with the groups in it. A non-empty one stays.
    virtual Status remove() const = 0;
    /// How a child enters before its exec: a folder handle for clone (version 2), or the file to
    /// write "0" to (version 1); both empty for sessions.
    struct Entry {
        UniqueFd clone_into;
        UniqueFd procs;
    };
    virtual Result<Entry> entry() const = 0;

  protected:
    std::vector<LeftoverProcess> leftover() const;

  private:
    GroupAddress address_;
    UniqueFd lock_; // on the folder; only of the one who made it
};

/// Makes groups with the backend that works here.
class ProcessGroups {
  public:
    GroupBackend backend() const { return backend_; }
    /// Why better backends were not taken, one line each; for the launcher's log.
    const std::vector<std::string>& notes() const { return notes_; }

    /// `name` is unique on the machine (it holds the workload id); letters, digits, '-', '.'.
    Result<std::unique_ptr<ProcessGroup>> create(const std::string& name) const;
    Result<std::unique_ptr<ProcessGroup>> create_in(const ProcessGroup& parent,
                                                    const std::string& name) const;
    /// Removes empty groups that ended processes of Muster left behind.
    void sweep() const;

  private:
    friend Result<ProcessGroups> probe_groups(std::string_view forced);
    GroupBackend backend_ = GroupBackend::session;
    std::string base_;   // cgroup folder under which groups are made
    std::string prefix_; // of the mark: the group in which this process runs itself
    std::vector<std::string> notes_;
};

/// Tries the backends on a group of its own, best first. `forced`: "v2", "v1", "session" or empty
/// (any); a forced one that does not work is an error with the reason.
Result<ProcessGroups> probe_groups(std::string_view forced);

/// The group at an address, which need not exist any more (then it has no members).
std::unique_ptr<ProcessGroup> open_group(const GroupAddress& address);

} // namespace muster::io
