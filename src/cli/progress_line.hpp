#pragma once
// The one line that tells how a job is doing.

#include "cli/terminal.hpp"
#include "model/views.hpp"

#include <string>

namespace muster::cli {

/// "charlm  42 %  step 420/1000  loss 2.134  1,210 samples/s  ETA 1 min 20 s  1 restart", fitted to
/// the terminal's width; on a wide terminal with a bar. `now` is for the time in a queue.
std::string progress_line(const Terminal& terminal, const WorkloadView& job, Instant now);

/// From its start on, a job may stay silent so long before it is said that nothing is reported.
inline constexpr Duration silent_start = Duration::seconds(60);

/// "42 %", "step 12", "not reported", or empty before it runs.
std::string progress_cell(const WorkloadView& job, Instant now);
/// The condition while it runs, else the phase.
std::string state_word(const WorkloadView& job);
Style state_style(const WorkloadView& job);
/// The loss with four significant digits; counts with separators, or 12.3k where large.
std::string loss_text(double loss);
std::string rate_text(double per_second);
std::string grouped(std::int64_t number); // 1,234,567
std::string eta_text(Duration eta);       // empty where it is not known

} // namespace muster::cli
