// What a request to another process promises (sim/rpc.hpp), asked of HTTP over sockets and of the
// simulator's network alike.

#include "io/http/client.hpp"
#include "io/http/server.hpp"
#include "sim/network.hpp"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

namespace muster {
namespace {

constexpr auto event_limit = std::chrono::seconds(20);
constexpr Duration short_limit = Duration::seconds(1); // enough to be served
constexpr Duration long_limit = Duration::seconds(20);

enum class Receiver {
    answers,
    holds, // until it is told to answer
    is_down,
};

/// Both forms offer: ask(): the outcome of one request; answer_late(): to one that was held;
/// served(), abandoned(): what the receiver saw, the second once it has seen one.

class HttpTransport {
  public:
    explicit HttpTransport(Receiver receiver) {
        http::HttpServerOptions options;
        options.sweep_every = Duration::millis(5);
        server_ = std::move(*http::HttpServer::start(
            options, [this, receiver](http::HttpRequest, http::Responder responder) {
                serve(receiver, std::move(responder));
            }));
        url_ = server_->url();
        if (receiver == Receiver::is_down) server_.reset();
    }

    Result<std::string> ask(Duration limit) {
        auto client = http::HttpClient::make(url_);
        http::HttpCall call;
        call.method = "POST";
        call.target = "/";
        call.body = "{}";
        call.deadline = limit;
        auto response = client->request(call);
        if (!response) return fail(response.error());
        return response->body;
    }
    void answer_late() {
        const std::lock_guard lock(mutex_);
        held_.answer({.body = "late"});
    }
    int served() {
        const std::lock_guard lock(mutex_);
        return served_;
    }
    int abandoned() {
        std::unique_lock lock(mutex_);
        gone_.wait_for(lock, event_limit, [this] { return abandoned_ > 0; });
        return abandoned_;
    }

  private:
    void serve(Receiver receiver, http::Responder responder) {
        const std::lock_guard lock(mutex_);
        ++served_;
        if (receiver == Receiver::answers) return responder.answer({.body = "here"});
        responder.on_gone([this] {
            const std::lock_guard told(mutex_);
            ++abandoned_;
            gone_.notify_all();
        });
        held_ = std::move(responder);
    }

    std::mutex mutex_;
    std::condition_variable gone_;
    int served_ = 0;
    int abandoned_ = 0;
    http::Responder held_;
    std::string url_;
    std::unique_ptr<http::HttpServer> server_; // last: its threads use the others
};

class SimulatedTransport {
  public:
    explicit SimulatedTransport(Receiver receiver) : receiver_(receiver) {}

    Result<std::string> ask(Duration limit) {
        std::optional<Result<std::string>> outcome;
        network_.ask<std::string>(
            {1, 0}, {"asked", 0}, limit,
            [this](const sim::CallPtr<std::string>& call) { serve(call); },
            [&outcome](const Result<std::string>& result, bool late) {
                EXPECT_FALSE(outcome) << "an outcome is told once";
                EXPECT_FALSE(late);
                outcome = result;
            });
        while (!queue_.empty()) queue_.run_next();
        EXPECT_TRUE(outcome);
        return outcome.value_or(fail(Code::internal, "no outcome"));
    }
    void answer_late() {
        network_.answer<std::string>(held_, {"late", 0}, std::string("late"));
        while (!queue_.empty()) queue_.run_next();
    }
    int served() const { return served_; }
    int abandoned() const { return abandoned_; }

  private:
    void serve(const sim::CallPtr<std::string>& call) {
        if (receiver_ == Receiver::is_down)
            return network_.answer<std::string>(call, {"refused", 0},
                                                fail(Code::unavailable, "connection refused"));
        ++served_;
        if (receiver_ == Receiver::answers)
            return network_.answer<std::string>(call, {"answer", 0}, std::string("here"));
        call->abandoned = [this] { ++abandoned_; };
        held_ = call;
    }

    Receiver receiver_;
    sim::EventQueue queue_;
    Prng prng_{1};
    sim::Faults faults_;
    sim::Network network_{queue_, prng_, faults_, 2};
    int served_ = 0;
    int abandoned_ = 0;
    sim::CallPtr<std::string> held_;
};

template <class Form>
class Transport : public testing::Test {};
using Forms = testing::Types<HttpTransport, SimulatedTransport>;
TYPED_TEST_SUITE(Transport, Forms);

TYPED_TEST(Transport, BringsTheAnswer) {
    TypeParam transport(Receiver::answers);
    const auto outcome = transport.ask(long_limit);
    ASSERT_TRUE(outcome) << to_text(outcome.error());
    EXPECT_EQ(*outcome, "here");
    EXPECT_EQ(transport.served(), 1);
}

TYPED_TEST(Transport, SaysThatNothingHappenedWhereNobodyListens) {
    TypeParam transport(Receiver::is_down);
    const auto outcome = transport.ask(long_limit);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::unavailable);
    EXPECT_EQ(transport.served(), 0);
}

/// After the limit nobody knows whether it was served, and the receiver learns that nobody waits.
TYPED_TEST(Transport, EndsAtItsLimitAndTheReceiverHearsOfIt) {
    TypeParam transport(Receiver::holds);
    const auto outcome = transport.ask(short_limit);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::deadline_exceeded);
    EXPECT_EQ(transport.abandoned(), 1);
    EXPECT_EQ(transport.served(), 1);
    transport.answer_late(); // harms nobody
}

} // namespace
} // namespace muster
