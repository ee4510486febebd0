#pragma once
// What an agent leaves for the launcher that it starts: <attempt dir>/launch.json, mode 0600. The
// launcher answers with <attempt dir>/launcher.pid ("PID START_TICKS"), and at its end with
// <attempt dir>/result.json (LauncherResult), each written under a temporary name and renamed.

#include "model/orders.hpp"

#include <string>

namespace muster {

struct LaunchFile {
    InstallationId installation;
    Incarnation incarnation = 0;
    AttemptOrder order;
    NodeName node;
    std::string server;                    // URL of the control plane: "http://127.0.0.1:7070"
    std::string token_file;                // the node's token lies there
    std::string address;                   // where peers reach this machine
    std::string node_dir;                  // <node dir>/logs/<workload id> takes the ranks' logs
    DeviceKind devices = DeviceKind::slot; // what the seats' device numbers count
    friend bool operator==(const LaunchFile&, const LaunchFile&) = default;
};
MUSTER_DESCRIBE(LaunchFile, installation, incarnation, order, node, server, token_file, address,
                node_dir, devices)

/// How a client finds its server: <state>/client.json, mode 0600, written by the server.
struct ClientFile {
    std::string server; // URL
    std::string token;  // of a user
    friend bool operator==(const ClientFile&, const ClientFile&) = default;
};
MUSTER_DESCRIBE(ClientFile, server, token)

} // namespace muster
