#pragma once
// PageFolder: where one launcher's progress pages lie, in shared memory where it is writable.
// Locked for the launcher's life, so that the next one on the machine can tell and remove what a
// killed launcher left behind.
//
// Life: as long as the launcher; the destructor removes the folder with what Muster put there.

#include "io/posix/fd.hpp"

#include <string>

namespace muster::io {

inline constexpr const char* shared_memory = "/dev/shm";

class PageFolder {
  public:
    /// `name` as from page_folder_name(). Uses `fallback` where `shared` cannot be written.
    PageFolder(const std::string& name, const std::string& fallback,
               const std::string& shared = shared_memory);
    ~PageFolder();
    PageFolder(const PageFolder&) = delete;
    PageFolder& operator=(const PageFolder&) = delete;

    const std::string& path() const { return path_; }

  private:
    std::string path_;
    UniqueFd lock_;
};

/// "muster-<launcher>": `launcher` begins with a workload's id.
std::string page_folder_name(const std::string& launcher);
/// Removes folders in `shared` that nobody holds.
void sweep_page_folders(const std::string& shared = shared_memory);
/// Unlinks what launchers and ranks put into a folder, and the folder if nothing else is in it.
void remove_pages(const std::string& folder);

} // namespace muster::io
