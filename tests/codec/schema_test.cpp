#include "codec/json.hpp"
#include "codec/schema.hpp"
#include "model/facts.hpp"

#include <gtest/gtest.h>

namespace muster::codec {
namespace {

TEST(Schema, RefersByTypeName) {
    Schemas schemas;
    EXPECT_EQ(schemas.use<std::vector<Role>>(),
              R"({"type":"array","items":{"$ref":"#/components/schemas/Role"}})");
    schemas.use<WorkloadSpec>();
    const std::string all = schemas.components();
    EXPECT_EQ(all.find("::"), std::string::npos);
    EXPECT_NE(all.find(R"("WorkloadKind":{"type":"string","enum":["job"]})"), std::string::npos)
        << all;
    EXPECT_NE(all.find(R"("required":["command"])"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("restarts":{"$ref":"#/components/schemas/RestartPolicy"})"),
              std::string::npos);
}

TEST(Schema, VariantsSayTheirTag) {
    Schemas schemas;
    schemas.use<FactRecord>();
    EXPECT_NE(schemas.components().find(R"("tag":{"type":"string","enum":["NodeJoined"]})"),
              std::string::npos);
}

} // namespace
} // namespace muster::codec
