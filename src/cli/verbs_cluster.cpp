// Flags of the verbs that are parts of Muster.

#include "cli/api.hpp"
#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/verbs.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace muster::cli {
namespace {

template <class Flags>
int hand_on(const std::function<int(const Flags&)>& part, const Flags& flags) {
    if (part) return part(flags);
    return report_error({Code::failed_precondition, say("this build has no such part"), {}, {}});
}

void add_state(CLI::App& app, std::string& state) {
    app.add_option("--state", state, "state directory (MUSTER_STATE)")->type_name("DIR");
}

Action declare_up(CLI::App& app, const PartVerbs& parts) {
    auto flags = std::make_shared<UpFlags>();
    app.footer(
        "Stays in front until Ctrl-C, which stops the whole cluster; --detach leaves it running.");
    app.add_option("--nodes", flags->nodes, "nodes to play on this machine (1)")->type_name("N");
    app.add_option("--slots", flags->slots,
                   "CPU slots of each node; where there is no GPU, its CPUs")
        ->type_name("N");
    app.add_option("--listen", flags->listen, "address of the server (127.0.0.1:7070)")
        ->type_name("HOST:PORT");
    app.add_flag("-d,--detach", flags->detach,
                 "return when the cluster is ready; muster down stops it");
    add_state(app, flags->state);
    return [flags, up = parts.up] {
        flags->state = state_directory(flags->state);
        return hand_on(up, *flags);
    };
}

Action declare_down(CLI::App& app, const PartVerbs& parts) {
    auto flags = std::make_shared<DownFlags>();
    add_state(app, flags->state);
    return [flags, down = parts.down] {
        flags->state = state_directory(flags->state);
        return hand_on(down, *flags);
    };
}

Action declare_server(CLI::App& app, const PartVerbs& parts) {
    auto flags = std::make_shared<ServerFlags>();
    app.add_option("--listen", flags->listen, "address (127.0.0.1:7070); port 0 takes a free one")
        ->type_name("HOST:PORT");
    add_state(app, flags->state);
    return [flags, server = parts.server] {
        flags->state = state_directory(flags->state);
        return hand_on(server, *flags);
    };
}

Action declare_agent(CLI::App& app, const PartVerbs& parts) {
    auto flags = std::make_shared<AgentFlags>();
    app.add_option("--server", flags->server, "URL of the server (MUSTER_SERVER)")
        ->type_name("URL")
        ->envname("MUSTER_SERVER");
    app.add_option("--token-file", flags->token_file,
                   "file with the node token; <state>/server/node.token where absent")
        ->type_name("FILE");
    app.add_option("--node", flags->node, "the node's name; the host's where absent");
    app.add_option("--slots", flags->slots, "CPU slots; where there is no GPU, the number of CPUs")
        ->type_name("N");
    app.add_option("--address", flags->address, "where other nodes reach this machine");
    add_state(app, flags->state);
    return [flags, agent = parts.agent] {
        if (flags->server.empty())
            return report_error(
                {Code::invalid_argument, say("an agent needs a server, and none is named"),
                 say("write muster agent --server http://HOST:7070, or set MUSTER_SERVER"),
                 "--server"});
        flags->state = state_directory(flags->state);
        return hand_on(agent, *flags);
    };
}

Action declare_launch(CLI::App& app, const PartVerbs& parts) {
    auto flags = std::make_shared<LaunchFlags>();
    app.footer(
        "Runs ranks on this machine without a server. torchrun's spelling of flags is accepted.");
    app.prefix_command();
    app.add_option("--attempt-dir", flags->attempt_dir,
                   "set by an agent: all else comes from there")
        ->type_name("DIR");
    app.add_option("--nproc-per-node,--nproc_per_node", flags->nproc_per_node, "ranks (1)")
        ->type_name("K");
    app.add_option("--max-restarts,--max_restarts", flags->max_restarts,
                   "restarts in ten minutes (3)")
        ->type_name("N");
    app.add_flag("--no-python,--no_python", flags->no_python,
                 "the command is a program, not a script");
    app.add_flag("-m,--module", flags->module, "the command is a Python module");
    app.add_option("--log-dir,--log_dir", flags->log_dir, "folder for the ranks' logs")
        ->type_name("DIR");
    app.add_flag_function(
        "--standalone", [](std::int64_t) {}, "accepted: one machine is what this verb does");
    app.add_option_function<std::string>(
           "--nnodes", [](const std::string&) {}, "accepted: 1")
        ->type_name("1")
        ->check([](const std::string& text) {
            return text == "1" || text == "1:1" ? std::string()
                                                : say("muster launch alone is for one machine; "
                                                      "muster run --nodes N spreads over more");
        });
    return [flags, launch = parts.launch, &app] {
        return take_command(app, flags->command) ? hand_on(launch, *flags) : exit_usage;
    };
}

} // namespace

std::vector<Verb> cluster_verbs() {
    const std::string group = say("Running Muster");
    return {{"up", group, "", say("start a whole cluster on this machine"), declare_up},
            {"down", group, "", say("stop what muster up started"), declare_down},
            {"server", group, "", say("the control plane"), declare_server},
            {"agent", group, "", say("one per machine: offers its devices and runs ranks"),
             declare_agent},
            {"launch", group, "-- script.py arguments",
             say("ranks on this machine alone, in torchrun's manner"), declare_launch}};
}

} // namespace muster::cli
