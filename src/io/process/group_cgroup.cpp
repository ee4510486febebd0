#include "io/posix/files.hpp"
#include "io/process/group_backends.hpp"
#include "io/process/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace muster::io {
namespace {

constexpr int look_pause_ms = 1;

std::optional<CgroupMount> mount_of(const std::string& controller) {
    const auto text = read_file("/proc/self/mountinfo");
    return text ? cgroup_mount(*text, controller) : std::nullopt;
}

bool is_folder(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> sub_folders(const std::string& path) {
    std::vector<std::string> names;
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = ::readdir(folder)) {
        const std::string name = entry->d_name;
        if (name == "." || name == ".." || entry->d_type != DT_DIR) continue;
        names.push_back(path + "/" + name);
    }
    ::closedir(folder);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

int Deadline::left_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        at_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void pause_between_looks() { ::poll(nullptr, 0, look_pause_ms); }

Result<std::string> own_cgroup_folder(const std::string& controller) {
    const auto mount = mount_of(controller);
    const std::string label = controller.empty() ? "cgroup v2" : "cgroup v1 " + controller;
    if (!mount) return fail(Code::not_found, label + " is not mounted");
    const auto own = read_proc_cgroup(::getpid(), controller);
    const auto folder = own ? mount->folder_of(*own) : std::nullopt;
    // Where our own place is not visible, the top of what we see has to do.
    return folder && is_folder(*folder) ? *folder : mount->point;
}

Status make_cgroup(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return ok();
    return fail(errno_error(errno, "make the cgroup", path));
}

std::vector<std::string> cgroup_folders(const std::string& path) {
    std::vector<std::string> all{path};
    for (std::size_t i = 0; i < all.size(); ++i)
        for (auto& folder : sub_folders(all[i])) all.push_back(std::move(folder));
    return all;
}

Status remove_cgroup(const std::string& path) {
    const auto folders = cgroup_folders(path);
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
        if (::rmdir(folder->c_str()) != 0 && errno != ENOENT)
            return fail(errno_error(errno, "remove the cgroup", *folder));
    return ok();
}

std::vector<pid_t> cgroup_pids(const std::string& path) {
    std::vector<pid_t> pids;
    for (const auto& folder : cgroup_folders(path)) {
        const auto text = read_file(folder + "/cgroup.procs");
        if (!text) continue;
        const char* at = text->data();
        const char* const end = at + text->size();
        while (at < end) {
            pid_t pid = 0;
            const auto result = std::from_chars(at, end, pid);
            if (result.ec == std::errc{} && pid > 0) pids.push_back(pid);
            at = std::find(result.ptr, end, '\n');
            if (at < end) ++at;
        }
    }
    return pids;
}

Status write_control(const std::string& path, std::string_view text) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), text.data(), text.size()) < 0)
        return fail(errno_error(errno, "write", path));
    return ok();
}

bool in_cgroup(pid_t pid, const std::string& path, const std::string& controller) {
    const auto place = read_proc_cgroup(pid, controller);
    const auto mount = mount_of(controller);
    if (!place || !mount) return false;
    const auto folder = mount->folder_of(*place);
    return folder && (*folder == path || folder->starts_with(path + "/"));
}

Result<UniqueFd> lock_cgroup(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return fail(errno_error(errno, "open the cgroup", path));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
        return fail(errno_error(errno, "lock the cgroup", path));
    // It may have been removed, and made anew, between the two calls.
    struct stat locked{};
    struct stat there{};
    if (::fstat(fd.get(), &locked) != 0 || ::stat(path.c_str(), &there) != 0 ||
        locked.st_ino != there.st_ino)
        return fail(Code::unavailable, "the cgroup " + path + " was removed meanwhile");
    return fd;
}

void sweep_cgroups(const std::string& base) {
    for (const auto& folder : sub_folders(base)) {
        const auto name = folder.substr(folder.rfind('/') + 1);
        if (!name.starts_with(group_prefix) || !cgroup_pids(folder).empty()) continue;
        const auto lock = lock_cgroup(folder);
        if (lock) (void)remove_cgroup(folder);
    }
}

} // namespace muster::io
