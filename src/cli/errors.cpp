#include "cli/errors.hpp"

#include "cli/messages.hpp"
#include "cli/terminal.hpp"

#include <cstdio>

namespace muster::cli {

ExitCode exit_code_of(const Error& error) {
    switch (error.code) {
    case Code::invalid_argument: return exit_usage;
    case Code::not_found: return exit_not_found;
    case Code::already_exists:
    case Code::failed_precondition:
    case Code::permission_denied:
    case Code::unauthenticated:
    case Code::resource_exhausted: return exit_refused;
    case Code::unavailable:
    case Code::unknown_outcome: return exit_unreachable;
    case Code::deadline_exceeded: return exit_timeout;
    case Code::data_loss: return exit_broken_data;
    case Code::internal: return exit_error;
    }
    return exit_error;
}

std::string error_line(const Error& error) {
    std::string line = error.message;
    // The path is often part of the message already ("roles[0].rank: unknown key").
    if (!error.field.empty() && line.find(error.field) == std::string::npos)
        line += " (" + error.field + ")";
    if (!error.hint.empty()) line += " - " + error.hint;
    return line;
}

int report_error(const Error& error) {
    const Terminal terminal = look_at_terminal(2, false);
    std::fflush(stdout);
    std::fprintf(stderr, "%s %s\n", styled(terminal, Style::red, say("error:")).c_str(),
                 error_line(error).c_str());
    return exit_code_of(error);
}

} // namespace muster::cli
