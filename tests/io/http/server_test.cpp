#include "io/http/client.hpp"
#include "io/http/server.hpp"
#include "raw_socket.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace muster::http {
namespace {

using test::RawSocket;

void echo(const HttpRequest& request, Responder responder) {
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = request.method + ' ' + request.path + ' ' + std::to_string(request.body.size());
    responder.answer(std::move(response));
}

std::unique_ptr<HttpServer> serve(HttpHandler handler, HttpServerOptions options = {}) {
    options.sweep_every = Duration::millis(10);
    auto server = HttpServer::start(std::move(options), std::move(handler));
    EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message);
    return std::move(*server);
}

TEST(HttpServer, AnswersOnOneConnectionAgainAndAgain) {
    auto server = serve(echo);
    auto client = HttpClient::make(server->url());
    for (int i = 0; i < 100; ++i) {
        const auto answer =
            client->request({.method = "POST", .target = "/a?b=c", .body = "12345"});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, "POST /a 5");
    }
    EXPECT_EQ(server->counters().connections_accepted, 1u);
    EXPECT_EQ(server->counters().requests, 100u);
}

TEST(HttpServer, KeepsPipelinedRequestsInOrder) {
    auto server = serve(echo);
    RawSocket socket(server->port());
    std::string text;
    for (int i = 0; i < 20; ++i)
        text += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    socket.send(text);
    const std::string seen = socket.read_until("GET /19 0");
    std::size_t at = 0;
    for (int i = 0; i < 20; ++i) {
        at = seen.find("GET /" + std::to_string(i) + " 0", at);
        ASSERT_NE(at, std::string::npos) << i;
    }
}

TEST(HttpServer, AnswersFromAnotherThreadLater) {
    std::promise<Responder> asked;
    auto server =
        serve([&](HttpRequest, Responder responder) { asked.set_value(std::move(responder)); });
    std::thread other([&] {
        Responder responder = asked.get_future().get();
        responder.answer(HttpResponse{.body = "late"});
        responder.answer(HttpResponse{.body = "twice"});
    });
    auto client = HttpClient::make(server->url());
    EXPECT_EQ(client->request({.target = "/"})->body, "late");
    other.join();
}

TEST(HttpServer, DroppedResponderIsAnInternalError) {
    auto server = serve([](HttpRequest, Responder) {});
    auto client = HttpClient::make(server->url());
    EXPECT_EQ(client->request({.target = "/"})->status, 500);
}

