#include "app/server_state.hpp"

#include "io/posix/files.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr uid_t nobody = 65534;

ListenAddress parsed(const std::string& text) {
    const auto listen = parse_listen(text);
    EXPECT_TRUE(listen) << text;
    return listen.value_or(ListenAddress{});
}

TEST(ParseListen, TakesAddressesAndPorts) {
    struct Case {
        const char* text;
        const char* address;
        std::uint16_t port;
    };
    for (const Case& c :
         {Case{"127.0.0.1:7070", "127.0.0.1", 7070}, Case{"[::1]:7070", "::1", 7070},
          Case{"localhost:0", "127.0.0.1", 0}, Case{"7070", "127.0.0.1", 7070},
          Case{":7070", "127.0.0.1", 7070}, Case{"0.0.0.0:65535", "0.0.0.0", 65535}}) {
        const auto listen = parsed(c.text);
        EXPECT_EQ(listen.address, c.address) << c.text;
        EXPECT_EQ(listen.port, c.port) << c.text;
    }
}

TEST(ParseListen, SaysHowToWriteIt) {
    for (const char* text : {"", "x", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                             "127.0.0.1:-1", "127.0.0.1:7070x", ":::", "[::1]", "::1"}) {
        const auto listen = parse_listen(text);
        ASSERT_FALSE(listen) << text;
        EXPECT_EQ(listen.error().code, Code::invalid_argument);
        EXPECT_EQ(listen.error().field, "listen");
        EXPECT_NE(listen.error().message.find(text), std::string::npos);
        EXPECT_NE(listen.error().hint.find("127.0.0.1:7070"), std::string::npos);
    }
}

class Tokens : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/muster-tokens-XXXXXX";
        state_ = ::mkdtemp(name);
        ASSERT_TRUE(io::make_directories(state_ + "/server", 0700));
    }
    void TearDown() override { (void)!std::system(("rm -rf " + state_).c_str()); }

    std::string path(const std::string& who) const { return state_ + "/server/" + who + ".token"; }
    void put(const std::string& who, const std::string& text, unsigned mode = 0600) {
        ASSERT_TRUE(io::write_file_atomically(path(who), text, mode));
    }
    Error refused() {
        const auto tokens = open_tokens(state_);
        EXPECT_FALSE(tokens);
        return tokens ? Error{} : tokens.error();
    }

    std::string state_;
};

TEST_F(Tokens, AreMadeOnceAndPrivate) {
    const auto made = open_tokens(state_);
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_EQ(made->user.size(), 64u);
    EXPECT_NE(made->user, made->node);
    for (const char* who : {"user", "node"}) {
        struct stat found{};
        ASSERT_EQ(::stat(path(who).c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 0777u, 0600u);
    }
    const auto again = open_tokens(state_);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->user, made->user);
    EXPECT_EQ(again->node, made->node);
}

TEST_F(Tokens, OfAnAdministratorAreTaken) {
    put("user", std::string(32, 'u') + "\n");
    put("node", std::string(40, 'n') + " \n\n");
    const auto tokens = open_tokens(state_);
    ASSERT_TRUE(tokens) << to_text(tokens.error());
    EXPECT_EQ(tokens->user, std::string(32, 'u'));
    EXPECT_EQ(tokens->node, std::string(40, 'n'));
}

TEST_F(Tokens, ThatAreNoneAreRefusedWithWhatToDo) {
    for (const std::string text : {"", "\n", "short", std::string(31, 'x').c_str(),
                                   "0123456789 0123456789 0123456789 0123456789",
                                   "0123456789\n0123456789012345678901234567890"}) {
        put("user", text);
        const Error error = refused();
        EXPECT_EQ(error.code, Code::failed_precondition) << text;
        EXPECT_NE(error.message.find(path("user")), std::string::npos);
        EXPECT_NE(error.hint.find("remove the file"), std::string::npos);
        struct stat found{};
        EXPECT_EQ(::stat(path("user").c_str(), &found), 0) << "it is not replaced by itself";
    }
}

TEST_F(Tokens, ReadableByOthersStillServeButAreToldOf) {
    put("user", std::string(32, 'u'), 0644);
    testing::internal::CaptureStderr();
    const auto tokens = open_tokens(state_);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(tokens);
    EXPECT_NE(said.find("token_readable_by_others"), std::string::npos) << said;
    EXPECT_NE(said.find(path("user")), std::string::npos) << said;
    EXPECT_EQ(said.find(std::string(32, 'u')), std::string::npos) << "the token itself is secret";
}

TEST_F(Tokens, OfAnotherUserAreRefused) {
    put("user", std::string(32, 'u'));
    if (::chown(path("user").c_str(), nobody, nobody) != 0)
        GTEST_SKIP() << "only root gives a file to another user";
    const Error error = refused();
    EXPECT_EQ(error.code, Code::permission_denied);
    EXPECT_NE(error.message.find("65534"), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find("chown"), std::string::npos) << error.hint;
}

} // namespace
} // namespace muster::app
