// What one end says about itself.

#include "recovery/recovery.hpp"
#include "recovery/words.hpp"

#include <array>

namespace muster::recovery {
namespace {

// Linux's numbers, spelt out: the core may judge ends of a machine that it does not run on.
constexpr std::int64_t signal_abort = 6;

/// Errors that torch, gloo, NCCL and the C library raise in a rank whose peer is gone, or which
/// waited for one in vain. Lower case; matched as parts of a line.
constexpr std::array<std::string_view, 27> peer_loss_words = {
    "connection reset by peer",
    "connection closed by peer",
    "connection closed by remote peer",
    "connection was likely closed",
    "connection refused",
    "connectionreseterror",
    "connectionrefusederror",
    "brokenpipeerror",
    "broken pipe",
    "software caused connection abort",
    "socket closed",
    "socket timeout",
    "failed to recv, got 0 bytes",
    "recvvalue failed",
    "distnetworkerror",
    "diststoreerror",
    "store->get() got error",
    "timed out waiting",
    "ncclremoteerror",
    "remote process exiting",
    "nccl communicator was aborted",
    "watchdog caught collective operation timeout",
    "collective operation timeout",
    "gloo/transport/tcp/pair",
    "application timeout caused pair closure",
    "unhandled system error",
    "no route to host",
};

/// The machine's passing trouble rather than the program's: all ranks may say it and a retry still
/// make sense.
constexpr std::array<std::string_view, 7> surroundings_words = {
    "address already in use",
    "eaddrinuse",
    "resource temporarily unavailable",
    "no space left on device",
    "cannot allocate memory",
    "temporary failure in name resolution",
    "stale file handle",
};

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

template <std::size_t size>
bool has_any(std::string_view text, const std::array<std::string_view, size>& words) {
    const std::string low = lower(text);
    for (const auto word : words)
        if (low.find(word) != std::string::npos) return true;
    return false;
}

/// The messages of a traceback: its lines that are not indented, so source text is left out. A
/// chain
/// ("During handling of ...") has several, and the first cause of a chain counts like the last.
std::string messages_of(std::string_view traceback) {
    std::string result;
    for (std::size_t begin = 0; begin < traceback.size();) {
        std::size_t end = traceback.find('\n', begin);
        if (end == std::string_view::npos) end = traceback.size();
        const std::string_view line = traceback.substr(begin, end - begin);
        if (!line.empty() && line[0] != ' ' && line[0] != '\t') {
            result += line;
            result += '\n';
        }
        begin = end + 1;
    }
    return result;
}

bool has_text(std::string_view line) {
    return line.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

/// All that the rank said at its end, as far as it may name a lost peer.
std::string testimony(const RankExit& exit) {
    if (has_text(exit.traceback)) return messages_of(exit.traceback);
    std::string result;
    for (const auto& line : exit.last_lines) result += line + '\n';
    return result;
}

} // namespace

bool speaks_of_peer_loss(std::string_view text) { return has_any(text, peer_loss_words); }
bool speaks_of_surroundings(std::string_view text) { return has_any(text, surroundings_words); }

std::string last_words(const RankExit& exit) {
    const std::string messages = messages_of(exit.traceback);
    for (std::size_t end = messages.size(); end > 0;) {
        const std::size_t newline = messages.rfind('\n', end - 1);
        const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
        const std::string line = messages.substr(begin, end - begin);
        if (has_text(line) && !line.starts_with("Traceback (")) return line;
        if (newline == std::string::npos) break;
        end = newline;
    }
    for (auto line = exit.last_lines.rbegin(); line != exit.last_lines.rend(); ++line)
        if (has_text(*line)) return *line;
    return exit.start_error;
}

bool failed(const RankExit& exit) {
    return !exit.killed_by_us && (exit.cannot_execute || exit.exit_code != 0 || exit.signal != 0);
}

std::int64_t exit_code_of(const RankExit& exit) {
    constexpr std::int64_t not_executable = 127; // what a shell says of a command it cannot find
    if (exit.signal != 0) return 128 + exit.signal;
    if (exit.cannot_execute && exit.exit_code == 0) return not_executable;
    return exit.exit_code;
}

Evidence evidence_of(const RankExit& exit) {
    if (!failed(exit)) return Evidence::none;
    if (exit.cannot_execute || exit.exit_code == exit_do_not_retry) return Evidence::own;
    // A shell around the rank reports its child's signal as 128 + signal.
    const std::int64_t code = exit_code_of(exit);
    const bool by_signal = code > 128 && code <= 128 + 64;
    // abort() is also how an uncaught C++ error of a lost peer ends; all other signals speak for
    // themselves, whatever was printed before.
    if (by_signal && code != 128 + signal_abort) return Evidence::own;
    if (speaks_of_peer_loss(testimony(exit))) return Evidence::consequence;
    if (by_signal || has_text(exit.traceback)) return Evidence::own;
    return Evidence::plain;
}

bool alike(const RankExit& a, const RankExit& b) {
    if (exit_code_of(a) != exit_code_of(b) || (a.signal != 0) != (b.signal != 0)) return false;
    // "[rank3]: ..." and process ids differ between ranks that fail alike.
    const auto without_numbers = [](const std::string& text) {
        std::string result;
        for (const char c : text)
            if (c < '0' || c > '9') result += c;
        return result;
    };
    return without_numbers(last_words(a)) == without_numbers(last_words(b));
}

} // namespace muster::recovery
