#include "base/result.hpp"

namespace muster {

std::string_view code_name(Code code) {
    switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::already_exists: return "already_exists";
    case Code::failed_precondition: return "failed_precondition";
    case Code::permission_denied: return "permission_denied";
    case Code::unauthenticated: return "unauthenticated";
    case Code::resource_exhausted: return "resource_exhausted";
    case Code::unavailable: return "unavailable";
    case Code::deadline_exceeded: return "deadline_exceeded";
    case Code::unknown_outcome: return "unknown_outcome";
    case Code::data_loss: return "data_loss";
    case Code::internal: return "internal";
    }
    return "internal";
}

bool code_retryable(Code code) {
    return code == Code::unavailable || code == Code::deadline_exceeded ||
           code == Code::resource_exhausted;
}

std::string to_text(const Error& error) {
    std::string text = error.field.empty() ? error.message : error.field + ": " + error.message;
    if (!error.hint.empty()) text += " (" + error.hint + ")";
    return text;
}

} // namespace muster
