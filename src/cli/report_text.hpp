#pragma once
// The text of `muster why` and `muster report`.

#include "cli/terminal.hpp"
#include "model/views.hpp"

#include <string>

namespace muster::cli {

std::string why_text(const WhyView& why, const Terminal& terminal);
std::string report_text(const ReportView& report, const Terminal& terminal);
/// "97.31 %" of parts per million, exact to two digits.
std::string share_text(std::int64_t per_million);

} // namespace muster::cli
