// Names that nobody resolves: this program's getaddrinfo() holds "slow.test" back, as a resolver
// does whose servers are away, and knows "quick.test".

#include "io/http/client.hpp"
#include "io/http/resolve.hpp"

#include <chrono>
#include <condition_variable>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string_view>
#include <thread>

namespace {

/// Where lookups of the slow name stand.
struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    int inside = 0;
    bool open = false;
};
Gate gate;

} // namespace

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    const bool by_name = hints == nullptr || (hints->ai_flags & AI_NUMERICHOST) == 0;
    if (host != nullptr && std::string_view(host) == "slow.test" && by_name) {
        std::unique_lock lock(gate.mutex);
        ++gate.inside;
        gate.changed.notify_all();
        gate.changed.wait_for(lock, std::chrono::seconds(20), [] { return gate.open; });
        --gate.inside;
        gate.changed.notify_all();
        return EAI_AGAIN;
    }
    if (host != nullptr && std::string_view(host) == "quick.test" && by_name) host = "127.0.0.1";
    using Real = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(host, service, hints, found);
}

namespace muster::http {
namespace {

class SlowNames : public testing::Test {
  protected:
    ~SlowNames() override {
        std::unique_lock lock(gate.mutex);
        gate.open = true;
        gate.changed.notify_all();
        gate.changed.wait(lock, [] { return gate.inside == 0; });
        gate.open = false;
    }
    static int inside() {
        const std::lock_guard lock(gate.mutex);
        return gate.inside;
    }

    Result<HttpClient> client_ = HttpClient::make("http://slow.test:80");
};

TEST_F(SlowNames, ALookupEndsWithItsRequest) {
    HttpCall call;
    call.target = "/";
    call.deadline = Duration::millis(50);
    for (int i = 0; i < 3; ++i) {
        const auto answer = client_->request(call);
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, Code::unavailable);
        EXPECT_NE(answer.error().message.find("was not looked up in time"), std::string::npos)
            << answer.error().message;
    }
    EXPECT_EQ(inside(), 1) << "one lookup at a time, and it still waits";
}

TEST_F(SlowNames, CancelEndsALookup) {
    HttpCall call;
    call.target = "/";
    call.deadline = Duration::seconds(60);
    std::thread canceller([this] {
        {
            std::unique_lock lock(gate.mutex);
            gate.changed.wait(lock, [] { return gate.inside == 1; });
        }
        client_->cancel();
    });
    const auto answer = client_->request(call);
    EXPECT_EQ(inside(), 1);
    canceller.join();
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().message.find("cancelled"), std::string::npos)
        << answer.error().message;
}

TEST_F(SlowNames, AWaitForAddressesHasALimit) {
    EXPECT_FALSE(addresses_of("slow.test", "80", Duration::millis(20)));
    EXPECT_TRUE(addresses_of("127.0.0.1", "80", Duration{}));
    EXPECT_TRUE(addresses_of("::1", "80", Duration{}));
    EXPECT_TRUE(addresses_of("quick.test", "80", Duration::seconds(20)));
}

} // namespace
} // namespace muster::http
