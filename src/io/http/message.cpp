#include "io/http/message.hpp"

#include "codec/json.hpp"
#include "model/describe.hpp"

namespace muster::http {
namespace {

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// `plus_is_space`: in queries "+" stands for a space.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return fail(Code::invalid_argument, "the URL has a \"%\" without two hex digits",
                            "write a literal % as %25");
            c = static_cast<char>(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (is_control(c)) return fail(Code::invalid_argument, "the URL holds a control character");
        out += c;
    }
    return out;
}

Status decode_query(std::string_view query, HttpRequest& request) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        auto key = percent_decode(pair.substr(0, equals), true);
        if (!key) return fail(key.error());
        auto value = percent_decode(
            equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1), true);
        if (!value) return fail(value.error());
        const auto [place, fresh] = request.query.emplace(std::move(*key), std::move(*value));
        if (!fresh)
            return fail(Code::invalid_argument,
                        "query parameter \"" + place->first + "\" is given twice", "give it once",
                        place->first);
    }
    return ok();
}

struct ErrorBody {
    std::string code;
    std::string message;
    std::string field;
    std::string hint;
    bool retryable = false;
};
MUSTER_DESCRIBE(ErrorBody, code, message, field, hint, retryable)
MUSTER_REQUIRED(ErrorBody, "code", "message")

Code code_of(int status) {
    switch (status) {
    case 401: return Code::unauthenticated;
    case 403: return Code::permission_denied;
    case 404: return Code::not_found;
    case 409: return Code::already_exists;
    case 429: return Code::resource_exhausted;
    case 503: return Code::unavailable;
    case 504: return Code::deadline_exceeded;
    default: return status >= 500 ? Code::internal : Code::invalid_argument;
    }
}

} // namespace

std::string_view status_text(int status) {
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Payload Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
    }
}

Status decode_target(std::string_view target, HttpRequest& request) {
    target = target.substr(0, target.find('#'));
    const std::size_t mark = target.find('?');
    if (target.empty() || target[0] != '/')
        return fail(Code::invalid_argument, "the request's target is not a path",
                    "ask for a path such as /v1/nodes");
    auto path = percent_decode(target.substr(0, mark), false);
    if (!path) return fail(path.error());
    request.path = std::move(*path);
    if (mark == std::string_view::npos) return ok();
    return decode_query(target.substr(mark + 1), request);
}

std::string encode_component(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            out += c;
        } else {
            out += '%';
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    return out;
}

std::string error_body(const Error& error) {
    const ErrorBody body{std::string(code_name(error.code)), error.message, error.field, error.hint,
                         code_retryable(error.code)};
    return codec::to_json(body) + '\n';
}

int status_of(Code code) {
    switch (code) {
    case Code::invalid_argument: return 400;
    case Code::not_found: return 404;
    case Code::already_exists: return 409;
    case Code::failed_precondition: return 412;
    case Code::permission_denied: return 403;
    case Code::unauthenticated: return 401;
    case Code::resource_exhausted: return 429;
    case Code::unavailable: return 503;
    case Code::deadline_exceeded: return 504;
    case Code::unknown_outcome: return 503;
    case Code::data_loss: return 500;
    case Code::internal: return 500;
    }
    return 500;
}

HttpResponse error_response(const Error& error) {
    HttpResponse response;
    response.status = status_of(error.code);
    response.body = error_body(error);
    if (error.code == Code::unavailable || error.code == Code::resource_exhausted)
        response.headers["Retry-After"] = std::to_string(retry_after.ns / 1'000'000'000);
    if (response.status == 401) response.headers["WWW-Authenticate"] = "Bearer";
    return response;
}

Error error_of(const HttpResponse& response) {
    const auto body = codec::from_json<ErrorBody>(response.body, codec::UnknownKeys::ignore);
    if (body)
        for (int i = 0; i <= static_cast<int>(Code::internal); ++i)
            if (const auto code = static_cast<Code>(i); code_name(code) == body->code)
                return {code, body->message, body->hint, body->field};
    return {code_of(response.status),
            "the server answered " + std::to_string(response.status) + " " +
                std::string(status_text(response.status)),
            {},
            {}};
}

} // namespace muster::http
