#include "api/events.hpp"
#include "api/feed.hpp"
#include "codec/json.hpp"
#include "io/http/client.hpp"

#include <gtest/gtest.h>

#include <future>

namespace muster::api {
namespace {

FactRecord submitted(Sequence sequence) {
    WorkloadSubmitted fact;
    fact.id = WorkloadId::make(Instant{1'000'000}, 1, static_cast<std::uint64_t>(sequence));
    fact.name = WorkloadName{"job-" + std::to_string(sequence)};
    return {sequence, Instant{sequence}, "user:x", fact};
}

std::vector<FactRecord> facts_up_to(Sequence last) {
    std::vector<FactRecord> facts;
    for (Sequence i = 1; i <= last; ++i) facts.push_back(submitted(i));
    return facts;
}

TEST(EventView, EveryFactHasAText) {
    WorkloadNames names;
    const auto all = []<class... F>(std::variant<F...>*) {
        return std::vector<Fact>{Fact{F{}}...};
    }(static_cast<Fact*>(nullptr));
    for (const auto& fact : all) {
        const auto view = event_view({7, Instant{9}, "controller", fact}, names);
        EXPECT_FALSE(view.text.empty());
        EXPECT_FALSE(view.type.empty());
        EXPECT_FALSE(view.subject.empty());
        EXPECT_TRUE(view.level == "info" || view.level == "warning" || view.level == "error");
        EXPECT_EQ(view.sequence, 7);
    }
}

TEST(EventView, SpeaksOfJobsByName) {
    WorkloadNames names;
    const auto record = submitted(1);
    names.learn(record);
    WorkloadFinished end;
    end.id = std::get<WorkloadSubmitted>(record.fact).id;
    end.phase = WorkloadPhase::failed;
    end.exit_code = 3;
    const auto view = event_view({2, Instant{2}, "controller", end}, names);
    EXPECT_EQ(view.subject, "job/job-1");
    EXPECT_EQ(view.level, "error");
    EXPECT_NE(view.text.find("exit code 3"), std::string::npos);
}

TEST(WorkloadNames, ForgetsWithTheLedgerAndStaysBounded) {
    WorkloadNames names;
    const auto alive = submitted(1);
    names.learn(alive);
    const auto id_of = [](const FactRecord& record) {
        return std::get<WorkloadSubmitted>(record.fact).id;
    };
    constexpr auto many = static_cast<Sequence>(3 * past_names_max);
    for (Sequence i = 2; i <= many; ++i) {
        names.learn(submitted(i));
        const FactRecord gone{i, Instant{i}, "controller", WorkloadForgotten{id_of(submitted(i))}};
        names.learn(gone);
        // The last event of a job still has its name.
        EXPECT_EQ(event_view(gone, names).subject, "job/job-" + std::to_string(i));
    }
    EXPECT_EQ(names.size(), past_names_max + 1);
    // Readers of the whole history change nothing of that, and read names all the same.
    for (Sequence i = 1; i <= many; ++i) {
        names.recall(submitted(i));
        EXPECT_EQ(names.name_of(id_of(submitted(i))), "job-" + std::to_string(i));
    }
    EXPECT_EQ(names.size(), past_names_max + 1);
    EXPECT_EQ(names.name_of(id_of(alive)), "job-1");
}

/// A feed over facts in memory, behind a real server.
class Feed : public ::testing::Test {
  protected:
    void begin(Sequence stored) {
        facts_ = facts_up_to(stored);
        feed_.start(stored, {});
        http::HttpServerOptions options;
        options.sweep_every = Duration::millis(10);
        server_ = std::move(*http::HttpServer::start(
            options, [this](http::HttpRequest request, http::Responder responder) {
                const Sequence after = std::stoll(request.query.at("after"));
                if (request.query.contains("page"))
                    return feed_.page(Answer(std::move(responder), meter_, "listEvents"), after,
                                      100, false);
                auto stream = responder.stream();
                feed_.watch(std::move(*stream), after);
            }));
    }
    void add(Sequence sequence) {
        {
            const std::lock_guard lock(mutex_);
            facts_.push_back(submitted(sequence));
        }
        feed_.publish({submitted(sequence)});
    }
    std::vector<std::string> read(Sequence after, std::size_t count) {
        std::vector<std::string> ids;
        auto client = http::HttpClient::make(server_->url());
        http::HttpCall call;
        call.target = "/?after=" + std::to_string(after);
        static_cast<void>(client->stream(call, [&](const http::StreamEvent& event) {
            ids.push_back(event.id);
            return ids.size() < count;
        }));
        return ids;
    }
    void TearDown() override {
        if (server_) server_->stop(Duration{});
        feed_.stop();
    }

