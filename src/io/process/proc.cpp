#include "io/process/proc.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
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

std::optional<ProcStat> read_proc_stat(pid_t pid) {
    const auto text = read_file(proc_path(pid, "stat"), 64 * 1024);
    if (!text) return std::nullopt;
    // "pid (comm) state ppid pgrp session ..."; comm may hold spaces and parentheses.
    const auto open = text->find('(');
    const auto close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return std::nullopt;
    ProcStat stat;
    stat.pid = pid;
    stat.name = text->substr(open + 1, close - open - 1);
    std::vector<std::string_view> fields;
    std::string_view rest = std::string_view(*text).substr(close + 1);
    while (!rest.empty() && fields.size() < 20) {
        const auto begin = rest.find_first_not_of(" \n");
        if (begin == std::string_view::npos) break;
        const auto end = rest.find_first_of(" \n", begin);
        fields.push_back(rest.substr(begin, end - begin));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
    }
    if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
    stat.state = fields[0][0];
    if (!parse_number(fields[1], stat.parent) || !parse_number(fields[3], stat.session) ||
        !parse_number(fields[19], stat.start_ticks))
        return std::nullopt;
    return stat;
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

std::optional<std::string> read_proc_environment(pid_t pid, const std::string& name) {
    const auto text = read_file(proc_path(pid, "environ"), environment_bytes_max);
    if (!text) return std::nullopt;
    const std::string prefix = name + "=";
    std::size_t at = 0;
    while (at < text->size()) {
        auto end = text->find('\0', at);
        if (end == std::string::npos) end = text->size();
        const std::string_view entry(text->data() + at, end - at);
        if (entry.starts_with(prefix)) return std::string(entry.substr(prefix.size()));
        at = end + 1;
    }
    return std::nullopt;
}

std::optional<std::string> read_proc_cgroup(pid_t pid, const std::string& controller) {
    const auto text = read_file(proc_path(pid, "cgroup"), 64 * 1024);
    if (!text) return std::nullopt;
    std::string_view rest = *text;
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

UniqueFd open_pidfd(pid_t pid) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

bool signal_verified(pid_t pid, int signal, const std::function<bool(pid_t)>& is_ours) {
    const UniqueFd handle = open_pidfd(pid);
    if (!handle || !is_ours(pid)) return false;
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0U) == 0;
}

} // namespace muster::io
