// Feeds every file of a corpus folder to a fuzz target, and cuts of each, without libFuzzer.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void feed(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s <corpus folder>\n", argv[0]);
        return 2;
    }
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        feed(text);
        const std::size_t stride = 1 + text.size() / 100;
        for (std::size_t cut = 0; cut < text.size(); cut += stride) feed(text.substr(0, cut));
        ++files;
    }
    std::printf("%zu files replayed\n", files);
    return files == 0 ? 1 : 0; // an empty corpus tests nothing
}
