#include "cli/spec_flags.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"
#include "codec/json.hpp"
#include "codec/yaml.hpp"
#include "model/spec.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::cli {
namespace {

constexpr std::size_t spec_bytes_max = 1024 * 1024;

tl::unexpected<Error> wrong(std::string field, std::string message, std::string hint = {}) {
    return fail(Code::invalid_argument, std::move(message), std::move(hint), std::move(field));
}

Status check_text(const std::string& field, const std::string& what, const std::string& text) {
    const std::string shown = to_valid_utf8(text);
    if (shown == text) return ok();
    return wrong(field, say("{} is not UTF-8: \"{}\"", what, shown),
                 say("a job is kept as JSON, which cannot hold these bytes: pass them in a file"));
}

std::string absolute(const std::string& path, const std::string& cwd) {
    return std::filesystem::path(cwd).append(path).lexically_normal().string();
}

bool is_python_script(const std::string& word) { return word.ends_with(".py"); }

Result<std::string> python_for(const Surroundings& around) {
    const std::string chosen = around.env("MUSTER_PYTHON");
    const std::string name = chosen.empty() ? "python3" : chosen;
    std::string found = around.find_program(name);
    if (!found.empty()) return found;
    if (!chosen.empty())
        return wrong("MUSTER_PYTHON", say("there is no program {}", chosen),
                     say("set MUSTER_PYTHON to a Python that can be run, or unset it"));
    return wrong("command", say("there is no python3 in PATH"),
                 say("install it, or name one with MUSTER_PYTHON=/path/to/python"));
}

/// argv of each rank. The program and a script become absolute: nodes need not share our PATH.
Result<std::vector<std::string>> command_for(const RunFlags& flags, const std::string& workdir,
                                             const Surroundings& around) {
    if (flags.command.empty())
        return wrong("command", say("there is nothing to run"),
                     say("write: muster run [flags] -- script.py arguments"));
    std::vector<std::string> command = flags.command;
    if (is_python_script(command[0])) {
        std::string script = absolute(command[0], around.cwd);
        if (auto readable = around.can_read(script); !readable && !workdir.empty()) {
            const std::string in_workdir = absolute(command[0], workdir);
            if (in_workdir == script || !around.can_read(in_workdir)) return fail(readable.error());
            script = in_workdir;
        }
        auto python = python_for(around);
        if (!python) return fail(python.error());
        command[0] = script;
        command.insert(command.begin(), {*python, "-u"});
        return command;
    }
    const bool has_slash = command[0].find('/') != std::string::npos;
    std::string found =
        around.find_program(has_slash ? absolute(command[0], around.cwd) : command[0]);
    if (found.empty())
        return wrong("command", say("there is no program {}", command[0]),
                     has_slash ? say("check the path and that the file may be executed")
                               : say("it is not in PATH: give its path"));
    command[0] = std::move(found);
    return command;
}

Result<std::map<std::string, std::string>> env_for(const RunFlags& flags,
                                                   const Surroundings& around) {
    std::map<std::string, std::string> env;
    for (const auto& item : flags.env) {
        const auto equals = item.find('=');
        if (equals == 0)
            return wrong("env", say("\"{}\" has no name", item), say("write --env K=V"));
        const std::string key = item.substr(0, equals);
        env[key] = equals == std::string::npos ? around.env(key) : item.substr(equals + 1);
        if (auto fine = check_text("env", say("the value of {}", key), env[key]); !fine)
            return fail(fine.error());
    }
    return env;
}

/// Bytes that JSON cannot hold would arrive changed: they are refused.
Status check_texts(const RunFlags& flags) {
    for (std::size_t i = 0; i < flags.command.size(); ++i)
        if (auto fine = check_text(
                "command",
                i == 0 ? say("the program's name")
                       : say("argument {} of {}", i, to_valid_utf8(flags.command.front())),
                flags.command[i]);
            !fine)
            return fine;
    for (const auto& item : flags.env)
        if (auto fine = check_text("env", say("a variable"), item); !fine) return fine;
    return check_text("workdir", say("the path"), flags.workdir);
}

Status set_ranks(Role& role, const RunFlags& flags) {
    if (flags.nodes < 1)
        return wrong("nodes", say("{} is out of range", flags.nodes), say("at least 1"));
    if (flags.ranks && flags.nproc_per_node)
        return wrong("ranks", say("--ranks and --nproc-per-node exclude each other"),
                     say("--ranks spreads as it fits; --nproc-per-node fixes each node's share"));
    if (flags.ranks) {
        role.ranks = *flags.ranks;
        if (flags.nodes > 1) {
            if (role.ranks % flags.nodes != 0)
                return wrong("ranks",
                             say("{} ranks do not divide over {} nodes", role.ranks, flags.nodes),
                             say("leave --nodes out to spread them as they fit"));
            role.ranks_per_node = role.ranks / flags.nodes;
        }
        return ok();
    }
    const std::int64_t per_node = flags.nproc_per_node.value_or(1);
    if (per_node < 1 || per_node > ranks_max)
        return wrong("nproc-per-node", say("{} is out of range", per_node),
                     say("give a number from 1 to {}", ranks_max));
    if (flags.nodes > ranks_max / per_node)
        return wrong("nodes", say("{} nodes of {} ranks are too many", flags.nodes, per_node),
                     say("at most {} ranks in all", ranks_max));
    role.ranks = flags.nodes * per_node;
    if (flags.nodes > 1 || flags.nproc_per_node) role.ranks_per_node = per_node;
    return ok();
}

std::string find_in_path(const std::string& name) {
    const auto runs = [](const std::string& path) {
        struct stat info{};
        return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
               access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos)
        return runs(name) ? std::filesystem::absolute(name).lexically_normal().string() : "";
    const char* path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
    while (!left.empty()) {
        const auto colon = left.find(':');
        const std::string folder(left.substr(0, colon));
        if (const std::string full = folder + "/" + name; !folder.empty() && runs(full))
            return std::filesystem::absolute(full).lexically_normal().string();
        if (colon == std::string_view::npos) break;
        left.remove_prefix(colon + 1);
    }
    return {};
}

Status readable_file(const std::string& path) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0)
        return wrong("command", say("cannot read {}: {}", path, std::strerror(errno)),
                     say("check the path; it is looked up from the current folder"));
    if (S_ISDIR(info.st_mode))
        return wrong("command", say("{} is a folder", path), say("name the script in it"));
    if (access(path.c_str(), R_OK) != 0)
        return wrong("command", say("cannot read {}: {}", path, std::strerror(errno)),
                     say("make it readable: chmod +r"));
    return ok();
}

