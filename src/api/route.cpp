#include "api/route.hpp"

#include "base/text.hpp"

#include <charconv>

namespace muster::api {
namespace {

/// The text up to a separator, which is taken away too.
std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

bool match_segment(std::string_view pattern, std::string_view segment,
                   std::map<std::string, std::string>& out) {
    if (pattern.empty() || pattern.front() != '{') return pattern == segment;
    const std::size_t close = pattern.find('}');
    const std::string_view verb = pattern.substr(close + 1); // "" or ":cancel"
    const std::size_t colon = segment.find(':');
    const std::string_view given = colon == std::string_view::npos ? "" : segment.substr(colon);
    if (given != verb) return false;
    const std::string_view value = segment.substr(0, colon);
    if (value.empty()) return false;
    out[std::string(pattern.substr(1, close - 1))] = std::string(value);
    return true;
}

bool parse_integer(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

Status check_value(const Parameter& parameter, const std::string& value) {
    const auto wrong = [&](const std::string& must) {
        return fail(Code::invalid_argument,
                    "query parameter \"" + std::string(parameter.name) + "\" is \"" +
                        to_valid_utf8(value) + "\", but must be " + must,
                    std::string(parameter.summary), std::string(parameter.name));
    };
    std::int64_t number = 0;
    switch (parameter.type) {
    case ParameterType::text: return ok();
    case ParameterType::boolean:
        if (value == "true" || value == "false" || value.empty()) return ok();
        return wrong("true or false");
    case ParameterType::duration:
        if (const auto parsed = parse_duration(value); parsed && parsed->ns >= 0) return ok();
        return wrong("a duration such as 30s");
    case ParameterType::integer:
        if (!parse_integer(value, number)) return wrong("a whole number, not negative");
        if (number > parameter.max) return wrong("at most " + std::to_string(parameter.max));
        if (number < parameter.min) return wrong("at least " + std::to_string(parameter.min));
        return ok();
    }
    return ok();
}

} // namespace

std::string_view principal_name(Principal principal) {
    switch (principal) {
    case Principal::anyone: return "anyone";
    case Principal::user: return "user";
    case Principal::node: return "node";
    }
    return "";
}

std::string Call::text(const std::string& name) const {
    const auto found = request.query.find(name);
    return found == request.query.end() ? "" : found->second;
}

std::int64_t Call::integer(const std::string& name, std::int64_t otherwise) const {
    std::int64_t value = 0;
    return parse_integer(text(name), value) ? value : otherwise;
}

bool Call::flag(const std::string& name) const {
    const auto found = request.query.find(name);
    return found != request.query.end() && found->second != "false";
}

Duration Call::duration(const std::string& name, Duration otherwise) const {
    const auto parsed = parse_duration(text(name));
    return parsed ? *parsed : otherwise;
}

bool match(std::string_view pattern, std::string_view path,
           std::map<std::string, std::string>& out) {
    out.clear();
    while (!pattern.empty() || !path.empty()) {
        if (pattern.empty() || path.empty()) return false;
        if (!match_segment(take_until(pattern, '/'), take_until(path, '/'), out)) return false;
    }
    return true;
}

Status check_query(const Route& route, const http::HttpRequest& request) {
    for (const auto& [name, value] : request.query) {
        const Parameter* known = nullptr;
        std::vector<std::string> names;
        for (const auto& parameter : route.query) {
            if (parameter.name == name) known = &parameter;
            names.emplace_back(parameter.name);
        }
        if (known == nullptr) {
            const std::string close = nearest(name, names);
            std::string all = names.empty() ? "this operation has none" : "known are:";
            for (const auto& each : names) all += " " + each;
            return fail(Code::invalid_argument,
                        "query parameter \"" + to_valid_utf8(name) + "\" is not known",
                        close.empty() ? all : "did you mean \"" + close + "\"?",
                        to_valid_utf8(name));
        }
        if (auto checked = check_value(*known, value); !checked) return checked;
    }
    return ok();
}

} // namespace muster::api
