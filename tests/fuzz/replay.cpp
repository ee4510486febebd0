// Feeds every file of a corpus folder to a fuzz target, cuts of each, and mutations of each that
// are the same every time, without libFuzzer:
//
//     fuzz_rest tests/fuzz/corpus/rest            as a test
//     fuzz_rest tests/fuzz/corpus/rest 5000 7     5,000 mutations of each file, drawn from seed 7
//
// Where the target ends the process, the input lies in crash-input of the working folder.

#include "base/prng.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using muster::Prng;

constexpr std::uint64_t mutations_each = 50; // in a test run
constexpr std::size_t changes_max = 6;       // of one mutation
constexpr std::size_t piece_max = 64;        // bytes that move at once

std::string current; // what is being fed

extern "C" void keep_input(int signal) {
    const int fd = ::open("crash-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    [[maybe_unused]] const auto written = ::write(fd, current.data(), current.size());
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

void feed(std::string text) {
    current = std::move(text);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

std::string piece_of(const std::string& text, Prng& prng) {
    const std::size_t at = prng.below(text.size() + 1);
    return text.substr(at, 1 + prng.below(piece_max));
}

/// Numbers where parsers break.
std::string odd_number(Prng& prng) {
    static const std::vector<std::string> numbers = {"0",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e400",
                                                     "2",
                                                     "4294967296",
                                                     "1.5",
                                                     "-0"};
    return numbers[prng.below(numbers.size())];
}

void change(std::string& text, const std::string& other, Prng& prng) {
    const std::size_t at = prng.below(text.size() + 1);
    switch (prng.below(6)) {
    case 0:
        if (at < text.size()) text[at] = static_cast<char>(prng.below(256));
        break;
    case 1: text.erase(at, 1 + prng.below(piece_max)); break;
    case 2: text.insert(at, piece_of(text, prng)); break;
    case 3: text.insert(at, piece_of(other, prng)); break;
    case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << prng.below(8)));
        break;
    default: { // another number in the place of one
        const auto from = text.find_first_of("0123456789", at);
        if (from == std::string::npos) break;
        const auto to = text.find_first_not_of("0123456789", from);
        text.replace(from, to == std::string::npos ? to : to - from, odd_number(prng));
    }
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 4) {
        std::fprintf(stderr, "usage: %s <corpus folder> [mutations of each [seed]]\n", argv[0]);
        return 2;
    }
    const std::uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : mutations_each;
    Prng prng(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        ::signal(signal, keep_input);
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<std::string> texts;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>{});
    }
    for (const auto& text : texts) {
        feed(text);
        const std::size_t stride = 1 + text.size() / 100;
        for (std::size_t cut = 0; cut < text.size(); cut += stride) feed(text.substr(0, cut));
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::string changed = text;
            const std::string& other = texts[prng.below(texts.size())];
            for (auto n = 1 + prng.below(changes_max); n > 0; --n) change(changed, other, prng);
            feed(std::move(changed));
        }
    }
    std::printf("%zu files replayed\n", texts.size());
    return texts.empty() ? 1 : 0; // an empty corpus tests nothing
}
