#include "io/process/proc.hpp"

#include "io/posix/files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::io {
namespace {

// An environment and its arguments may be large, but not without limit.
constexpr std::size_t environment_bytes_max = 8U * 1024 * 1024;

std::string proc_path(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

} // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
    // "pid (comm) state ppid pgrp session ..."; comm may hold spaces, parentheses and line breaks.
    const auto open = text.find(" (");
    const auto close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
        return std::nullopt;
    ProcStat stat;
    stat.name = std::string(text.substr(open + 2, close - open - 2));
    std::vector<std::string_view> fields;
    std::string_view rest = text.substr(close + 1);
    while (!rest.empty() && fields.size() < 20) {
        const auto begin = rest.find_first_not_of(" \n");
        if (begin == std::string_view::npos) break;
        const auto end = rest.find_first_of(" \n", begin);
        fields.push_back(rest.substr(begin, end - begin));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
    }
    if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
    stat.state = fields[0][0];
    if (!parse_number(text.substr(0, open), stat.pid) || !parse_number(fields[1], stat.parent) ||
        !parse_number(fields[3], stat.session) || !parse_number(fields[19], stat.start_ticks))
        return std::nullopt;
    if (stat.pid <= 0 || stat.parent < 0) return std::nullopt;
    return stat;
}

std::optional<ProcStat> read_proc_stat(pid_t pid) {
    const auto text = read_file(proc_path(pid, "stat"), 64 * 1024);
    return text ? parse_proc_stat(*text) : std::nullopt;
}

std::vector<ProcStat> all_processes() {
    std::vector<ProcStat> processes;
    DIR* folder = ::opendir("/proc");
    if (folder == nullptr) return processes;
    while (const dirent* entry = ::readdir(folder)) {
        pid_t pid = 0;
        if (!parse_number(std::string_view(entry->d_name), pid)) continue;
        if (auto stat = read_proc_stat(pid)) processes.push_back(std::move(*stat));
    }
    ::closedir(folder);
    return processes;
}

std::optional<std::string> environment_value_in(std::string_view environ, const std::string& name) {
    const std::string prefix = name + "=";
    while (!environ.empty()) {
        const std::string_view entry = environ.substr(0, environ.find('\0'));
        if (entry.starts_with(prefix)) return std::string(entry.substr(prefix.size()));
        environ.remove_prefix(std::min(environ.size(), entry.size() + 1));
    }
    return std::nullopt;
}

std::optional<std::string> read_proc_environment(pid_t pid, const std::string& name) {
    const auto text = read_file(proc_path(pid, "environ"), environment_bytes_max);
    return text ? environment_value_in(*text, name) : std::nullopt;
}

std::optional<std::string> cgroup_path_in(std::string_view text, const std::string& controller) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        // "4:memory,cpu:/path"; version 2 has no names: "0::/path".
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        std::string_view names = line.substr(first + 1, second - first - 1);
        const std::string_view path = line.substr(second + 1);
        if (controller.empty()) {
            if (names.empty() && line.substr(0, first) == "0") return std::string(path);
            continue;
        }
        while (!names.empty()) {
            const auto comma = names.find(',');
            if (names.substr(0, comma) == controller) return std::string(path);
            names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
        }
    }
    return std::nullopt;
}

std::optional<std::string> read_proc_cgroup(pid_t pid, const std::string& controller) {
    const auto text = read_file(proc_path(pid, "cgroup"), 64 * 1024);
    return text ? cgroup_path_in(*text, controller) : std::nullopt;
}

std::optional<CgroupMount> cgroup_mount(std::string_view mountinfo, const std::string& controller) {
    std::istringstream lines{std::string(mountinfo)};
    for (std::string line; std::getline(lines, line);) {
        // "36 35 98:0 /root /mount/point options... - type source super,options"
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        std::istringstream head(line.substr(0, dash));
        std::istringstream tail(line.substr(dash + 3));
        std::string skip, root, point, type, source, options;
        head >> skip >> skip >> skip >> root >> point;
        tail >> type >> source >> options;
        const CgroupMount mount{root == "/" ? "" : root, point};
        if (controller.empty() && type == "cgroup2") return mount;
        if (controller.empty() || type != "cgroup") continue;
        std::istringstream names(options);
        for (std::string name; std::getline(names, name, ',');)
            if (name == controller) return mount;
    }
    return std::nullopt;
}

std::optional<std::string> CgroupMount::folder_of(const std::string& path) const {
    if (path == root || (path == "/" && root.empty())) return point;
    if (!path.starts_with(root + "/")) return std::nullopt;
    return point + path.substr(root.size());
}

UniqueFd open_pidfd(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

bool signal_verified(pid_t pid, int signal, const std::function<bool(pid_t)>& is_ours) {
    const UniqueFd handle = open_pidfd(pid);
    if (!handle || !is_ours(pid)) return false;
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0U) == 0;
}

} // namespace muster::io
