// HTTP requests as the server takes them: target, headers and body, one after the other, through
// the REST interface into a real control core, whose journal is kept and replayed. An input is a
// script; a line alone of "%%" ends an item:
//
//     user GET /v1/nodes?limit=3     or node, none: whose token is sent
//     client-token: t-1
//                                    (an empty line, then the body)
//     pass 5s                        time goes by
//     leave                          all who wait for an answer close their connection
//     restart                        the server is started anew from its journal

#include "api/rest.hpp"
#include "base/text.hpp"
#include "io/http/exchange.hpp"
#include "round_trip.hpp"
#include "runtime/loop.hpp"
#include "runtime/memory_journal.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace muster;

constexpr Instant start{1'800'000'000'000'000'000};
constexpr Duration pass_max = Duration::hours(48);
constexpr int wakes_max = 1'000; // more within one stretch of time: something spins
constexpr std::size_t items_max = 64;

class Server final : public api::Backend, public runtime::Outbox<control::ControlCommand> {
  public:
    Server() { begin({}); }
    ~Server() override {
        pass(control::hold_max * 2); // held answers are given
        REQUIRE(waiting_.empty(), "every request is answered");
        restart();
        inbox_->close(); // what the feed still holds goes with it, and is told to nobody
    }

    void send(const http::HttpRequest& request) {
        auto exchange = std::make_shared<http::detail::Exchange>(inbox_, counters_, 10);
        // Answered on the feed's thread, which does not run here.
        const bool by_feed =
            request.path.starts_with("/v1/events") || request.path.starts_with("/v1/journal");
        if (!by_feed) waiting_.insert(exchange);
        rest_->handle(request, http::Responder(exchange));
        collect();
    }

    void leave() {
        for (const auto& exchange : std::exchange(waiting_, {})) exchange->leave(false);
    }

    void pass(Duration length) {
        const Instant until = now_ + length;
        for (int wakes = 0; loop_->wake_at() <= until; ++wakes) {
            REQUIRE(wakes < wakes_max, "time goes by without a wake for each moment of it");
            now_ = std::max(now_ + Duration::nanos(1), loop_->wake_at());
            step(control::Wake{});
        }
        now_ = std::max(now_, until);
        step(control::Wake{});
    }

    void restart() {
        control::Ledger replayed;
        for (const auto& record : records_) {
            const auto read =
                codec::from_json<FactRecord>(codec::to_json(record, codec::Style::exact));
            REQUIRE(read, "a fact reads back from the journal");
            replayed.apply(*read);
        }
        const std::string text = codec::to_json(replayed, codec::Style::exact);
        REQUIRE(text == codec::to_json(core_->ledger(), codec::Style::exact),
                "the journal replays to the ledger");
        REQUIRE(codec::from_json<control::Ledger>(text), "a snapshot reads back");
        begin(std::move(replayed));
    }

    Status ask(control::ControlEvent event) override {
        step(event);
        return ok();
    }
    void cancel(std::int64_t reply) override { step(control::ReplyCancelled{reply}); }
    Status count(std::function<void(const api::ClusterCounts&)> take) override {
        api::ClusterCounts counts;
        api::count_ledger(core_->ledger(), counts);
        take(counts);
        return ok();
    }
    Status ready() override { return ok(); }
    void draw(std::uint64_t& high, std::uint64_t& low) override { high = low = ++drawn_; }
    void send(control::ControlCommand command) override { rest_->answer(std::move(command)); }

  private:
    static api::RestOptions options() { return {"user", "node", "me", "1.2.3"}; }

    void begin(control::Ledger ledger) {
        control::ControlConfig config;
        config.installation = InstallationId{RawId{7, 7}};
        // Who waits finds the connection closed.
        rest_.emplace(options(), *this, feed_);
        inbox_->drain();
        waiting_.clear();
        journal_ = std::make_unique<runtime::MemoryJournal<FactRecord>>();
        const Sequence last = ledger.last_sequence;
        core_ = std::make_unique<control::ControlCore>(config, std::move(ledger));
        loop_ = std::make_unique<runtime::Loop<control::ControlCore>>(*core_, *journal_, *this);
        loop_->resume_from(last);
        step(control::Begin{});
    }

    void step(const control::ControlEvent& event) {
        const std::size_t known = journal_->records().size();
        loop_->step(now_, event);
        journal_->flush();
        for (std::size_t i = known; i < journal_->records().size(); ++i)
            records_.push_back(journal_->records()[i]);
        loop_->durable(core_->ledger().last_sequence);
        collect();
    }

    void collect() {
        for (const auto& delivery : inbox_->drain()) {
            if (delivery.kind != http::detail::Delivery::Kind::answer) continue;
            if (delivery.exchange->gone()) continue; // nobody reads it
            const auto& response = delivery.response;
            REQUIRE(response.status >= 200 && response.status < 600, "a status of HTTP");
            REQUIRE(response.status != 500, "no request brings out a bug of ours");
            if (response.status >= 400)
                REQUIRE(!http::error_of(response).message.empty(), "an error says what is wrong");
            waiting_.erase(delivery.exchange);
        }
    }

    Instant now_ = start;
    std::uint64_t drawn_ = 0;
    std::set<std::shared_ptr<http::detail::Exchange>> waiting_; // for an answer of the core
    std::vector<FactRecord> records_;
    std::shared_ptr<http::detail::Inbox> inbox_ =
        std::make_shared<http::detail::Inbox>([] {}); // drained after each step
    std::shared_ptr<http::detail::Counters> counters_ = std::make_shared<http::detail::Counters>();
    api::EventFeed feed_{[](Sequence, std::size_t) { return std::vector<FactRecord>{}; }};
    std::optional<api::Rest> rest_;
    std::unique_ptr<runtime::MemoryJournal<FactRecord>> journal_;
    std::unique_ptr<control::ControlCore> core_;
    std::unique_ptr<runtime::Loop<control::ControlCore>> loop_;
};

std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

std::string_view take_word(std::string_view& line) {
    const std::size_t end = line.find(' ');
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return word;
}

void run_request(Server& server, std::string_view principal, std::string_view line,
                 std::string_view rest) {
    http::HttpRequest request;
    request.method = std::string(take_word(line));
    if (!http::decode_target(line, request)) return; // answered 400 by the listener
    if (principal != "none") request.headers["authorization"] = "Bearer " + std::string(principal);
    for (std::string_view header; !(header = take_line(rest)).empty();) {
        const std::size_t colon = header.find(": ");
        if (colon == std::string_view::npos) continue;
        request.headers[std::string(header.substr(0, colon))] =
            std::string(header.substr(colon + 2));
    }
    request.body = std::string(rest);
    server.send(request);
}

void run_item(Server& server, std::string_view item) {
    std::string_view line = take_line(item);
    const std::string_view first = take_word(line);
    if (first == "leave") return server.leave();
    if (first == "restart") return server.restart();
    if (first != "pass") return run_request(server, first, line, item);
    if (const auto length = parse_duration(line); length && *length <= pass_max)
        server.pass(std::max(*length, Duration{}));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::string_view separator = "\n%%\n";
    std::string_view text = fuzz::text_of(data, size);
    Server server;
    for (std::size_t items = 0; items < items_max && !text.empty(); ++items) {
        const std::size_t end = text.find(separator);
        run_item(server, text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
    }
    return 0;
}
