#include "io/page/page_folder.hpp"

#include "base/id.hpp"
#include "io/posix/files.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace muster::io {
namespace {

constexpr std::string_view prefix = "muster-";
constexpr int make_tries_max = 100; // a sweep must come between each time
constexpr int lock_poll_ms = 1;
constexpr int lock_polls_max = 2'000; // 2 s: a sweep holds a lock while it removes some files

/// Folders of others may begin with the same word; an id does not come about by chance.
bool is_ours(std::string_view name) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return name.size() > id_text_length && name[id_text_length] == '.' &&
           raw_id_from_text(name.substr(0, id_text_length)).has_value();
}

UniqueFd open_folder(const std::string& folder) {
    return UniqueFd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

UniqueFd try_lock(const std::string& folder) {
    UniqueFd fd = open_folder(folder);
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
    return fd;
}

/// Waits for the lock of a folder, though not for ever: its holder may be stopped.
bool lock_in_time(const UniqueFd& fd) {
    for (int polls = 0; polls < lock_polls_max; ++polls) {
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        ::poll(nullptr, 0, lock_poll_ms); // no lock tells when it is free within a limit
    }
    return false;
}

/// Makes the folder ours, also where a sweep of another launcher looks at it in this moment: it may
/// hold the lock for a short while, or remove the folder that it found empty and unlocked.
UniqueFd make_locked(const std::string& folder) {
    for (int tries = 0; tries < make_tries_max; ++tries) {
        if (!make_directories(folder, 0700) || ::access(folder.c_str(), W_OK) != 0) return {};
        UniqueFd fd = open_folder(folder);
        struct stat status{};
        if (!fd) continue;
        if (!lock_in_time(fd)) return {};
        if (::fstat(fd.get(), &status) == 0 && status.st_nlink > 0) return fd;
    }
    return {};
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* entries = ::opendir(folder.c_str());
    if (entries == nullptr) return names;
    while (const dirent* entry = ::readdir(entries)) names.emplace_back(entry->d_name);
    ::closedir(entries);
    return names;
}

} // namespace

PageFolder::PageFolder(const std::string& name, const std::string& fallback,
                       const std::string& shared)
    : path_(shared + "/" + name) {
    lock_ = make_locked(path_);
    if (lock_) return;
    path_ = fallback;
    lock_ = make_locked(path_);
}

PageFolder::~PageFolder() { remove_pages(path_); }

std::string page_folder_name(const std::string& launcher) { return std::string(prefix) + launcher; }

void sweep_page_folders(const std::string& shared) {
    for (const auto& name : names_in(shared)) {
        if (!is_ours(name)) continue;
        const std::string folder = shared + "/" + name;
        if (const auto lock = try_lock(folder); lock) remove_pages(folder);
    }
}

void remove_pages(const std::string& folder) {
    for (const auto& name : names_in(folder))
        if (name.starts_with("rank-") || name.starts_with("error-"))
            ::unlink((folder + "/" + name).c_str());
    ::rmdir(folder.c_str());
}

} // namespace muster::io
