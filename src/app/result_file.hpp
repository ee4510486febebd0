#pragma once
// ResultFile: <attempt dir>/result.json, the launcher's last word. Its room is taken at the start,
// so that a job that fills the disk and succeeds has succeeded.

#include "io/posix/reserved_file.hpp"
#include "model/orders.hpp"

#include <optional>

namespace muster::app {

inline constexpr std::size_t result_bytes_reserved = 128 * 1024;

class ResultFile {
  public:
    explicit ResultFile(const std::string& attempt_dir) : path_(attempt_dir + "/result.json") {}

    /// At the launcher's start. Without room the result is written as any other file.
    Status reserve();
    /// What does not fit on a full disk is left out: first what ranks printed, then the summaries
    /// of older generations. The outcome and its cause are always there.
    Status write(const LauncherResult& result);

  private:
    Status put(const LauncherResult& result);

    std::string path_;
    std::optional<io::ReservedFile> reserved_;
};

} // namespace muster::app
