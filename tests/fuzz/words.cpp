// Short texts that people and programs give: durations, times, ids, names, addresses, URLs, request
// targets, lists of ranks.

#include "app/server_state.hpp"
#include "base/id.hpp"
#include "base/text.hpp"
#include "cli/log_lines.hpp"
#include "io/http/client.hpp"
#include "model/spec.hpp"
#include "round_trip.hpp"

namespace {

using namespace muster;

void times(std::string_view text) {
    if (const auto duration = parse_duration(text)) {
        const auto back = parse_duration(to_text(*duration));
        REQUIRE(back && *back == *duration, "a duration reads back");
        REQUIRE(!duration_for_people(*duration).empty(), "a duration has a text for people");
    }
    if (const auto instant = parse_instant(text)) {
        const auto back = parse_instant(to_text(*instant));
        REQUIRE(back && instant->ns - back->ns < 1'000'000 && back->ns <= instant->ns,
                "a time reads back, to the millisecond");
    }
}

void names(std::string_view text) {
    if (const auto id = raw_id_from_text(text)) {
        const auto back = raw_id_from_text(raw_id_to_text(*id));
        REQUIRE(back && *back == *id, "an id reads back");
    }
    if (const auto node = parse_node_name(std::string(text)))
        REQUIRE(is_dns_label(node->text), "a node's name is a label");
    const std::string valid = to_valid_utf8(text);
    REQUIRE(to_valid_utf8(valid) == valid, "valid text stays as it is");
}

void places(const std::string& text) {
    if (const auto listen = app::parse_listen(text)) {
        const bool six = listen->address.find(':') != std::string::npos;
        const auto back = app::parse_listen((six ? "[" + listen->address + "]" : listen->address) +
                                            ":" + std::to_string(listen->port));
        REQUIRE(back && back->address == listen->address && back->port == listen->port,
                "an address to listen on reads back");
    }
    static_cast<void>(http::HttpClient::make(text));
    http::HttpRequest request;
    if (http::decode_target(text, request)) {
        std::string target;
        for (const char c : request.path)
            target += c == '/' ? "/" : http::encode_component(std::string_view(&c, 1));
        char mark = '?';
        for (const auto& [key, value] : request.query) {
            target += mark + http::encode_component(key) + "=" + http::encode_component(value);
            mark = '&';
        }
        http::HttpRequest back;
        REQUIRE(http::decode_target(target, back) && back.path == request.path &&
                    back.query == request.query,
                "a target reads back");
    }
    if (const auto ranks = cli::parse_ranks(text))
        REQUIRE(ranks->size() <= static_cast<std::size_t>(ranks_max), "as many ranks as can be");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    times(text);
    names(text);
    places(std::string(text));
    return 0;
}
