#pragma once
// How an agent ends everything of an attempt whose launcher is gone or does not answer: from what
// the launcher left in the attempt's folder.

#include "io/process/group.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace muster::io {

/// Names of the files in an attempt's folder.
inline constexpr const char* group_file = "group";
inline constexpr const char* launcher_pid_file = "launcher.pid";
inline constexpr const char* pages_name = "pages"; // folder of progress pages, or a link to it

/// Three lines: backend, path and mark; and back. `where` names the text in errors.
std::string group_text(const GroupAddress& address);
Result<GroupAddress> group_from_text(const std::string& text, const std::string& where);
/// Written before the first rank starts.
Status write_group_file(const std::string& attempt_dir, const GroupAddress& address);
/// not_found where the launcher never came so far: then it started no rank.
Result<GroupAddress> read_group_file(const std::string& attempt_dir);

struct LauncherPid {
    pid_t pid = 0;
    std::int64_t start_ticks = 0;
};
Status write_launcher_pid(const std::string& attempt_dir);
Result<LauncherPid> read_launcher_pid(const std::string& attempt_dir);
/// True while that very process lives (a zombie does not).
bool alive(const LauncherPid& launcher);

/// SIGKILL to the launcher named in its pid file, then to everything in the attempt's group; the
/// group is removed when it is empty. Returns what survived `limit` (empty: verified). Idempotent.
std::vector<LeftoverProcess> clear_group(const std::string& attempt_dir, Duration limit);

} // namespace muster::io
