// No cgroup: members are found by what they cannot easily shed. The environment mark survives
// setsid and re-parenting; sessions and descent survive a cleaned environment. What drops all three
// (a cleaned environment, a session of its own, and a dead parent) is found where this process is
// the sub-reaper, since it becomes our child; a later clear from another process cannot see it.

#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"

#include <csignal>
#include <map>
#include <set>
#include <sys/prctl.h>

namespace muster::io {
namespace {

bool marked(pid_t pid, const std::string& mark) {
    const auto value = read_proc_environment(pid, group_mark_variable);
    return value && (*value == mark || value->starts_with(mark + "/"));
}

bool we_reap_orphans() {
    int on = 0;
    return ::prctl(PR_GET_CHILD_SUBREAPER, &on) == 0 && on == 1;
}

/// Members with their start time, so that a later look can tell a reused pid apart.
std::map<pid_t, ProcStat> find_members(const std::string& mark) {
    const auto processes = all_processes();
    const pid_t self = ::getpid();
    const bool adopt = we_reap_orphans();
    std::map<pid_t, ProcStat> members;
    std::set<pid_t> sessions;
    for (const auto& process : processes) {
        if (process.pid == self || process.dead() || !marked(process.pid, mark)) continue;
        members.emplace(process.pid, process);
        sessions.insert(process.session);
    }
    const auto own = read_proc_stat(self);
    if (own) sessions.erase(own->session);
    for (const auto& process : processes) {
        if (process.pid == self || process.dead() || members.contains(process.pid)) continue;
        const bool orphan = adopt && process.parent == self && own &&
                            process.session != own->session &&
                            !read_proc_environment(process.pid, group_mark_variable);
        if (sessions.contains(process.session) || orphan) members.emplace(process.pid, process);
    }
    // Descendants, until a round finds no more.
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& process : processes) {
            if (process.pid == self || process.dead() || members.contains(process.pid) ||
                !members.contains(process.parent))
                continue;
            members.emplace(process.pid, process);
            grown = true;
        }
    }
    return members;
}

void signal_members(const std::map<pid_t, ProcStat>& members, int signal) {
    for (const auto& [pid, seen] : members)
        signal_verified(pid, signal, [&](pid_t now) {
            const auto stat = read_proc_stat(now);
            return stat && stat->start_ticks == seen.start_ticks;
        });
}

} // namespace

std::vector<pid_t> SessionGroup::members() const {
    std::vector<pid_t> pids;
    for (const auto& [pid, stat] : find_members(address().mark)) pids.push_back(pid);
    return pids;
}

void SessionGroup::signal_all(int signal) const {
    const auto members = find_members(address().mark);
    signal_members(members, signal);
    signal_members(members, SIGCONT);
}

std::vector<LeftoverProcess> SessionGroup::kill_and_verify(Duration limit) const {
    const Deadline deadline(limit);
    // In the middle of its exec a process shows no environment: two empty looks in a row count.
    for (int empty_looks = 0; empty_looks < 2;) {
        // Stop first: what does not run does not fork, so the second look is complete.
        signal_members(find_members(address().mark), SIGSTOP);
        const auto members = find_members(address().mark);
        signal_members(members, SIGKILL);
        empty_looks = members.empty() ? empty_looks + 1 : 0;
        if (deadline.over()) return leftover();
        if (empty_looks < 2) pause_between_looks();
    }
    return {};
}

} // namespace muster::io
