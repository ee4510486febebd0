#pragma once
// Whole files: bounded reads, and writes that a reader sees whole or not at all.

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::io {

inline constexpr std::size_t file_bytes_max = 64U * 1024 * 1024;

/// The error of a failed system call: "cannot <what> <path>: <errno text>", code by errno.
Error errno_error(int error, std::string_view what, std::string_view path);
/// "No such file or directory" and the like, thread-safe.
std::string errno_text(int error);

Result<std::string> read_file(const std::string& path, std::size_t bytes_max = file_bytes_max);

/// Writes to a temporary name in the same folder and renames; mode as given. No fsync: it survives
/// the process, not the machine.
Status write_file_atomically(const std::string& path, std::string_view text, unsigned mode = 0644);

/// mkdir -p.
Status make_directories(const std::string& path, unsigned mode = 0755);

} // namespace muster::io
