// The one binary: hands each verb to its part.

#include "app/launch.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>

namespace {

int launch(int argc, char** argv) {
    muster::app::LaunchOptions options;
    for (int i = 2; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (!flag.starts_with("-") || flag == "--") {
            options.command.assign(argv + i + (flag == "--" ? 1 : 0), argv + argc);
            break;
        }
        const auto equals = flag.find('=');
        const std::string_view name = flag.substr(0, equals);
        if (name == "--no-python") {
            options.no_python = true;
            continue;
        }
        if (name == "--standalone") continue;
        if (equals == std::string_view::npos && i + 1 >= argc) return 2;
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view(argv[++i]) : flag.substr(equals + 1);
        if (name == "--attempt-dir") options.attempt_dir = value;
        else if (name == "--log-dir") options.log_dir = value;
        else if (name == "--nproc-per-node" || name == "--nproc_per_node")
            std::from_chars(value.data(), value.data() + value.size(), options.nproc_per_node);
        else if (name == "--max-restarts" || name == "--max_restarts")
            std::from_chars(value.data(), value.data() + value.size(), options.max_restarts);
        else {
            std::fprintf(stderr, "muster launch: unknown flag %s\n", argv[i]);
            return 2;
        }
    }
    return muster::app::run_launch(options);
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "launch") return launch(argc, argv);
    std::fputs("usage: muster launch --nproc-per-node N [--] script.py arguments\n", stderr);
    return 2;
}
