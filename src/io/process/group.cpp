#include "io/process/group.hpp"

#include "base/text.hpp"
#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"
#include "io/process/reap.hpp"
#include "io/process/spawn.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>

namespace muster::io {
namespace {

constexpr std::size_t named_max = 3;
constexpr Duration probe_limit = Duration::seconds(5);
constexpr int create_tries = 5; // a sweep may take a folder between mkdir and lock

bool good_name(std::string_view name) {
    if (name.empty() || name.size() > 200 || name.front() == '.') return false;
    return name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
           std::string_view::npos;
}

std::string probe_name() {
    std::random_device source;
    return "probe-" + std::to_string(::getpid()) + "-" + std::to_string(source());
}

/// Starts what would sleep for long, ends it by `end`, and sees it gone.
template <class End>
Status try_end(const ProcessGroup& group, End end) {
    SpawnSpec spec;
    spec.argv = {"/bin/sleep", "600"};
    spec.cwd = "/";
    spec.group = &group;
    auto child = spawn(spec);
    if (!child) return fail(child.error());
    end();
    if (!reap(child->pidfd.get(), probe_limit))
        return fail(Code::failed_precondition, "a process of a probe group survived its end");
    return ok();
}

/// Both ways to end a group must reach a child: the polite one and the last one.
Status try_group(const ProcessGroup& group) {
    Status works = try_end(group, [&] { group.signal_all(SIGTERM); });
    const bool killed = group.kill_and_verify(probe_limit).empty();
    if (works) works = try_end(group, [&] { group.kill_and_verify(probe_limit); });
    if (!works) return works;
    if (!killed || !group.members().empty())
        return fail(Code::failed_precondition, "a probe group did not become empty");
    return group.remove();
}

} // namespace

std::string_view backend_name(GroupBackend backend) {
    switch (backend) {
    case GroupBackend::v2: return "v2";
    case GroupBackend::v1: return "v1";
    case GroupBackend::session: return "session";
    }
    return "session";
}

std::string names_of(const std::vector<LeftoverProcess>& processes) {
    std::string text;
    for (std::size_t i = 0; i < std::min(named_max, processes.size()); ++i)
        text += (i == 0 ? "" : ", ") + to_valid_utf8(processes[i].name) + " (pid " +
                std::to_string(processes[i].pid) + ", state " + processes[i].state + ")";
    if (processes.size() > named_max)
        text += " and " + std::to_string(processes.size() - named_max) + " more";
    return text;
}

std::vector<LeftoverProcess> ProcessGroup::leftover() const {
    std::vector<LeftoverProcess> left;
    for (const pid_t pid : members())
        if (const auto stat = read_proc_stat(pid); stat && !stat->dead())
            left.push_back({pid, stat->name, stat->state});
    return left;
}

std::unique_ptr<ProcessGroup> open_group(const GroupAddress& address) {
    switch (address.backend) {
    case GroupBackend::v2: return std::make_unique<UnifiedGroup>(address);
    case GroupBackend::v1: return std::make_unique<FreezerGroup>(address);
    case GroupBackend::session: break;
    }
    return std::make_unique<SessionGroup>(address);
}

Result<std::unique_ptr<ProcessGroup>> ProcessGroups::create(const std::string& name) const {
    if (!good_name(name)) return fail(Code::invalid_argument, "bad group name '" + name + "'");
    GroupAddress address{backend_, {}, prefix_ + name};
    if (backend_ == GroupBackend::session) return open_group(address);
    address.path = base_ + "/" + group_prefix + name;
    for (int i = 0; i < create_tries; ++i) {
        if (auto made = make_cgroup(address.path); !made) return fail(made.error());
        // A sweep that holds the folder will take it: wait for that and make it again.
        if (auto lock = lock_cgroup(address.path); lock) {
            auto group = open_group(address);
            group->keep(std::move(*lock));
            return group;
        }
        pause_between_looks();
    }
    return fail(Code::unavailable, "the cgroup " + address.path + " was removed again and again");
}

Result<std::unique_ptr<ProcessGroup>> ProcessGroups::create_in(const ProcessGroup& parent,
                                                               const std::string& name) const {
    if (!good_name(name)) return fail(Code::invalid_argument, "bad group name '" + name + "'");
    GroupAddress address = parent.address();
    address.mark += "/" + name;
    if (address.backend == GroupBackend::session) return open_group(address);
    address.path += "/" + name;
    if (auto made = make_cgroup(address.path); !made) return fail(made.error());
    return open_group(address);
}

void ProcessGroups::sweep() const {
    if (backend_ != GroupBackend::session) sweep_cgroups(base_);
}

Result<ProcessGroups> probe_groups(std::string_view forced) {
    if (!forced.empty() && forced != "v2" && forced != "v1" && forced != "session")
        return fail(Code::invalid_argument,
                    "MUSTER_GROUPS is '" + std::string(forced) + "', which is no backend",
                    "use v2, v1 or session, or leave it unset");
    ProcessGroups groups;
    if (const char* outer = std::getenv(group_mark_variable); outer != nullptr && *outer != '\0')
        groups.prefix_ = std::string(outer) + "/";
    for (const auto backend : {GroupBackend::v2, GroupBackend::v1, GroupBackend::session}) {
        if (!forced.empty() && forced != backend_name(backend)) continue;
        groups.backend_ = backend;
        Status works = ok();
        if (backend != GroupBackend::session) {
            auto base = own_cgroup_folder(backend == GroupBackend::v1 ? "freezer" : "");
            if (base)
                groups.base_ = *base;
            else
                works = fail(base.error());
        }
        if (works) {
            auto group = groups.create(probe_name());
            works = group ? try_group(**group) : fail(group.error());
        }
        if (works) return groups;
        groups.notes_.push_back("process groups by " + std::string(backend_name(backend)) +
                                " do not work here: " + to_text(works.error()));
    }
    return fail(Code::failed_precondition, groups.notes_.back(),
                forced.empty() ? "" : "unset MUSTER_GROUPS to let Muster choose");
}

} // namespace muster::io
