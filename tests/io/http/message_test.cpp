#include "io/http/message.hpp"

#include <gtest/gtest.h>

namespace muster::http {
namespace {

TEST(DecodeTarget, SplitsAndDecodes) {
    HttpRequest request;
    ASSERT_TRUE(decode_target("/v1/events?after=12&q=a%20b+c&flag&e=", request));
    EXPECT_EQ(request.path, "/v1/events");
    const std::map<std::string, std::string> expected = {
        {"after", "12"}, {"q", "a b c"}, {"flag", ""}, {"e", ""}};
    EXPECT_EQ(request.query, expected);
}

TEST(DecodeTarget, RefusesWhatIsNoTarget) {
    for (const char* bad : {"", "v1", "http://host/v1", "/%", "/%2", "/%zz", "/a%00b", "/x?a=%0a",
                            "/x?a=1&a=2", "*"}) {
        HttpRequest request;
        const auto done = decode_target(bad, request);
        ASSERT_FALSE(done) << bad;
        EXPECT_EQ(done.error().code, Code::invalid_argument) << bad;
        EXPECT_FALSE(done.error().message.empty());
    }
}

TEST(EncodeComponent, ComesBackWhole) {
    std::string all;
    for (int c = 0x20; c < 0x7f; ++c) all += static_cast<char>(c);
    all += "\xc3\xa9";
    HttpRequest request;
    ASSERT_TRUE(decode_target("/x?key=" + encode_component(all), request));
    EXPECT_EQ(request.query["key"], all);
}

TEST(ErrorBody, SaysEverythingAndComesBack) {
    const Error error{Code::invalid_argument, "a \"bad\"\nline", "write\tbetter \\", "roles[0]"};
    const auto response = error_response(error);
    EXPECT_EQ(response.status, 400);
    for (const char* part :
         {"\"code\":\"invalid_argument\"", "\"field\":\"roles[0]\"", "\"retryable\":false"})
        EXPECT_NE(response.body.find(part), std::string::npos) << response.body;
    EXPECT_EQ(error_of(response), error);
}

TEST(ErrorBody, ReadsAnswersThatAreNotOurs) {
    HttpResponse response;
    response.status = 503;
    response.body = "<html>busy</html>";
    EXPECT_EQ(error_of(response).code, Code::unavailable);
    response.status = 404;
    response.body = "{\"code\": 7}";
    EXPECT_EQ(error_of(response).code, Code::not_found);
    response.body = "";
    EXPECT_NE(error_of(response).message.find("404"), std::string::npos);
}

TEST(ErrorResponse, TellsWhenToComeBack) {
    EXPECT_EQ(error_response({Code::unavailable, "x", {}, {}}).headers.count("Retry-After"), 1u);
    EXPECT_EQ(error_response({Code::not_found, "x", {}, {}}).headers.count("Retry-After"), 0u);
    EXPECT_EQ(
        error_response({Code::unauthenticated, "x", {}, {}}).headers.count("WWW-Authenticate"), 1u);
}

} // namespace
} // namespace muster::http
