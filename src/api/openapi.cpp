// The OpenAPI 3.0 document, written from the table of routes and the described types.

#include "api/route.hpp"

#include "codec/json.hpp"
#include "codec/schema.hpp"
#include "model/describe.hpp"

#include <fmt/format.h>

namespace muster::api {
namespace {

using codec::json_string;

std::string type_of(const Parameter& parameter) {
    switch (parameter.type) {
    case ParameterType::integer:
        if (parameter.max == std::numeric_limits<std::int64_t>::max())
            return fmt::format(R"({{"type":"integer","format":"int64","minimum":{}}})",
                               parameter.min);
        return fmt::format(R"({{"type":"integer","format":"int64","minimum":{},"maximum":{}}})",
                           parameter.min, parameter.max);
    case ParameterType::boolean: return R"({"type":"boolean"})";
    case ParameterType::duration: return R"({"type":"string","example":"30s"})";
    case ParameterType::text: break;
    }
    return R"({"type":"string"})";
}

void append_item(std::string& list, const std::string& item) {
    if (!list.empty()) list += ',';
    list += item;
}

std::string parameters_of(const Route& route) {
    std::string list;
    for (std::string_view rest = route.pattern;;) {
        const std::size_t open = rest.find('{');
        if (open == std::string_view::npos) break;
        const std::size_t close = rest.find('}', open);
        append_item(list, fmt::format(R"({{"name":{},"in":"path","required":true,)"
                                      R"("schema":{{"type":"string"}}}})",
                                      json_string(rest.substr(open + 1, close - open - 1))));
        rest.remove_prefix(close + 1);
    }
    for (const auto& parameter : route.query)
        append_item(list, fmt::format(R"({{"name":{},"in":"query","description":{},"schema":{}}})",
                                      json_string(parameter.name), json_string(parameter.summary),
                                      type_of(parameter)));
    if (route.id == "submitWorkload")
        append_item(list, R"({"name":"Client-Token","in":"header","schema":{"type":"string"},)"
                          R"("description":"the same token gives the same answer"})");
    if (route.id == "streamEvents")
        append_item(list, R"({"name":"Last-Event-ID","in":"header","schema":{"type":"string"},)"
                          R"("description":"number of the last event seen"})");
    return list;
}

std::string operation_of(const Route& route, codec::Schemas& schemas) {
    std::string out = fmt::format(R"("{}":{{"operationId":{},"summary":{},"parameters":[{}])",
                                  route.method == "GET" ? "get" : "post", json_string(route.id),
                                  json_string(route.summary), parameters_of(route));
    if (route.request != nullptr) {
        const std::string schema = schemas.use(*route.request);
        out += fmt::format(R"(,"requestBody":{{"content":{{"application/json":{{"schema":{}}})",
                           schema);
        if (route.id == "submitWorkload")
            out += fmt::format(R"(,"application/yaml":{{"schema":{}}})", schema);
        out += "}}";
    }
    const std::string schema =
        route.response != nullptr ? schemas.use(*route.response) : R"({"type":"string"})";
    const std::string good =
        fmt::format(R"({{"description":{},"content":{{"{}":{{"schema":{}}}}}}})",
                    json_string(route.summary), route.content_type, schema);
    out += fmt::format(R"(,"responses":{{"200":{})", good);
    if (route.id == "submitWorkload") out += fmt::format(R"(,"201":{})", good);
    out += R"(,"default":{"$ref":"#/components/responses/Error"}})";
    std::string security;
    for (const Principal principal : route.allowed)
        if (principal != Principal::anyone)
            append_item(security, fmt::format(R"({{"{}Token":[]}})", principal_name(principal)));
    out += fmt::format(R"(,"security":[{}]}})", security);
    return out;
}

constexpr std::string_view error_schema =
    R"({"type":"object","required":["code","message","field","hint","retryable"],"properties":{)"
    R"("code":{"type":"string"},"message":{"type":"string"},"field":{"type":"string"},)"
    R"("hint":{"type":"string"},"retryable":{"type":"boolean"}}})";

} // namespace

std::string openapi(std::string_view version) {
    codec::Schemas schemas;
    std::string paths;
    std::string pattern;
    for (const auto& route : routes()) {
        const std::string operation = operation_of(route, schemas);
        if (pattern == route.pattern) { // a path with several methods stands in sequence
            paths.pop_back();
            paths += "," + operation + "}";
            continue;
        }
        pattern = std::string(route.pattern);
        append_item(paths, json_string(pattern) + ":{" + operation + "}");
    }
    std::string components = schemas.components();
    const bool empty = components == "{}";
    components.insert(1, fmt::format(R"("Error":{}{})", error_schema, empty ? "" : ","));
    return fmt::format(
        R"({{"openapi":"3.0.3","info":{{"title":"Muster","version":{}}},"paths":{{{}}},)"
        R"("components":{{"schemas":{},"responses":{{"Error":{{"description":"what went wrong, )"
        R"(and what to do","content":{{"application/json":{{"schema":)"
        R"({{"$ref":"#/components/schemas/Error"}}}}}}}}}},"securitySchemes":{{)"
        R"("userToken":{{"type":"http","scheme":"bearer"}},)"
        R"("nodeToken":{{"type":"http","scheme":"bearer"}}}}}}}})",
        json_string(version), paths, components);
}

} // namespace muster::api
