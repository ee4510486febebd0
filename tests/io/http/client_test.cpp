#include "io/http/client.hpp"
#include "io/http/server.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace muster::http {
namespace {

/// Accepts connections one by one and answers each with fixed bytes, then closes: a server that
/// misbehaves as told.
class ScriptedServer {
  public:
    explicit ScriptedServer(std::vector<std::string> answers)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
        ::listen(fd_, 16);
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this, answers = std::move(answers)] {
            for (const auto& answer : answers) {
                const int peer = ::accept(fd_, nullptr, nullptr);
                char bytes[4096];
                while (::recv(peer, bytes, sizeof bytes, 0) > 0) {
                    requests.fetch_add(1);
                    ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
                    if (answer.find("keep") != std::string::npos) continue;
                    break;
                }
                ::close(peer);
            }
        });
    }
    ~ScriptedServer() {
        ::shutdown(fd_, SHUT_RDWR);
        thread_.join();
        ::close(fd_);
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    std::atomic<int> requests{0};

  private:
    int fd_;
    int port_ = 0;
    std::thread thread_;
};

TEST(HttpClient, RefusesBadUrls) {
    for (const char* bad : {"", "127.0.0.1:7070", "https://x", "http://", "http://:80",
                            "http://a:0", "http://a:99999", "http://a:b", "http://a/path",
                            "http://u@h", "ftp://a", "http://[::1", "http://a b"}) {
        const auto client = HttpClient::make(bad);
        ASSERT_FALSE(client) << bad;
        EXPECT_EQ(client.error().code, Code::invalid_argument);
    }
    EXPECT_TRUE(HttpClient::make("http://[::1]:7070"));
    EXPECT_TRUE(HttpClient::make("http://localhost:7070/"));
    EXPECT_FALSE(HttpClient::make("http://h:1", "to\nken"));
}

TEST(HttpClient, RefusesTargetsAndHeadersThatBreakTheRequest) {
    auto client = HttpClient::make("http://127.0.0.1:9");
    for (const char* bad : {"", "x", "/a b", "/a\r\nX: y"})
        EXPECT_EQ(client->request({.target = bad}).error().code, Code::invalid_argument) << bad;
    EXPECT_EQ(client->request({.target = "/", .headers = {{"X", "a\r\nb"}}}).error().code,
              Code::invalid_argument);
}

TEST(HttpClient, SaysThatNobodyListens) {
    std::uint16_t port = 0;
    {
        auto server = HttpServer::start({}, [](HttpRequest, Responder) {});
        port = (*server)->port();
    }
    auto client = HttpClient::make("http://127.0.0.1:" + std::to_string(port));
    const auto answer = client->request({.target = "/"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::unavailable);
    EXPECT_NE(answer.error().message.find("Connection refused"), std::string::npos);
}

TEST(HttpClient, RetriesOnceOnAStaleConnection) {
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    ScriptedServer server({answer, answer, answer});
    auto client = HttpClient::make(server.url());
    for (int i = 0; i < 3; ++i) { // each connection is closed after one answer without a word
        const auto got = client->request({.method = "POST", .target = "/", .body = "x"});
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body, "ok");
    }
    EXPECT_EQ(server.requests.load(), 3);
}

