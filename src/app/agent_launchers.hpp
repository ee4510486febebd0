#pragma once
// Launchers: the processes that an agent has started or adopted, each watched by a pidfd. A
// launcher has a session of its own, so that what ends the agent does not reach it.
//
// Life: as long as the agent's loop, used by its thread; clear() works on threads of its own and
// posts.

#include "agent/core.hpp"
#include "app/agent_node_dir.hpp"
#include "app/worker.hpp"
#include "io/posix/fd.hpp"
#include "model/launch_file.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster::app {

/// Marks a launcher from its first instruction, before it has written its pid file.
inline constexpr const char* attempt_dir_variable = "MUSTER_ATTEMPT_DIR";
inline constexpr Duration clear_limit = Duration::seconds(5); // for processes to obey SIGKILL
inline constexpr std::size_t launcher_words_max = 600;        // of its log, where it left no result

struct LauncherContext {
    std::string program; // muster
    LaunchFile file;     // what is the same for every launcher; the rest is filled in
    std::function<void(agent::AgentEvent)> post; // from any thread
};

class Launchers {
  public:
    Launchers(const NodeDir& dir, LauncherContext context)
        : dir_(dir), context_(std::move(context)), clearing_(2) {}

    agent::LauncherStarted start(const agent::StartLauncher& command,
                                 const InstallationId& installation);
    agent::AgentEvent adopt(const agent::AdoptLauncher& command);
    void ask_to_leave(const AttemptKey& key);
    /// Posts GroupCleared.
    void clear(const AttemptKey& key);

    struct Watched {
        AttemptKey key;
        int pidfd;
    };
    std::vector<Watched> watched() const;
    /// The launcher's pidfd is readable: takes its end. Nothing if it still runs or is not watched.
    std::optional<agent::LauncherGone> take_end(const AttemptKey& key);

  private:
    struct Running {
        io::UniqueFd pidfd;
        bool child = false;
    };
    Result<agent::LauncherStarted> try_start(const agent::StartLauncher& command,
                                             const InstallationId& installation);
    agent::LauncherGone gone(const AttemptKey& key, std::string error, bool with_last_words) const;

    const NodeDir& dir_;
    LauncherContext context_;
    std::map<AttemptKey, Running> running_;
    Worker clearing_;
};

/// Ends the launcher and everything that came from it; how many processes are left.
std::int64_t clear_attempt(const std::string& attempt_dir, Duration limit);

} // namespace muster::app