    /// The page after `after` as the API gives it: numbers of events, then `next`.
    std::vector<Sequence> page(Sequence after) {
        auto client = http::HttpClient::make(server_->url());
        http::HttpCall call;
        call.target = "/?page=1&after=" + std::to_string(after);
        const auto answer = client->request(call);
        const auto page = codec::from_json<EventPage>(answer.value().body).value();
        std::vector<Sequence> found;
        for (const auto& event : page.items) found.push_back(event.sequence);
        found.push_back(page.next);
        return found;
    }

    std::mutex mutex_;
    std::vector<FactRecord> facts_;
    HttpMeter meter_; // longer than the feed
    EventFeed feed_{[this](Sequence after, std::size_t limit) -> Result<std::vector<FactRecord>> {
        const std::lock_guard lock(mutex_);
        std::vector<FactRecord> page;
        for (const auto& fact : facts_)
            if (fact.sequence > after && page.size() < limit) page.push_back(fact);
        return page;
    }};
    std::unique_ptr<http::HttpServer> server_;
};

std::vector<std::string> numbers(Sequence from, Sequence to) {
    std::vector<std::string> texts;
    for (Sequence i = from; i <= to; ++i) texts.push_back(std::to_string(i));
    return texts;
}

TEST_F(Feed, SendsThePastThenTheNewWithoutGapOrRepeat) {
    begin(1'000);
    auto reading = std::async(std::launch::async, [&] { return read(0, 1'500); });
    for (Sequence i = 1'001; i <= 1'500; ++i) add(i);
    EXPECT_EQ(reading.get(), numbers(1, 1'500));
}

TEST_F(Feed, LeavesOutFactsThatAreNoEventsAndGoesOnBehindThem) {
    const auto routine = [](Sequence sequence) {
        return FactRecord{sequence, Instant{sequence}, "node:n1", GenerationProgressed{}};
    };
    begin(3);
    {
        const std::lock_guard lock(mutex_);
        for (Sequence i = 4; i <= 203; ++i) facts_.push_back(routine(i));
    }
    EXPECT_EQ(page(2), (std::vector<Sequence>{3, 102}));
    EXPECT_EQ(page(102), (std::vector<Sequence>{202}));
    EXPECT_EQ(page(203), (std::vector<Sequence>{203}));
    feed_.publish({routine(204)});
    add(205);
    EXPECT_EQ(read(0, 4), (std::vector<std::string>{"1", "2", "3", "205"}));
}

TEST_F(Feed, ResumesWhereAClientLeft) {
    begin(50);
    EXPECT_EQ(read(0, 20), numbers(1, 20));
    EXPECT_EQ(read(20, 30), numbers(21, 50));
}

TEST_F(Feed, ASlowWatcherHoldsNobodyUpAndLosesNothing) {
    begin(20'000);
    std::promise<void> entered;
    std::promise<void> go_on;
    std::vector<std::string> slow_ids;
    auto slow = std::async(std::launch::async, [&] {
        auto client = http::HttpClient::make(server_->url());
        http::HttpCall call;
        call.target = "/?after=0";
        static_cast<void>(client->stream(call, [&](const http::StreamEvent& event) {
            if (slow_ids.empty()) {
                entered.set_value();
                go_on.get_future().wait();
            }
            slow_ids.push_back(event.id);
            return slow_ids.size() < 20'000;
        }));
    });
    entered.get_future().wait();
    EXPECT_EQ(read(19'990, 10), numbers(19'991, 20'000));
    go_on.set_value();
    slow.wait();
    EXPECT_EQ(slow_ids, numbers(1, 20'000));
}

} // namespace
} // namespace muster::api
