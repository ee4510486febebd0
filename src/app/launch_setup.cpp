#include "app/launch_setup.hpp"

#include "codec/json.hpp"
#include "io/posix/files.hpp"
#include "model/spec.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/random.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr const char* standalone_node = "local";
constexpr const char* loopback = "127.0.0.1";

std::string current_folder() {
    char* path = ::getcwd(nullptr, 0);
    const std::string result = path == nullptr ? "/" : path;
    std::free(path);
    return result;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

WorkloadId random_id(Instant now) {
    std::uint64_t words[2] = {};
    (void)!::getrandom(words, sizeof words, 0);
    return WorkloadId::make(now, words[0], words[1]);
}

/// <state>/checkpoints/<workload id> where the node's folder is <state>/nodes/<node>, so that nodes
/// of one machine share it; else below the node's folder.
std::string checkpoint_folder(const std::string& node_dir, const WorkloadId& workload) {
    const auto node = node_dir.rfind('/');
    const auto nodes = node == std::string::npos ? node : node_dir.rfind('/', node - 1);
    std::string base = node_dir;
    if (nodes != std::string::npos && node_dir.substr(nodes, node - nodes) == "/nodes")
        base = node_dir.substr(0, nodes);
    return base + "/checkpoints/" + to_text(workload);
}

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

std::vector<std::string> rank_command(const cli::LaunchFlags& flags) {
    std::vector<std::string> command;
    if (!flags.no_python) {
        const std::string python = environment("MUSTER_PYTHON");
        command = {python.empty() ? "python3" : python, "-u"};
        if (flags.module) command.push_back("-m");
    }
    command.insert(command.end(), flags.command.begin(), flags.command.end());
    return command;
}

} // namespace

const PlacedNode& LaunchSetup::seats() const {
    return config.order.placement.nodes[static_cast<std::size_t>(config.order.launcher_index)];
}

Result<LaunchSetup> managed_setup(const std::string& attempt_dir) {
    const std::string path = attempt_dir + "/launch.json";
    const auto text = io::read_file(path);
    if (!text) return fail(text.error());
    auto file = codec::from_json<LaunchFile>(*text, codec::UnknownKeys::ignore);
    if (!file) {
        Error error = file.error();
        error.message = path + ": " + error.message;
        return fail(std::move(error));
    }
    const auto& order = file->order;
    if (order.launcher_index < 0 ||
        order.launcher_index >= static_cast<std::int64_t>(order.placement.nodes.size()))
        return fail(Code::invalid_argument, path + ": launcher_index is not one of the placement",
                    {}, "order.launcher_index");
    auto token = io::read_file(file->token_file, 4096);
    if (!token) return fail(token.error());

    LaunchSetup setup;
    setup.config.installation = file->installation;
    setup.config.incarnation = file->incarnation;
    setup.config.order = order;
    setup.config.address = file->address.empty() ? loopback : file->address;
    setup.node = file->node;
    setup.devices = file->devices;
    setup.node_dir = file->node_dir;
    setup.log_folder = file->node_dir + "/logs/" + to_text(order.workload);
    setup.attempt_dir = attempt_dir;
    setup.checkpoint_dir = checkpoint_folder(file->node_dir, order.workload);
    setup.server = file->server;
    setup.token = trimmed(*token);
    return setup;
}

Result<LaunchSetup> standalone_setup(const cli::LaunchFlags& flags, Instant now) {
    if (flags.command.empty())
        return fail(Code::invalid_argument, "there is nothing to launch",
                    "give a script: muster launch --nproc-per-node 4 train.py", "command");
    WorkloadSpec spec;
    Role role;
    role.ranks = flags.nproc_per_node;
    role.ranks_per_node = flags.nproc_per_node;
    role.devices_per_rank = 0;
    role.command = rank_command(flags);
    spec.roles = {role};
    spec.workdir = current_folder();
    spec.restarts.per_ten_minutes = flags.max_restarts;
    auto checked = checked_spec(std::move(spec));
    if (!checked) {
        Error error = checked.error();
        if (error.field.find("ranks") != std::string::npos) error.field = "--nproc-per-node";
        return fail(std::move(error));
    }

    LaunchSetup setup;
    auto& order = setup.config.order;
    order.workload = random_id(now);
    order.attempt = 1;
    order.name = default_name(*checked, order.workload);
    order.spec = std::move(*checked);
    PlacedNode node{NodeName{standalone_node}, 1, {}};
    for (std::int64_t i = 0; i < flags.nproc_per_node; ++i)
        node.seats.push_back(Seat{order.spec.roles[0].name, {}});
    order.placement.nodes = {std::move(node)};
    setup.config.standalone = true;
    setup.config.address = loopback;
    setup.node = NodeName{standalone_node};
    setup.log_folder = flags.log_dir;
    setup.checkpoint_dir = order.spec.workdir + "/.muster/checkpoints";
    if (const auto wish = environment("MUSTER_CHECKPOINT_DIR"); !wish.empty())
        setup.checkpoint_dir = wish;
    return setup;
}

} // namespace muster::app
