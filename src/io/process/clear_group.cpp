#include "io/process/clear_group.hpp"

#include "io/page/page_folder.hpp"
#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"

#include <climits>
#include <csignal>
#include <sstream>
#include <unistd.h>

namespace muster::io {

std::string group_text(const GroupAddress& address) {
    return std::string(backend_name(address.backend)) + "\n" + address.path + "\n" + address.mark +
           "\n";
}

Status write_group_file(const std::string& attempt_dir, const GroupAddress& address) {
    return write_file_atomically(attempt_dir + "/" + group_file, group_text(address));
}

Result<GroupAddress> read_group_file(const std::string& attempt_dir) {
    const std::string path = attempt_dir + "/" + group_file;
    auto text = read_file(path, 64 * 1024);
    if (!text) return fail(text.error());
    return group_from_text(*text, path);
}

Result<GroupAddress> group_from_text(const std::string& text, const std::string& where) {
    std::istringstream lines(text);
    std::string backend;
    GroupAddress address;
    std::getline(lines, backend);
    std::getline(lines, address.path);
    std::getline(lines, address.mark);
    if (backend == "v2")
        address.backend = GroupBackend::v2;
    else if (backend == "v1")
        address.backend = GroupBackend::v1;
    else if (backend == "session")
        address.backend = GroupBackend::session;
    else
        return fail(Code::data_loss, where + " names no known kind of group");
    // An empty mark or a path that is not one of ours could match processes of others.
    const bool needs_path = address.backend != GroupBackend::session;
    const bool ours = address.path.find(std::string("/") + group_prefix) != std::string::npos;
    if (address.mark.empty() || (needs_path && !ours))
        return fail(Code::data_loss, where + " is not whole");
    return address;
}

Status write_launcher_pid(const std::string& attempt_dir) {
    const auto self = read_proc_stat(::getpid());
    if (!self) return fail(Code::internal, "cannot read /proc/self/stat");
    return write_file_atomically(attempt_dir + "/" + launcher_pid_file,
                                 std::to_string(self->pid) + " " +
                                     std::to_string(self->start_ticks) + "\n");
}

Result<LauncherPid> read_launcher_pid(const std::string& attempt_dir) {
    const std::string path = attempt_dir + "/" + launcher_pid_file;
    auto text = read_file(path, 4096);
    if (!text) return fail(text.error());
    std::istringstream words(*text);
    LauncherPid launcher;
    if (!(words >> launcher.pid >> launcher.start_ticks) || launcher.pid <= 1)
        return fail(Code::data_loss, path + " is not whole");
    return launcher;
}

bool alive(const LauncherPid& launcher) {
    const auto stat = read_proc_stat(launcher.pid);
    return stat && stat->start_ticks == launcher.start_ticks && !stat->dead();
}

std::vector<LeftoverProcess> clear_group(const std::string& attempt_dir, Duration limit) {
    const Deadline deadline(limit);
    // The launcher first: it could start more.
    if (const auto launcher = read_launcher_pid(attempt_dir)) {
        signal_verified(launcher->pid, SIGKILL, [&](pid_t) { return alive(*launcher); });
        while (alive(*launcher)) {
            if (deadline.over()) return {{launcher->pid, "muster", 'D'}};
            pause_between_looks();
        }
    }
    const auto address = read_group_file(attempt_dir);
    if (!address) {
        if (address.error().code == Code::not_found) return {};
        return {{0, address.error().message, '?'}}; // not to be called empty unseen
    }
    const auto group = open_group(*address);
    auto left = group->kill_and_verify(Duration::millis(deadline.left_ms()));
    if (!left.empty()) return left;
    (void)group->remove();
    const std::string pages = attempt_dir + "/" + pages_name;
    char target[PATH_MAX] = {};
    const ssize_t size = ::readlink(pages.c_str(), target, sizeof target - 1);
    remove_pages(size > 0 ? std::string(target, static_cast<std::size_t>(size)) : pages);
    ::unlink(pages.c_str());
    return {};
}

} // namespace muster::io
