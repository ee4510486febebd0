// run_agent() as a process of its own: URL, token file, node directory, program of launchers.

#include "app/agent.hpp"

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const auto status = muster::app::run_agent({.server = argv[1],
                                                .token_file = argv[2],
                                                .node = "n1",
                                                .node_dir = argv[3],
                                                .address = "127.0.0.1",
                                                .slots = 2,
                                                .program = argv[4]});
    if (status) return 0;
    std::fprintf(stderr, "error: %s\n", muster::to_text(status.error()).c_str());
    return 1;
}