TEST(HttpServer, RefusesWhatIsNotHttp) {
    auto server = serve(echo);
    for (const char* bad :
         {"\x16\x03\x01\x02\x01\x01\xfc\x03\x03 tls hello\r\n\r\n", "GET\r\n\r\n",
          "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
          "GET /%zz HTTP/1.1\r\n\r\n", "GET nopath HTTP/1.1\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
          "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
          "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
          "0\r\n\r\n",
          "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
        RawSocket socket(server->port());
        socket.send(bad);
        EXPECT_EQ(socket.read_to_end().substr(0, 12), "HTTP/1.1 400") << bad;
    }
    EXPECT_EQ(server->counters().requests_bad, 10u);
}

TEST(HttpServer, BoundsTheHeader) {
    auto server = serve(echo);
    RawSocket socket(server->port());
    socket.send("GET / HTTP/1.1\r\nX: " + std::string(2 * header_bytes_max, 'x') + "\r\n\r\n");
    EXPECT_EQ(socket.read_to_end().substr(0, 12), "HTTP/1.1 431");
    RawSocket endless(server->port());
    for (int i = 0; i < 10'000; ++i)
        if (!endless.send("X-Header-" + std::to_string(i) + ": y\r\n")) break;
    endless.close();
    EXPECT_EQ(HttpClient::make(server->url())->request({.target = "/"})->status, 200);
}

TEST(HttpServer, BoundsTheBody) {
    auto server = serve(echo);
    auto client = HttpClient::make(server->url());
    const auto whole = client->request(
        {.method = "POST", .target = "/", .body = std::string(body_bytes_max, 'x')});
    EXPECT_EQ(whole->body, "POST / " + std::to_string(body_bytes_max));
    RawSocket announced(server->port());
    announced.send("POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n");
    EXPECT_EQ(announced.read_to_end().substr(0, 12), "HTTP/1.1 413");
    RawSocket chunked(server->port());
    chunked.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "100000\r\n" + std::string(0x100000, 'x') + "\r\n";
    for (int i = 0; i < 9; ++i) chunked.send(chunk);
    EXPECT_EQ(chunked.read_to_end().substr(0, 12), "HTTP/1.1 413");
    const auto large = client->request(
        {.method = "POST", .target = "/", .body = std::string(body_bytes_max + 1, 'x')});
    ASSERT_TRUE(large) << large.error().message;
    EXPECT_EQ(large->status, 413);
}

TEST(HttpServer, TellsAWaitingClientToGoOn) {
    auto server = serve(echo);
    RawSocket socket(server->port());
    socket.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.send("abc");
    EXPECT_NE(socket.read_until("POST / 3").find("200 OK"), std::string::npos);
}

TEST(HttpServer, CutsSlowHeadersAndBodies) {
    HttpServerOptions options;
    options.header_read_max = Duration::millis(50);
    options.body_read_max = Duration::millis(50);
    auto server = serve(echo, options);
    RawSocket slow_header(server->port());
    slow_header.send("GET / HTTP/1.1\r\nHost:");
    EXPECT_EQ(slow_header.read_to_end().substr(0, 12), "HTTP/1.1 408");
    RawSocket slow_body(server->port());
    slow_body.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    EXPECT_EQ(slow_body.read_to_end().substr(0, 12), "HTTP/1.1 408");
}

TEST(HttpServer, ClosesIdleConnections) {
    HttpServerOptions options;
    options.idle_max = Duration::millis(50);
    auto server = serve(echo, options);
    RawSocket never(server->port());
    EXPECT_EQ(never.read_to_end(), "");
}

TEST(HttpServer, CutsReadersThatDoNotRead) {
    HttpServerOptions options;
    options.write_max = Duration::millis(50);
    std::promise<void> gone;
    auto server = serve(
        [&](HttpRequest, Responder responder) {
            responder.on_gone([&] { gone.set_value(); });
            responder.answer(HttpResponse{.body = std::string(64 * 1024 * 1024, 'x')});
        },
        options);
    RawSocket socket(server->port());
    socket.send("GET / HTTP/1.1\r\n\r\n");
    gone.get_future().wait();
}

TEST(HttpServer, SeesAClientGoWhileItsAnswerIsHeld) {
    std::promise<void> gone;
    std::promise<void> arrived;
    Responder held;
    auto server = serve([&](HttpRequest, Responder responder) {
        responder.on_gone([&] { gone.set_value(); });
        held = std::move(responder);
        arrived.set_value();
    });
    {
        RawSocket socket(server->port());
        socket.send("GET / HTTP/1.1\r\n\r\n");
        arrived.get_future().wait();
        EXPECT_FALSE(held.gone());
    }
    gone.get_future().wait();
    EXPECT_TRUE(held.gone());
    bool at_once = false;
    held.on_gone([&] { at_once = true; });
    EXPECT_TRUE(at_once);
    held.answer(HttpResponse{});
}

TEST(HttpServer, TurnsAwayConnectionsAboveTheLimit) {
    HttpServerOptions options;
    options.connections_max = 2;
    auto server = serve(echo, options);
    RawSocket first(server->port());
    RawSocket second(server->port());
    for (RawSocket* socket : {&first, &second}) {
        socket->send("GET / HTTP/1.1\r\n\r\n");
        socket->read_until("GET / 0");
    }
    RawSocket third(server->port());
    const std::string answer = third.read_to_end();
    EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 503");
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
    EXPECT_EQ(server->counters().connections_refused, 1u);
}

TEST(HttpServer, HeadAndOldProtocolAndClose) {
    auto server = serve(echo);
    RawSocket head(server->port());
    head.send("HEAD /h HTTP/1.1\r\nConnection: close\r\n\r\n");
    const std::string answer = head.read_to_end();
    EXPECT_NE(answer.find("Content-Length: 9\r\n"), std::string::npos);
    EXPECT_EQ(answer.substr(answer.size() - 4), "\r\n\r\n");
    RawSocket old(server->port());
    old.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(old.read_to_end().find("Connection: close"), std::string::npos);
}

TEST(HttpServer, HeaderValuesCannotBreakTheAnswer) {
    auto server = serve([](HttpRequest, Responder responder) {
        HttpResponse response;
        response.headers["X-Echo"] = "a\r\nSet-Cookie: stolen";
        responder.answer(std::move(response));
    });
    RawSocket socket(server->port());
    socket.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(socket.read_to_end().find("\r\nSet-Cookie"), std::string::npos);
}

TEST(HttpServer, ManyThreadsManyClients) {
    HttpServerOptions options;
    options.threads = 2;
    auto server = serve(echo, options);
    std::vector<std::thread> clients;
    std::atomic<int> good{0};
    for (int i = 0; i < 8; ++i)
        clients.emplace_back([&] {
            auto client = HttpClient::make(server->url());
            for (int k = 0; k < 200; ++k) {
                const auto answer = client->request({.target = "/x"});
                if (answer && answer->body == "GET /x 0") good.fetch_add(1);
            }
        });
    for (auto& client : clients) client.join();
    EXPECT_EQ(good.load(), 1600);
}

TEST(HttpServer, BindingErrorsSayWhatToDo) {
    auto server = serve(echo);
    HttpServerOptions same;
    same.port = server->port();
    const auto taken = HttpServer::start(same, echo);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::failed_precondition);
    EXPECT_NE(taken.error().message.find(std::to_string(server->port())), std::string::npos);
    EXPECT_NE(taken.error().hint.find("ss -ltnp"), std::string::npos);
    for (const char* bad : {"0.0.0.0", "::", "203.0.113.7", "localhost", "nonsense", ""}) {
        HttpServerOptions options;
        options.address = bad;
        const auto refused = HttpServer::start(options, echo);
        ASSERT_FALSE(refused) << bad;
        EXPECT_EQ(refused.error().field, "address");
    }
    HttpServerOptions foreign;
    foreign.address = "203.0.113.7";
    foreign.allow_remote = true;
    const auto refused = HttpServer::start(foreign, echo);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("not an address of this machine"), std::string::npos);
}

} // namespace
} // namespace muster::http
