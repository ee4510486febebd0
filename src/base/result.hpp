#pragma once
// Result<T> = a value or an Error. Operating errors travel as values; programmer errors stop the
// process (require.hpp). A dozen codes, the same inside and on the wire.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

enum class Code {
    invalid_argument,    // the caller's input is wrong; retrying the same input cannot succeed
    not_found,           // the named thing does not exist
    already_exists,      // the name is taken, or a token was used for another request
    failed_precondition, // right input, wrong state of the system
    permission_denied,   // the principal may not do this
    unauthenticated,     // no token or a wrong one
    resource_exhausted,  // a limit was reached (queue, quota, disk)
    unavailable,         // try again later: nothing happened
    deadline_exceeded,   // the wait ended before the outcome
    unknown_outcome,     // it may have happened: read before a retry
    data_loss,           // stored data is broken
    internal,            // a bug of ours or of the machine
};

/// Canonical lower-case name, equal to the one on the wire.
std::string_view code_name(Code code);

/// True where the same request may succeed later without a change by the caller.
bool code_retryable(Code code);

/// What happened, the likely cause and what to do. `field` names the input at fault (may be empty).
struct Error {
    Code code = Code::internal;
    std::string message; // what happened, one sentence
    std::string hint;    // what to do about it; may be empty
    std::string field;   // path of the input at fault ("roles[0].ranks"); may be empty

    friend bool operator==(const Error&, const Error&) = default;
};

/// One line for people: "message (hint)".
std::string to_text(const Error& error);

template <class T>
using Result = tl::expected<T, Error>;

struct Unit {
    friend bool operator==(const Unit&, const Unit&) = default;
};
using Status = Result<Unit>;

inline Status ok() { return Unit{}; }

inline tl::unexpected<Error> fail(Code code, std::string message, std::string hint = {},
                                  std::string field = {}) {
    return tl::make_unexpected(Error{code, std::move(message), std::move(hint), std::move(field)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::make_unexpected(std::move(error)); }

} // namespace muster
