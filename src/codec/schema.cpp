#include "codec/schema.hpp"

#include "base/require.hpp"
#include "codec/json.hpp"
#include "codec/scalar.hpp"

namespace muster::codec {
namespace {

std::string enumeration(const Shape& shape) {
    std::string names;
    for (const auto& value : shape.values)
        names += (names.empty() ? "" : ",") + json_string(value.name);
    return R"({"type":"string","enum":[)" + names + "]}";
}

std::string integer(const Shape& shape) {
    if (shape.size == 8 && shape.is_signed) return R"({"type":"integer","format":"int64"})";
    const IntegerRange range = integer_range(shape);
    return R"({"type":"integer","minimum":)" + std::to_string(range.low) + R"(,"maximum":)" +
           std::to_string(range.high) + "}";
}

} // namespace

std::string Schemas::reference(const Shape& shape) {
    const std::string name(shape.name);
    const auto [at, fresh] = known_.try_emplace(name, Known{&shape, {}});
    REQUIRE(at->second.shape == &shape, "two types of one name in one set of schemas");
    if (fresh) { // entered before it is written: types may hold themselves
        std::string schema =
            shape.kind == Kind::enumeration ? enumeration(shape) : record(shape, false);
        known_.find(name)->second.schema = std::move(schema);
    }
    return R"({"$ref":"#/components/schemas/)" + name + "\"}";
}

std::string Schemas::record(const Shape& shape, bool tagged) {
    std::string properties;
    std::string required;
    if (tagged) {
        properties = R"("tag":{"type":"string","enum":[)" + json_string(shape.name) + "]}";
        required = "\"tag\"";
    }
    for (const auto& member : shape.members) {
        properties +=
            (properties.empty() ? "" : ",") + json_string(member.name) + ":" + use(*member.shape);
        if (member.required) required += (required.empty() ? "" : ",") + json_string(member.name);
    }
    std::string text = R"({"type":"object","properties":{)" + properties + "}";
    if (!required.empty()) text += R"(,"required":[)" + required + "]";
    return text + "}";
}

std::string Schemas::variant(const Shape& shape) {
    std::string cases;
    for (const Shape* held : shape.cases) cases += (cases.empty() ? "" : ",") + record(*held, true);
    return R"({"oneOf":[)" + cases + R"(],"discriminator":{"propertyName":"tag"}})";
}

std::string Schemas::use(const Shape& shape) {
    switch (shape.kind) {
    case Kind::boolean: return R"({"type":"boolean"})";
    case Kind::integer: return integer(shape);
    case Kind::floating: return R"({"type":"number","format":"double"})";
    case Kind::string: return R"({"type":"string"})";
    case Kind::duration:
        return R"({"type":"string","description":"a duration: 250ms, 90s, 1h30m"})";
    case Kind::instant: return R"({"type":"string","format":"date-time"})";
    case Kind::id: return R"({"type":"string","description":"an id of 26 characters"})";
    case Kind::name:
        return R"({"type":"string","maxLength":63,"pattern":"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"})";
    case Kind::optional: return use(*shape.element);
    case Kind::list: return R"({"type":"array","items":)" + use(*shape.element) + "}";
    case Kind::map:
        return R"({"type":"object","additionalProperties":)" + use(*shape.element) + "}";
    case Kind::variant: return variant(shape);
    case Kind::enumeration:
    case Kind::record: return reference(shape);
    }
    return "{}";
}

std::string Schemas::components() const {
    std::string all;
    for (const auto& [name, known] : known_)
        all += (all.empty() ? "" : ",") + json_string(name) + ":" + known.schema;
    return "{" + all + "}";
}

} // namespace muster::codec
