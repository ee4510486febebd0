#pragma once
// From the flags of `muster run` to a spec, and from a file or standard input.

#include "cli/flags.hpp"
#include "model/workload.hpp"

#include <functional>
#include <string>

namespace muster::cli {

/// What the caller's process has, as values: tests give their own.
struct Surroundings {
    std::string cwd;
    std::function<std::string(const std::string&)> env; // empty where unset
    /// The first executable of that name in PATH, absolute; empty where there is none.
    std::function<std::string(const std::string&)> find_program;
    std::function<Status(const std::string&)> can_read;
};
Surroundings real_surroundings();

/// Checked: missing scripts and interpreters are refused here, before anything is submitted.
Result<WorkloadSpec> spec_from_flags(const RunFlags& flags, const Surroundings& around);

/// JSON or YAML by the file's name, else by its first character. `path` "-" reads standard input.
Result<WorkloadSpec> spec_from_file(const std::string& path);

} // namespace muster::cli
