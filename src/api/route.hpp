#pragma once
// Route: one operation of the REST interface. The table of all of them (routes.cpp) is the one
// source of dispatch and of OpenAPI; docs/api.md is checked against it.

#include "api/answer.hpp"
#include "codec/shape.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::api {

class Rest;

enum class Principal { anyone, user, node };
std::string_view principal_name(Principal principal);

enum class ParameterType { text, integer, boolean, duration };

struct Parameter {
    std::string_view name;
    ParameterType type = ParameterType::text;
    std::string_view summary;
    std::int64_t max = std::numeric_limits<std::int64_t>::max(); // integers outside of [min, max]
    std::int64_t min = 0;                                        // are refused
};

/// One request on its way to a handler: matched, authorised, its query checked against the table.
struct Call {
    const struct Route& route;
    http::HttpRequest request;
    Answer answer;
    Principal principal = Principal::anyone;
    std::map<std::string, std::string> path; // by name: {"job", "charlm"}

    std::string text(const std::string& name) const;
    std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
    bool flag(const std::string& name) const;
    Duration duration(const std::string& name, Duration otherwise) const;
};

using Handler = void (*)(Rest& rest, Call& call);

struct Route {
    std::string_view method;
    std::string_view pattern; // "/v1/workloads/{job}:cancel"
    std::string_view id;      // operationId
    std::vector<Principal> allowed;
    std::vector<Parameter> query;
    const codec::Shape* request = nullptr;  // of the body; null: none
    const codec::Shape* response = nullptr; // null: text, see content_type
    std::string_view content_type = "application/json";
    std::string_view summary;
    Handler handler = nullptr;
};

/// All operations, in the order of the documentation.
std::span<const Route> routes();

/// The path's parameters where it fits the pattern.
bool match(std::string_view pattern, std::string_view path,
           std::map<std::string, std::string>& out);

/// Every query parameter is known, of its type and within its limit.
Status check_query(const Route& route, const http::HttpRequest& request);

/// The whole document of /openapi.json.
std::string openapi(std::string_view version);

} // namespace muster::api
