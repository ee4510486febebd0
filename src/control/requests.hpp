#pragma once
// What people and programs ask of the control plane, and what they get.

#include "model/views.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster::control {

/// Ask for a workload to be run. With dry_run nothing changes and the answer is what would happen.
struct Submit {
    WorkloadSpec spec; // checked (model/spec.hpp)
    std::string client_token;
    bool dry_run = false;
};
/// `job` in these is a name (the newest bearer) or an id.
struct Cancel {
    std::string job;
};
struct ListWorkloads {
    bool all = false; // terminal ones too
    std::int64_t limit = 100;
    std::string after; // page token of the answer before; empty: the start
};
struct GetWorkload {
    std::string job;
};
struct Why {
    std::string job;
};
struct GetReport {
    std::string job;
};
/// Answered once the workload is terminal, or as it is when `hold` ends.
struct AwaitWorkload {
    std::string job;
    Duration hold;
};
struct ListNodes {
    std::int64_t limit = 100;
    std::string after;
};
struct GetNode {
    NodeName node;
};
struct CordonNode {
    NodeName node;
    std::string reason;
};
struct UncordonNode {
    NodeName node;
};
struct ReadJobLogs {
    std::string job;
    std::vector<LogPosition> positions; // empty: every rank
    std::int64_t bytes_max = 256 * 1024;
};
struct GetServer {};

using Request =
    std::variant<Submit, Cancel, ListWorkloads, GetWorkload, Why, GetReport, AwaitWorkload,
                 ListNodes, GetNode, CordonNode, UncordonNode, ReadJobLogs, GetServer>;

struct Submitted {
    WorkloadView workload;
    bool existed = false;      // the client token was seen before: this is that workload
    bool dry_run = false;      // nothing was made
    std::vector<WhyItem> plan; // dry run: what would happen now
};
MUSTER_DESCRIBE(Submitted, workload, existed, dry_run, plan)
struct WorkloadPage {
    std::vector<WorkloadView> items;
    std::string next; // page token; empty: this was the last page
};
MUSTER_DESCRIBE(WorkloadPage, items, next)
struct NodePage {
    std::vector<NodeView> items;
    std::string next;
};
MUSTER_DESCRIBE(NodePage, items, next)

using Response = std::variant<Submitted, WorkloadPage, WorkloadDetail, WhyView, ReportView,
                              NodePage, NodeView, JobLogs, ServerView>;

inline constexpr std::int64_t page_limit_max = 1'000;
inline constexpr Duration hold_max = Duration::seconds(60); // of a poll, whatever was asked
inline constexpr std::int64_t log_bytes_max = 1024 * 1024;  // of one node in one answer

} // namespace muster::control
