// The one binary: the command line, with the parts of Muster that its verbs start.

#include "app/agent.hpp"
#include "app/launch.hpp"
#include "app/server.hpp"
#include "app/up.hpp"
#include "cli/cli.hpp"
#include "cli/errors.hpp"

namespace {

using namespace muster;

int finish(const Status& status) {
    return status ? cli::exit_ok : cli::report_error(status.error());
}

int server(const cli::ServerFlags& flags) {
    app::ServerOptions options;
    options.state = flags.state;
    if (!flags.listen.empty()) options.listen = flags.listen;
    return finish(app::run_server(options));
}

int agent(const cli::AgentFlags& flags) {
    app::AgentOptions options;
    options.server = flags.server;
    options.token_file =
        flags.token_file.empty() ? flags.state + "/server/node.token" : flags.token_file;
    options.node = flags.node.empty() ? app::default_node_name() : flags.node;
    options.node_dir = flags.state + "/nodes/" + options.node;
    options.address = flags.address;
    options.slots = flags.slots;
    return finish(app::run_agent(options));
}

int up(const cli::UpFlags& flags) {
    app::UpOptions options;
    options.state = flags.state;
    if (!flags.listen.empty()) options.listen = flags.listen;
    options.nodes = flags.nodes;
    options.slots = flags.slots;
    options.detach = flags.detach;
    return finish(app::run_up(options));
}

int down(const cli::DownFlags& flags) { return finish(app::run_down({flags.state})); }

} // namespace

int main(int argc, char** argv) {
    cli::PartVerbs parts;
    parts.server = server;
    parts.agent = agent;
    parts.launch = app::run_launch;
    parts.up = up;
    parts.down = down;
    return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, parts);
}
