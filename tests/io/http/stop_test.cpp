#include "io/http/client.hpp"
#include "io/http/server.hpp"
#include "raw_socket.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace muster::http {
namespace {

using test::RawSocket;

/// Keeps what was asked until the test answers.
struct Keeper {
    void operator()(HttpRequest, Responder responder, bool droppable) {
        if (droppable) responder.droppable();
        const std::lock_guard lock(mutex);
        held.push_back(std::move(responder));
        if (held.size() == expected) full.set_value();
    }
    std::size_t expected = 1;
    std::mutex mutex;
    std::vector<Responder> held;
    std::promise<void> full;
};

HttpHandler handler_of(Keeper& keeper, bool droppable) {
    return [&keeper, droppable](HttpRequest request, Responder responder) {
        keeper(std::move(request), std::move(responder), droppable);
    };
}

TEST(HttpServerStop, AnswersHeldPollsAtOnce) {
    Keeper keeper;
    keeper.expected = 50;
    auto server = HttpServer::start({.threads = 2}, handler_of(keeper, true));
    std::vector<std::unique_ptr<RawSocket>> sockets;
    for (int i = 0; i < 50; ++i) {
        sockets.push_back(std::make_unique<RawSocket>((*server)->port()));
        sockets.back()->send("GET / HTTP/1.1\r\n\r\n");
    }
    keeper.full.get_future().wait();
    (*server)->stop(Duration::minutes(10)); // the test's own limit ends a wait for the grace
    for (auto& socket : sockets) {
        const std::string answer = socket->read_to_end();
        EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 503");
        EXPECT_NE(answer.find("Connection: close"), std::string::npos);
        EXPECT_NE(answer.find("unavailable"), std::string::npos);
    }
    for (auto& responder : keeper.held) responder.answer(HttpResponse{}); // leads nowhere
}

TEST(HttpServerStop, WaitsForAnswersThatMatter) {
    Keeper keeper;
    auto server = HttpServer::start({}, handler_of(keeper, false));
    RawSocket socket((*server)->port());
    socket.send("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    keeper.full.get_future().wait();
    std::thread stopper([&] { (*server)->stop(Duration::minutes(10)); });
    keeper.held[0].answer(HttpResponse{.body = "done"});
    EXPECT_NE(socket.read_to_end().find("done"), std::string::npos);
    stopper.join();
}

TEST(HttpServerStop, SaysThatTheOutcomeIsUnknown) {
    Keeper keeper;
    auto server = HttpServer::start({}, handler_of(keeper, false));
    RawSocket socket((*server)->port());
    socket.send("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    keeper.full.get_future().wait();
    (*server)->stop(Duration::millis(1));
    EXPECT_NE(socket.read_to_end().find("unknown_outcome"), std::string::npos);
}

TEST(HttpServerStop, ClosesIdleAndHalfSentConnections) {
    auto server = HttpServer::start({}, [](HttpRequest, Responder) {});
    RawSocket idle((*server)->port());
    RawSocket half((*server)->port());
    half.send("GET / HT");
    (*server)->stop(Duration::minutes(10));
    EXPECT_EQ(idle.read_to_end(), "");
    half.read_to_end();
    EXPECT_FALSE(RawSocket((*server)->port()).connected());
}

TEST(HttpServerStop, ResponderOutlivesItsServer) {
    Keeper keeper;
    {
        auto server = HttpServer::start({}, handler_of(keeper, true));
        RawSocket socket((*server)->port());
        socket.send("GET / HTTP/1.1\r\n\r\n");
        keeper.full.get_future().wait();
    }
    EXPECT_TRUE(keeper.held[0].gone());
    keeper.held[0].answer(HttpResponse{});
}

TEST(HttpServerStop, UnderLoadEveryRequestHasAnOutcome) {
    auto server = HttpServer::start({.threads = 2}, [](HttpRequest, Responder responder) {
        responder.answer(HttpResponse{.body = "{}"});
    });
    const std::string url = (*server)->url();
    std::atomic<int> answered{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 6; ++i)
        clients.emplace_back([&] {
            auto client = HttpClient::make(url);
            for (;;) {
                const auto answer = client->request({.target = "/"});
                if (!answer || answer->status != 200) break;
                answered.fetch_add(1);
            }
        });
    while (answered.load() < 200) std::this_thread::yield();
    (*server)->stop();
    for (auto& client : clients) client.join();
}

TEST(HttpStreams, FlowUntilClosed) {
    auto server = HttpServer::start({}, [](HttpRequest, Responder responder) {
        auto stream = responder.stream();
        for (int i = 0; i < 300; ++i)
            stream->write("id: " + std::to_string(i) + "\ndata: {\"n\":" + std::to_string(i) +
                          "}\n\n");
    });
    auto client = HttpClient::make((*server)->url());
    int seen = 0;
    std::string last;
    const auto ended = client->stream({.target = "/"}, [&](const StreamEvent& event) {
        EXPECT_EQ(event.data, "{\"n\":" + std::to_string(seen) + "}");
        last = event.id;
        ++seen;
        return true;
    });
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, Code::unavailable);
    EXPECT_EQ(seen, 300);
    EXPECT_EQ(last, "299");
}

TEST(HttpStreams, CutsAReaderThatDoesNotRead) {
    std::promise<HttpStream> opened;
    auto server = HttpServer::start({}, [&](HttpRequest, Responder responder) {
        opened.set_value(std::move(*responder.stream()));
    });
    RawSocket socket((*server)->port());
    socket.send("GET / HTTP/1.1\r\n\r\n");
    HttpStream stream = opened.get_future().get();
    const auto text = std::make_shared<const std::string>(64 * 1024, 'x');
    while (stream.write(text)) std::this_thread::yield();
    EXPECT_FALSE(stream.write(text));
    EXPECT_LE(stream.unsent(), stream_bytes_max + text->size());
    EXPECT_EQ((*server)->counters().streams_cut, 1u);
}

TEST(HttpStreams, AreBoundedInNumber) {
    std::mutex mutex;
    std::vector<HttpStream> open;
    auto server = HttpServer::start({.streams_max = 2}, [&](HttpRequest, Responder responder) {
        auto stream = responder.stream();
        if (!stream) return responder.answer(stream.error());
        stream->write(std::string("data: hello\n\n"));
        const std::lock_guard lock(mutex);
        open.push_back(std::move(*stream));
    });
    auto first = std::make_unique<RawSocket>((*server)->port());
    RawSocket second((*server)->port());
    RawSocket third((*server)->port());
    for (RawSocket* socket : {first.get(), &second}) {
        socket->send("GET / HTTP/1.1\r\n\r\n");
        socket->read_until("hello");
    }
    third.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_NE(third.read_until("resource_exhausted").find("HTTP/1.1 429"), std::string::npos);
    first.reset();
    while ((*server)->counters().streams_open > 1) std::this_thread::yield();
    RawSocket fourth((*server)->port());
    fourth.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_NE(fourth.read_until("hello").find("200 OK"), std::string::npos);
}

TEST(HttpStreams, EndWithTheServer) {
    std::promise<HttpStream> opened;
    auto server = HttpServer::start({}, [&](HttpRequest, Responder responder) {
        opened.set_value(std::move(*responder.stream()));
    });
    RawSocket socket((*server)->port());
    socket.send("GET / HTTP/1.1\r\n\r\n");
    HttpStream stream = opened.get_future().get();
    stream.write(std::string("data: x\n\n"));
    (*server)->stop(Duration::minutes(10));
    const std::string seen = socket.read_to_end();
    EXPECT_NE(seen.find("data: x"), std::string::npos);
    EXPECT_EQ(seen.substr(seen.size() - 5), "0\r\n\r\n");
    EXPECT_TRUE(stream.gone());
}

} // namespace
} // namespace muster::http
