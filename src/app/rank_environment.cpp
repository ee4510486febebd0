#include "app/rank_environment.hpp"

#include "app/loopback.hpp"

#include "base/require.hpp"

#include <algorithm>
#include <unistd.h>

namespace muster::app {
namespace {

/// Tokens and the places of the control plane's files are not for ranks.
constexpr const char* withheld[] = {"MUSTER_TOKEN", "MUSTER_STATE", "MUSTER_SERVER"};

std::int64_t count_rows(const RankTable& table, auto matches) {
    return std::count_if(table.ranks.begin(), table.ranks.end(), matches);
}

std::string devices_text(const std::vector<std::int64_t>& devices) {
    std::string text;
    for (const auto device : devices) {
        if (!text.empty()) text += ',';
        text += std::to_string(device);
    }
    return text;
}

void set_torch(Environment& env, const RankPlace& place, std::int64_t local_ranks) {
    const RankTable& table = *place.table;
    const RankRow& row = *place.row;
    const auto world = static_cast<std::int64_t>(table.ranks.size());
    const auto in_role =
        count_rows(table, [&](const RankRow& other) { return other.role == row.role; });
    env["MASTER_ADDR"] = table.master_address;
    env["MASTER_PORT"] = std::to_string(table.master_port);
    env["RANK"] = std::to_string(row.rank);
    env["LOCAL_RANK"] = std::to_string(row.local_rank);
    env["WORLD_SIZE"] = std::to_string(world);
    env["LOCAL_WORLD_SIZE"] = std::to_string(local_ranks);
    env["GROUP_RANK"] = std::to_string(row.launcher);
    env["GROUP_WORLD_SIZE"] = std::to_string(place.launchers);
    env["ROLE_RANK"] = std::to_string(row.role_rank);
    env["ROLE_WORLD_SIZE"] = std::to_string(in_role);
    env["ROLE_NAME"] = to_text(row.role);
    env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(table.restarts);
    env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(place.spec->restarts.per_ten_minutes);
    env["TORCHELASTIC_RUN_ID"] = to_text(place.workload);
    env["TORCHELASTIC_USE_AGENT_STORE"] = "False";
    env["TORCHELASTIC_ERROR_FILE"] = place.error_file;
    // As torchrun does. PyTorch reads the first name up to 2.1, the second from 2.2 on.
    env.emplace("NCCL_ASYNC_ERROR_HANDLING", "1");
    env.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    if (local_ranks > 1) env.emplace("OMP_NUM_THREADS", "1");
    // A host name that does not resolve would send gloo looking for an interface.
    if (is_loopback(table.master_address)) env.emplace("GLOO_SOCKET_IFNAME", "lo");
    if (place.gpus) env["CUDA_VISIBLE_DEVICES"] = devices_text(row.devices);
}

void set_muster(Environment& env, const RankPlace& place) {
    const RankTable& table = *place.table;
    const RankRow& row = *place.row;
    env["MUSTER_JOB"] = to_text(place.job);
    env["MUSTER_WORKLOAD_ID"] = to_text(place.workload);
    env["MUSTER_ATTEMPT"] = std::to_string(place.attempt);
    env["MUSTER_TERM"] = std::to_string(table.term);
    env["MUSTER_GENERATION"] = std::to_string(table.generation);
    env["MUSTER_RANK"] = std::to_string(row.rank);
    env["MUSTER_WORLD_SIZE"] = std::to_string(table.ranks.size());
    env["MUSTER_NODE"] = to_text(place.node);
    env["MUSTER_DEVICES"] = devices_text(row.devices);
    env["MUSTER_RESTARTS"] = std::to_string(table.restarts);
    env["MUSTER_PROGRESS_PAGE"] = place.progress_page;
    env["MUSTER_LIBRARY"] = place.library;
    if (!place.checkpoint_dir.empty()) env.emplace("MUSTER_CHECKPOINT_DIR", place.checkpoint_dir);
    if (!place.python_path.empty()) {
        const std::string& before = env["PYTHONPATH"];
        env["PYTHONPATH"] = before.empty() ? place.python_path : place.python_path + ":" + before;
    }
}

} // namespace

Environment rank_environment(Environment inherited, const RankPlace& place) {
    REQUIRE(place.table != nullptr && place.row != nullptr && place.spec != nullptr,
            "a rank's place names its table, row and spec");
    Environment env = std::move(inherited);
    for (const char* name : withheld) env.erase(name);
    env.erase("MUSTER_CHECKPOINT_DIR"); // of an outer job; the setup has taken a wish into account
    for (const auto& role : place.spec->roles)
        if (role.name == place.row->role)
            for (const auto& [name, value] : role.env) env[name] = value;
    const auto local_ranks = count_rows(
        *place.table, [&](const RankRow& other) { return other.launcher == place.row->launcher; });
    set_torch(env, place, local_ranks);
    set_muster(env, place);
    return env;
}

std::vector<std::string> to_entries(const Environment& environment) {
    std::vector<std::string> entries;
    entries.reserve(environment.size());
    for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
    return entries;
}

Environment own_environment() {
    Environment environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string::npos && equals > 0)
            environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return environment;
}

} // namespace muster::app