TEST(HttpClient, DoesNotRetryWhatMayHaveHappened) {
    ScriptedServer server({"", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
    auto client = HttpClient::make(server.url());
    const auto fresh = client->request({.method = "POST", .target = "/", .body = "x"});
    ASSERT_FALSE(fresh);
    EXPECT_EQ(fresh.error().code, Code::unknown_outcome);
    EXPECT_TRUE(client->request({.target = "/"})); // a new connection, as if nothing was
}

TEST(HttpClient, SeesCutAndBrokenAnswers) {
    ScriptedServer server({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 20",
                           "SSH-2.0-OpenSSH_9.2\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"});
    auto client = HttpClient::make(server.url());
    for (int i = 0; i < 4; ++i) {
        const auto got = client->request({.target = "/"});
        ASSERT_FALSE(got) << i;
        EXPECT_EQ(got.error().code, Code::unknown_outcome) << i;
    }
}

TEST(HttpClient, ReadsAnAnswerThatEndsWithTheConnection) {
    ScriptedServer server({"HTTP/1.1 200 OK\r\n\r\nall of it"});
    EXPECT_EQ(HttpClient::make(server.url())->request({.target = "/"})->body, "all of it");
}

TEST(HttpClient, KeepsItsDeadline) {
    Responder held;
    auto server = HttpServer::start(
        {}, [&](HttpRequest, Responder responder) { held = std::move(responder); });
    auto client = HttpClient::make((*server)->url());
    const auto late = client->request({.target = "/", .deadline = Duration::millis(20)});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, Code::deadline_exceeded);
    (*server)->stop(Duration{});
}

TEST(HttpClient, CanBeCancelledFromAnotherThread) {
    std::promise<void> arrived;
    Responder held;
    auto server = HttpServer::start({}, [&](HttpRequest request, Responder responder) {
        if (request.path == "/now") return responder.answer(HttpResponse{});
        held = std::move(responder);
        arrived.set_value();
    });
    auto client = HttpClient::make((*server)->url());
    std::thread other([&] {
        arrived.get_future().wait();
        client->cancel();
    });
    const auto stopped = client->request({.target = "/", .deadline = Duration::hours(1)});
    other.join();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::unavailable);
    EXPECT_FALSE(client->request({.target = "/now"}));
    client->reset();
    EXPECT_TRUE(client->request({.target = "/now"}));
    (*server)->stop(Duration{});
}

TEST(HttpClient, SendsItsToken) {
    std::string seen;
    auto server = HttpServer::start({}, [&](HttpRequest request, Responder responder) {
        seen = request.header("authorization");
        responder.answer(HttpResponse{});
    });
    auto client = HttpClient::make((*server)->url(), "secret");
    ASSERT_TRUE(client->request({.target = "/"}));
    EXPECT_EQ(seen, "Bearer secret");
}

TEST(HttpClient, ReadsEventsInPieces) {
    const std::string events =
        ": hello\n\nid: 1\nevent: fact\ndata: a\ndata: b\n\nid: 2\r\ndata:c\r\n\r\n"
        "retry: 5\n\ndata: no id\n\n";
    auto server = HttpServer::start({}, [&](HttpRequest, Responder responder) {
        auto stream = responder.stream();
        for (const char c : events) stream->write(std::string(1, c));
    });
    auto client = HttpClient::make((*server)->url());
    std::vector<std::string> seen;
    const auto done = client->stream({.target = "/"}, [&](const StreamEvent& event) {
        seen.push_back(event.id + '|' + event.type + '|' + event.data);
        return seen.size() < 3;
    });
    EXPECT_TRUE(done);
    const std::vector<std::string> expected = {"1|fact|a\nb", "2|message|c", "2|message|no id"};
    EXPECT_EQ(seen, expected);
    EXPECT_TRUE(client->stream({.target = "/"}, [](const StreamEvent&) { return false; }));
}

TEST(HttpClient, AStreamThatIsRefusedIsItsError) {
    auto server = HttpServer::start({}, [&](HttpRequest, Responder responder) {
        responder.answer(Error{Code::permission_denied, "no", {}, {}});
    });
    auto client = HttpClient::make((*server)->url());
    const auto done = client->stream({.target = "/"}, [](const StreamEvent&) { return true; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::permission_denied);
    EXPECT_EQ(done.error().message, "no");
}

TEST(HttpClient, AStreamThatBreaksSaysSo) {
    ScriptedServer server({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"});
    auto client = HttpClient::make(server.url());
    for (int i = 0; i < 2; ++i)
        EXPECT_FALSE(client->stream({.target = "/"}, [](const StreamEvent&) { return true; }));
}

} // namespace
} // namespace muster::http
