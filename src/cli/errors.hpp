#pragma once
// Errors to people, on standard error: "error: what (field) - hint".

#include "base/result.hpp"
#include "cli/exit_codes.hpp"

namespace muster::cli {

std::string error_line(const Error& error);
/// Prints it and gives the code to exit with.
int report_error(const Error& error);

} // namespace muster::cli
