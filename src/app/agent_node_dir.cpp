#include "app/agent_node_dir.hpp"

#include "app/lock_file.hpp"
#include "app/random.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"
#include "io/posix/sampler.hpp"
#include "io/process/clear_group.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace muster::app {
namespace {

namespace fs = std::filesystem;

constexpr Duration stray_limit = Duration::seconds(10); // to end what an unknown journal left
constexpr std::size_t entries_max = 100'000;            // of one folder that are looked at

struct Entry {
    fs::path path;
    fs::file_time_type changed;
    std::int64_t bytes = 0;
};

std::vector<Entry> newest_first(const std::string& folder) {
    std::vector<Entry> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        const auto changed = fs::last_write_time(at->path(), gone);
        if (!gone) entries.push_back({at->path(), changed, 0});
        if (entries.size() >= entries_max) break;
    }
    std::ranges::sort(entries,
                      [](const Entry& a, const Entry& b) { return a.changed > b.changed; });
    return entries;
}

std::int64_t bytes_in(const fs::path& folder) {
    std::int64_t bytes = 0;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        const auto size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
        if (!gone) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
}

void remove_folder(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) io::log_event("folder_stays", {{"path", path.string()}, {"error", error.message()}});
}

std::string attempt_name(const AttemptKey& key) {
    return to_text(key.workload) + "." + std::to_string(key.attempt);
}

} // namespace

std::string NodeDir::attempt_dir(const AttemptKey& key) const {
    return attempts_dir() + "/" + attempt_name(key);
}

Result<NodeDir> NodeDir::open(const std::string& path) {
    NodeDir dir;
    std::error_code error;
    dir.path_ = fs::absolute(path, error).lexically_normal().string();
    for (const char* part : {"", "/attempts", "/logs"})
        if (auto made = io::make_directories(dir.path_ + part, 0700); !made)
            return fail(made.error());
    if (auto locked = dir.lock(); !locked) return fail(locked.error());
    if (auto noted = dir.note_boot(); !noted) return fail(noted.error());
    return dir;
}

Status NodeDir::lock() {
    auto taken = lock_file(path_ + "/agent.lock");
    if (!taken) return fail(taken.error());
    if (!taken->fd)
        return fail(Code::failed_precondition,
                    "an agent runs on " + path_ + " already (process " + taken->owner + ")",
                    "end it first, or give this agent a node name of its own");
    lock_ = std::move(taken->fd);
    return ok();
}

/// The folder beats under an id of its own, made when it first sees a boot of the machine: a wiped
/// folder counts as a reboot, because nobody knows any more what it held.
Status NodeDir::note_boot() {
    auto machine = io::machine_boot_id();
    if (!machine) return fail(machine.error());
    const std::string file = path_ + "/agent.boot";
    const auto text = io::read_file(file, 4096);
    if (text) {
        const auto line_end = text->find('\n');
        if (line_end != std::string::npos && text->substr(0, line_end) == *machine) {
            boot_id_ = text->substr(line_end + 1);
            boot_id_.erase(boot_id_.find_last_not_of(" \n") + 1);
        }
        if (!boot_id_.empty()) return ok();
    } else if (text.error().code != Code::not_found) {
        return fail(text.error());
    }
    booted_ = true;
    boot_id_ = to_text(random_id<struct BootTag>());
    std::error_code error;
    fs::rename(journal_file(), journal_file() + ".old", error);
    if (error && error != std::errc::no_such_file_or_directory)
        return fail(io::errno_error(error.value(), "put away", journal_file()));
    // Attempts of this very boot that no journal knows: end them before their devices are given
    // out.
    for (const auto& entry : newest_first(attempts_dir())) {
        const auto launcher = io::read_launcher_pid(entry.path.string());
        if (!launcher) continue;
        const auto left = io::clear_group(entry.path.string(), stray_limit);
        if (!left.empty())
            return fail(Code::failed_precondition,
                        std::to_string(left.size()) + " processes of " + entry.path.string() +
                            " cannot be ended",
                        "reboot the machine: they wait inside the kernel");
    }
    return io::write_file_atomically(file, *machine + "\n" + boot_id_ + "\n", 0600);
}

void NodeDir::sweep(const std::set<AttemptKey>& held) const {
    std::set<std::string> held_attempts;
    std::set<std::string> held_workloads;
    for (const auto& key : held) {
        held_attempts.insert(attempt_name(key));
        held_workloads.insert(to_text(key.workload));
    }
    std::size_t kept = 0;
    for (const auto& entry : newest_first(attempts_dir()))
        if (!held_attempts.contains(entry.path.filename().string()) && ++kept > attempt_dirs_kept)
            remove_folder(entry.path);
    kept = 0;
    std::int64_t bytes = 0;
    for (const auto& entry : newest_first(path_ + "/logs")) {
        if (held_workloads.contains(entry.path.filename().string())) continue;
        bytes += bytes_in(entry.path);
        if (++kept > log_dirs_kept || (bytes > log_bytes_kept && kept > 1))
            remove_folder(entry.path);
    }
}

} // namespace muster::app
