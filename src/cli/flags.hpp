#pragma once
// What the user's words parse to: one plain struct a verb. Members are the long flags' names.

#include "base/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::cli {

/// Where the server is, and how to print. Every verb that asks a server takes these.
struct CommonFlags {
    std::string state;  // --state, MUSTER_STATE; empty: the default place
    std::string server; // --server, MUSTER_SERVER; empty: from <state>/client.json
    bool no_color = false;
};

enum class Output { table, wide, json, yaml, name };

struct ListFlags {
    CommonFlags common;
    Output output = Output::table;
    bool watch = false;
    bool all = false; // jobs: those that are over, too
};

struct ShowFlags {
    CommonFlags common;
    std::string name;
    Output output = Output::table;
    bool watch = false;
};

struct RunFlags {
    CommonFlags common;
    std::string name;
    std::int64_t priority = 50;
    std::int64_t nodes = 1;
    std::optional<std::int64_t> nproc_per_node;
    std::optional<std::int64_t> ranks;
    std::int64_t devices_per_rank = 1;
    std::vector<std::string> env; // K=V, or K to pass on the caller's
    std::string workdir;          // empty: the caller's
    std::optional<std::int64_t> restarts;
    std::optional<std::int64_t> restarts_per_day;
    std::string grace;      // a duration
    std::string early_exit; // a duration
    bool detach = false;
    bool dry_run = false;
    Output output = Output::table;
    std::vector<std::string> command;
};

struct SubmitFlags {
    CommonFlags common;
    std::string file; // "-": standard input
    bool dry_run = false;
    bool follow = false;
    Output output = Output::table;
};

struct LogsFlags {
    CommonFlags common;
    std::string job;
    bool follow = false;
    std::string ranks; // "0,2-3"; empty: all
    std::string grep;
    std::int64_t tail = -1;
    std::string since; // a duration back from now, or a time
    bool times = false;
};

struct CancelFlags {
    CommonFlags common;
    std::vector<std::string> jobs;
    bool wait = false;
};

struct WaitFlags {
    CommonFlags common;
    std::string job;
    std::string timeout; // a duration; empty: as long as it takes
};

struct CordonFlags {
    CommonFlags common;
    std::vector<std::string> nodes;
    std::string reason;
};

struct EventsFlags {
    CommonFlags common;
    Output output = Output::table;
    bool watch = false;
    std::int64_t after = 0;
    std::int64_t limit = 100;
    std::string job;
};

struct JournalFlags {
    CommonFlags common;
    Output output = Output::table;
    std::int64_t after = 0;
    std::int64_t limit = 0; // 0: all
    bool offline = false;   // read the file even where a server answers
};

// ---- the parts of Muster, run by src/app
struct ServerFlags {
    std::string state;
    std::string listen; // host:port
};

struct AgentFlags {
    std::string state;
    std::string server;
    std::string token_file;
    std::string node;    // empty: the host's name
    std::string address; // where peers reach this machine
    std::optional<std::int64_t> slots;
};

/// torchrun's spellings are accepted for all of these (--nproc_per_node).
struct LaunchFlags {
    std::string attempt_dir; // set: run by an agent; all else comes from its launch.json
    std::int64_t nproc_per_node = 1;
    std::int64_t max_restarts = 3;
    bool no_python = false;
    bool module = false; // -m: the command's first word is a Python module
    std::string log_dir;
    std::vector<std::string> command; // as written, before a Python is put in front
};

struct UpFlags {
    std::string state;
    std::string listen;
    std::int64_t nodes = 1;
    std::optional<std::int64_t> slots; // per node
    bool detach = false;
};

struct DownFlags {
    std::string state;
};

} // namespace muster::cli
