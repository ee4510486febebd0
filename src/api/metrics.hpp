#pragma once
// Metrics in Prometheus' text form, from one described table (metrics.cpp): a metric that is not in
// it cannot be written. Labels are bounded: never ranks, jobs or ids. docs/metrics.md is checked
// against the table.

#include "control/ledger.hpp"
#include "io/http/server.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::api {

/// What the core's thread counts when it is asked.
struct ClusterCounts {
    std::map<std::string, std::int64_t> nodes_by_state;
    std::map<std::string, std::int64_t> workloads_by_phase;
    std::map<std::string, std::int64_t> restarts_by_reason; // since this start of the server
    std::int64_t devices = 0;
    std::int64_t devices_used = 0;
    Sequence facts = 0;
    std::int64_t events_waiting = 0;   // in the core's mailbox
    std::int64_t commands_held = 0;    // until their facts are durable
    std::int64_t requests_refused = 0; // because the mailbox was full
    bool journal_accepts = true;
    double journal_seconds = 0; // sum over commits: appended to durable
    std::int64_t journal_commits = 0;
    double step_seconds = 0; // sum over the core's steps
    std::int64_t steps = 0;
};

/// Nodes, devices, workloads and facts of a ledger.
void count_ledger(const control::Ledger& ledger, ClusterCounts& counts);
/// Restarts among new facts: generations after an attempt's first, attempts after a job's first.
/// The ledger, to which the facts were applied, tells the failure before each.
void count_restarts(const std::vector<FactRecord>& records, const control::Ledger& ledger,
                    ClusterCounts& counts);

enum class MetricKind { counter, gauge, histogram };
struct Metric {
    std::string_view name;
    MetricKind kind;
    std::string_view label; // empty: none
    std::string_view help;
};
std::span<const Metric> metrics();

/// Counts answered HTTP requests by operation and status class. Thread-safe.
class HttpMeter {
  public:
    static constexpr std::array<double, 9> bounds = {0.001, 0.005, 0.01, 0.05, 0.1,
                                                     0.5,   1,     5,    30}; // seconds

    /// `operation`: an operationId of the table, or "none".
    void count(std::string_view operation, int status, std::chrono::nanoseconds took);
    std::int64_t counted(std::string_view operation) const;
    void write(std::string& out) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t, std::less<>> by_operation_;
    std::map<int, std::int64_t> by_class_;
    std::array<std::int64_t, bounds.size()> buckets_{};
    std::int64_t count_ = 0;
    double seconds_ = 0;
};

std::string metrics_text(const ClusterCounts& counts, const http::HttpCounters& transport,
                         const HttpMeter& meter, std::size_t watchers);

} // namespace muster::api
