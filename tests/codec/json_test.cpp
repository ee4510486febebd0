#include "codec/json.hpp"
#include "model/facts.hpp"
#include "model/orders.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster::codec {
namespace {

WorkloadSpec small_spec() {
    WorkloadSpec spec;
    spec.name = WorkloadName{"charlm"};
    Role role;
    role.command = {"python3", "train.py"};
    role.env["A"] = "b\n\"c\"";
    spec.roles.push_back(role);
    return spec;
}

TEST(Json, WritesASpecForPeople) {
    EXPECT_EQ(
        to_json(small_spec()),
        R"({"name":"charlm","kind":"job","priority":50,"workdir":"","roles":[{"name":"worker",)"
        R"("ranks":1,"devices_per_rank":1,"command":["python3","train.py"],)"
        R"("env":{"A":"b\n\"c\""}}],"restarts":{"per_ten_minutes":3,"per_day":20},)"
        R"("stop_grace":"15s","early_exit_limit":"10m"})");
    EXPECT_EQ(from_json<WorkloadSpec>(to_json(small_spec())).value(), small_spec());
}

TEST(Json, ExactStyleKeepsNanoseconds) {
    const NodeSample sample{.at = Instant{1'700'000'000'123'456'789}};
    EXPECT_EQ(from_json<NodeSample>(to_json(sample, Style::exact)).value(), sample);
    EXPECT_NE(to_json(sample).find("\"2023-11-14T22:13:20.123Z\""), std::string::npos);
}

TEST(Json, VariantsHaveATag) {
    const WorkloadForgotten fact{WorkloadId::make(Instant{0}, 1, 2)};
    const FactRecord record{.sequence = 7, .at = Instant{5}, .actor = "user:root", .fact = fact};
    const std::string text = to_json(record, Style::exact);
    EXPECT_NE(text.find(R"("fact":{"tag":"WorkloadForgotten","id":")"), std::string::npos) << text;
    EXPECT_EQ(from_json<FactRecord>(text).value(), record);
}

std::string error_of(std::string_view text) {
    auto spec = from_json<WorkloadSpec>(text);
    return spec ? "accepted" : to_text(spec.error());
}

TEST(Json, ErrorsNameThePlace) {
    EXPECT_EQ(error_of(R"({"roles":[{"command":["a"],"rnks":2}]})"),
              "roles[0].rnks: unknown key (did you mean \"ranks\"?)");
    EXPECT_EQ(error_of(R"({"roles":[{"ranks":2}]})"), "roles[0].command: required key is missing");
    EXPECT_EQ(error_of(R"({"roles":[],"roles":[]})"),
              "roles: the key is given twice (keep one of them)");
    EXPECT_EQ(error_of(R"({"priority":1e999})").find("null"), std::string::npos);
    EXPECT_EQ(error_of(R"({"roles":[{"command":["a"],"env":{"A":"1","A":"2"}}]})"),
              "roles[0].env.A: the key is given twice (keep one of them)");
    EXPECT_EQ(error_of(R"({"roles":[],"priority":99999999999999999999})"),
              "priority: the number 1e+20 does not fit signed 64 bit");
    EXPECT_EQ(error_of(R"({"roles":[],"kind":"jbo"})"),
              "kind: \"jbo\" is not known (did you mean \"job\"?)");
    EXPECT_EQ(error_of(R"({"roles":[],"stop_grace":"5 parsecs"})").substr(0, 12), "stop_grace: ");
    EXPECT_EQ(error_of(R"({"roles":{},"priority":"high"})"),
              "roles: is an object, needs a list; priority: is the text \"high\", needs a whole "
              "number");
    EXPECT_EQ(error_of("{\n  \"roles\": [,]\n}").substr(0, 9), "not JSON:");
    EXPECT_EQ(error_of(""), "the JSON is empty");
}

TEST(Json, NumbersThatAreNone) {
    Progress progress;
    progress.loss = std::numeric_limits<double>::quiet_NaN();
    progress.metrics["up"] = std::numeric_limits<double>::infinity();
    progress.metrics["tenth"] = 0.1;
    const auto exact = from_json<Progress>(to_json(progress, Style::exact)).value();
    EXPECT_TRUE(std::isnan(exact.loss));
    EXPECT_EQ(exact.metrics, progress.metrics);
    const auto wire = from_json<Progress>(to_json(progress)).value();
    EXPECT_TRUE(std::isnan(wire.loss));
}

} // namespace
} // namespace muster::codec
