#include "app/server_state.hpp"

#include "app/random.hpp"
#include "codec/json.hpp"
#include "io/http/message.hpp"
#include "io/posix/files.hpp"
#include "io/posix/log.hpp"
#include "model/launch_file.hpp"

#include <algorithm>
#include <charconv>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr std::size_t token_bytes = 32;    // 256 bits, written as hex
constexpr std::size_t token_text_min = 32; // of one that an administrator has put there
constexpr std::size_t token_file_max = 4096;
constexpr rlim_t other_descriptors = 256; // journal, listener, logs: not connections

std::string new_token() {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < token_bytes / sizeof(std::uint64_t); ++i)
        for (std::uint64_t bits = random_bits(), k = 0; k < 16; ++k, bits >>= 4)
            text += digits[bits & 15];
    return text;
}

Result<std::string> open_token(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0 && errno == ENOENT) {
        const std::string token = new_token();
        if (auto written = io::write_file_atomically(path, token + "\n", 0600); !written)
            return fail(written.error());
        return token;
    }
    // Whoever owns the file can put a token of their choice there.
    if (found.st_uid != ::geteuid() && found.st_uid != 0)
        return fail(Code::permission_denied,
                    path + " belongs to user " + std::to_string(found.st_uid) +
                        ", who could change the token",
                    "chown it to the server's user, or remove it: the next start makes a new one");
    auto text = io::read_file(path, token_file_max);
    if (!text) return text;
    while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    const bool usable =
        text->size() >= token_text_min &&
        std::all_of(text->begin(), text->end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!usable)
        return fail(Code::failed_precondition,
                    path + " does not hold a token of at least 32 visible characters",
                    "remove the file: the next start makes a new token");
    if ((found.st_mode & 077) != 0)
        io::log_event("token_readable_by_others", {{"path", path}, {"do", "chmod 600"}});
    return text;
}

} // namespace

Result<ServerTokens> open_tokens(const std::string& state) {
    auto user = open_token(state + "/server/user.token");
    if (!user) return fail(user.error());
    auto node = open_token(state + "/server/node.token");
    if (!node) return fail(node.error());
    return ServerTokens{std::move(*user), std::move(*node)};
}

Status write_client_file(const std::string& state, const std::string& url,
                         const std::string& user_token) {
    const std::string file = state + "/client.json";
    const std::string text = codec::pretty_json(codec::to_json(ClientFile{url, user_token})) + "\n";
    // As it is after most restarts, and then a full disk is no reason not to start.
    if (const auto known = io::read_file(file); known && *known == text) return ok();
    return io::write_file_atomically(file, text, 0600);
}

Result<ListenAddress> parse_listen(const std::string& text) {
    const auto wrong = [&] {
        return fail(Code::invalid_argument, "\"" + text + "\" is not an address to listen on",
                    "write it as 127.0.0.1:7070 or [::1]:7070", "listen");
    };
    ListenAddress parsed;
    const std::size_t colon = text.rfind(':');
    const bool port_alone = colon == std::string::npos;
    parsed.address = port_alone ? "127.0.0.1" : text.substr(0, colon);
    if (parsed.address.size() > 2 && parsed.address.front() == '[' && parsed.address.back() == ']')
        parsed.address = parsed.address.substr(1, parsed.address.size() - 2);
    else if (parsed.address.find(':') != std::string::npos)
        return wrong(); // "::1": which colon is the port's?
    if (parsed.address.empty() || parsed.address == "localhost") parsed.address = "127.0.0.1";
    const std::string port = port_alone ? text : text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
    if (error != std::errc{} || end != port.data() + port.size()) return wrong();
    return parsed;
}

std::size_t connections_possible() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'000;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t room = limit.rlim_cur > 2 * other_descriptors ? limit.rlim_cur - other_descriptors
                                                               : limit.rlim_cur / 2;
    const auto possible = std::min<rlim_t>(room, http::connections_max);
    if (possible < http::connections_max)
        io::log_event("few_open_files",
                      {{"limit", std::to_string(limit.rlim_cur)},
                       {"connections", std::to_string(possible)},
                       {"do", "raise the hard limit of open files to serve more clients"}});
    return possible;
}

std::string own_user_name() {
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    if (::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr)
        return found->pw_name;
    return std::to_string(::geteuid());
}

} // namespace muster::app