Result<std::string> read_text(const std::string& path) {
    std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
    if (file == nullptr)
        return wrong("file", say("cannot read {}: {}", path, std::strerror(errno)));
    std::string text;
    char buffer[16 * 1024];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
        text.append(buffer, n);
        if (text.size() > spec_bytes_max) break;
    }
    const bool failed = std::ferror(file) != 0;
    const std::string why = std::strerror(errno);
    if (file != stdin) std::fclose(file);
    if (failed) return wrong("file", say("cannot read {}: {}", path, why));
    if (text.size() > spec_bytes_max)
        return wrong("file", say("{} is larger than a spec can be", path),
                     say("at most {} bytes", spec_bytes_max));
    return text;
}

} // namespace

Surroundings real_surroundings() {
    std::error_code error;
    return {.cwd = std::filesystem::current_path(error).string(),
            .env =
                [](const std::string& name) {
                    const char* value = std::getenv(name.c_str());
                    return std::string(value == nullptr ? "" : value);
                },
            .find_program = find_in_path,
            .can_read = readable_file};
}

Result<WorkloadSpec> spec_from_flags(const RunFlags& flags, const Surroundings& around) {
    if (auto fine = check_texts(flags); !fine) return fail(fine.error());
    WorkloadSpec spec;
    if (!flags.name.empty()) spec.name = WorkloadName{flags.name};
    spec.priority = flags.priority;
    spec.workdir = flags.workdir.empty() ? around.cwd : absolute(flags.workdir, around.cwd);
    if (flags.restarts) spec.restarts.per_ten_minutes = *flags.restarts;
    if (flags.restarts_per_day) spec.restarts.per_day = *flags.restarts_per_day;
    if (!flags.grace.empty()) {
        auto grace = parse_duration(flags.grace);
        if (!grace) return wrong("grace", grace.error().message, grace.error().hint);
        spec.stop_grace = *grace;
    }
    if (!flags.early_exit.empty()) {
        auto limit = parse_duration(flags.early_exit);
        if (!limit) return wrong("early-exit", limit.error().message, limit.error().hint);
        spec.early_exit_limit = *limit;
    }
    Role role;
    role.devices_per_rank = flags.devices_per_rank;
    if (auto set = set_ranks(role, flags); !set) return fail(set.error());
    auto command = command_for(flags, spec.workdir, around);
    if (!command) return fail(command.error());
    role.command = std::move(*command);
    auto env = env_for(flags, around);
    if (!env) return fail(env.error());
    role.env = std::move(*env);
    spec.roles.push_back(std::move(role));
    return checked_spec(std::move(spec));
}

Result<WorkloadSpec> spec_from_file(const std::string& path) {
    auto text = read_text(path);
    if (!text) return fail(text.error());
    const auto first = text->find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return wrong("file", say("{} is empty", path));
    const bool json = path.ends_with(".json") || (*text)[first] == '{';
    auto spec =
        json ? codec::from_json<WorkloadSpec>(*text) : codec::from_yaml<WorkloadSpec>(*text);
    if (!spec) {
        Error error = spec.error();
        error.message = (path == "-" ? say("standard input") : path) + ": " + error.message;
        return fail(std::move(error));
    }
    return checked_spec(std::move(*spec));
}

} // namespace muster::cli
