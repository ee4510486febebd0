#include "io/page/page_folder.hpp"

#include "base/id.hpp"
#include "io/posix/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace muster::io {
namespace {

constexpr std::string_view prefix = "muster-";

/// Folders of others may begin with the same word; an id does not come about by chance.
bool is_ours(std::string_view name) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return name.size() > id_text_length && name[id_text_length] == '.' &&
           raw_id_from_text(name.substr(0, id_text_length)).has_value();
}

UniqueFd try_lock(const std::string& folder) {
    UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
    return fd;
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
    if (!make_directories(path_, 0700) || ::access(path_.c_str(), W_OK) != 0) {
        path_ = fallback;
        (void)make_directories(path_, 0700);
    }
    lock_ = try_lock(path_);
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
