#pragma once
// Node: one machine of the cluster; Device: an accelerator or a CPU slot of it.

#include "base/time.hpp"
#include "model/describe.hpp"
#include "model/ids.hpp"
#include "model/reason.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

enum class DeviceKind { slot, gpu };
MUSTER_DESCRIBE_ENUM(DeviceKind, slot, gpu)

struct Device {
    std::int64_t index = 0;             // on its node, from 0
    DeviceKind kind = DeviceKind::slot; // slot: a share of the CPUs, for nodes without accelerators
    std::string uuid;                   // stable over reboots; empty for slots
    std::string product;                // "NVIDIA H200"; empty for slots
    std::int64_t memory_bytes = 0;
    friend bool operator==(const Device&, const Device&) = default;
};
MUSTER_DESCRIBE(Device, index, kind, uuid, product, memory_bytes)

/// What an agent says of its machine when it joins or when it changes.
struct Inventory {
    std::string hostname;
    std::string address; // where peers reach this machine
    std::int64_t cpus = 0;
    std::int64_t memory_bytes = 0;
    std::vector<Device> devices;
    std::string version; // of the agent
    friend bool operator==(const Inventory&, const Inventory&) = default;
};
MUSTER_DESCRIBE(Inventory, hostname, address, cpus, memory_bytes, devices, version)

enum class CordonOwner { admin, health, maintenance, scaling };
MUSTER_DESCRIBE_ENUM(CordonOwner, admin, health, maintenance, scaling)

struct Cordon {
    CordonOwner owner = CordonOwner::admin;
    std::string reason;
    Instant since;
    friend bool operator==(const Cordon&, const Cordon&) = default;
};
MUSTER_DESCRIBE(Cordon, owner, reason, since)

enum class Contact { connected, suspect, lost };
MUSTER_DESCRIBE_ENUM(Contact, connected, suspect, lost)

/// Load of a machine at one time; a share is per mille of the whole.
struct NodeSample {
    Instant at;
    std::int64_t cpu_per_mille = 0;
    std::int64_t memory_used_bytes = 0;
    std::int64_t disk_used_per_mille = 0;
    std::int64_t network_received_bytes = 0; // since boot
    std::int64_t network_sent_bytes = 0;     // since boot
    friend bool operator==(const NodeSample&, const NodeSample&) = default;
};
MUSTER_DESCRIBE(NodeSample, at, cpu_per_mille, memory_used_bytes, disk_used_per_mille,
                network_received_bytes, network_sent_bytes)

} // namespace muster
