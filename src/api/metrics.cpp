#include "api/metrics.hpp"

#include "base/require.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace muster::api {
namespace {

constexpr auto table = std::to_array<Metric>({
    {"muster_nodes", MetricKind::gauge, "state", "Nodes by state: in_service, cordoned, lost."},
    {"muster_devices", MetricKind::gauge, "", "Devices of all nodes that are not lost."},
    {"muster_devices_used", MetricKind::gauge, "", "Devices held by attempts."},
    {"muster_workloads", MetricKind::gauge, "phase", "Workloads that the ledger knows, by phase."},
    {"muster_facts_total", MetricKind::counter, "",
     "Facts of this installation, from its creation."},
    {"muster_restarts_total", MetricKind::counter, "reason",
     "Restarts since the server started, by the reason of the failure before."},
    {"muster_core_steps_total", MetricKind::counter, "", "Steps of the control plane's core."},
    {"muster_core_step_seconds_total", MetricKind::counter, "", "Time spent in those steps."},
    {"muster_core_events_waiting", MetricKind::gauge, "", "Events in the core's mailbox."},
    {"muster_core_commands_held", MetricKind::gauge, "", "Answers that wait for the journal."},
    {"muster_requests_refused_total", MetricKind::counter, "",
     "Requests refused because the core's mailbox was full."},
    {"muster_journal_accepts", MetricKind::gauge, "",
     "1 while the journal takes facts; 0 with a full disk or after a failed write."},
    {"muster_journal_commits_total", MetricKind::counter, "", "Batches of facts made durable."},
    {"muster_journal_commit_seconds_total", MetricKind::counter, "",
     "Time from appending a batch to its being durable."},
    {"muster_http_requests_total", MetricKind::counter, "operation",
     "Answered requests by operation (operationId of /openapi.json)."},
    {"muster_http_responses_total", MetricKind::counter, "class", "Answers by class of status."},
    {"muster_http_request_seconds", MetricKind::histogram, "",
     "Time to answer, held polls included."},
    {"muster_http_bad_requests_total", MetricKind::counter, "",
     "What came in and was no request: not HTTP, too large or too slow."},
    {"muster_http_connections", MetricKind::gauge, "", "Open connections."},
    {"muster_http_connections_total", MetricKind::counter, "", "Accepted connections."},
    {"muster_http_connections_refused_total", MetricKind::counter, "",
     "Connections turned away because too many were open."},
    {"muster_event_watchers", MetricKind::gauge, "", "Readers of the event stream."},
    {"muster_event_watchers_cut_total", MetricKind::counter, "", "Readers cut for being too slow."},
    {"process_cpu_seconds_total", MetricKind::counter, "", "CPU time of the server."},
    {"process_resident_memory_bytes", MetricKind::gauge, "", "Resident memory of the server."},
    {"process_open_fds", MetricKind::gauge, "", "Open file descriptors of the server."},
});

std::string_view kind_name(MetricKind kind) {
    switch (kind) {
    case MetricKind::counter: return "counter";
    case MetricKind::gauge: return "gauge";
    case MetricKind::histogram: return "histogram";
    }
    return "";
}

/// Writes the head of a metric; one that is not in the table breaks a REQUIRE.
const Metric& head(std::string& out, std::string_view name) {
    for (const auto& metric : table) {
        if (metric.name != name) continue;
        out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, metric.help, name,
                           kind_name(metric.kind));
        return metric;
    }
    REQUIRE(false, "a metric is written that the table does not describe");
    return table[0];
}

template <class Number>
void one(std::string& out, std::string_view name, Number value) {
    head(out, name);
    out += fmt::format("{} {}\n", name, value);
}

template <class Map>
void labelled(std::string& out, std::string_view name, const Map& values) {
    const Metric& metric = head(out, name);
    for (const auto& [label, value] : values)
        out += fmt::format("{}{{{}=\"{}\"}} {}\n", name, metric.label, label, value);
}

double seconds(const timeval& value) {
    return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) / 1e6;
}

std::int64_t resident_bytes() {
    long pages = 0;
    long resident = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return std::int64_t{resident} * ::sysconf(_SC_PAGESIZE);
}

std::int64_t open_descriptors() {
    std::error_code error;
    const std::filesystem::directory_iterator all("/proc/self/fd", error);
    return error ? 0 : std::distance(begin(all), end(all));
}

void write_process(std::string& out) {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    one(out, "process_cpu_seconds_total", seconds(usage.ru_utime) + seconds(usage.ru_stime));
    one(out, "process_resident_memory_bytes", resident_bytes());
    one(out, "process_open_fds", open_descriptors());
}

} // namespace

std::span<const Metric> metrics() { return table; }

void HttpMeter::count(std::string_view operation, int status, std::chrono::nanoseconds took) {
    const double value = std::chrono::duration<double>(took).count();
    const std::lock_guard lock(mutex_);
    auto place = by_operation_.find(operation);
    if (place == by_operation_.end()) place = by_operation_.emplace(operation, 0).first;
    ++place->second;
    ++by_class_[status / 100];
    for (std::size_t i = 0; i < bounds.size(); ++i)
        if (value <= bounds[i]) ++buckets_[i];
    ++count_;
    seconds_ += value;
}

std::int64_t HttpMeter::counted(std::string_view operation) const {
    const std::lock_guard lock(mutex_);
    const auto place = by_operation_.find(operation);
    return place == by_operation_.end() ? 0 : place->second;
}

void HttpMeter::write(std::string& out) const {
    const std::lock_guard lock(mutex_);
    labelled(out, "muster_http_requests_total", by_operation_);
    std::map<std::string, std::int64_t> classes;
    for (const auto& [number, count] : by_class_) classes[std::to_string(number) + "xx"] = count;
    labelled(out, "muster_http_responses_total", classes);
    constexpr std::string_view name = "muster_http_request_seconds";
    head(out, name);
    for (std::size_t i = 0; i < bounds.size(); ++i)
        out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds[i], buckets_[i]);
    out += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, count_, name,
                       seconds_, name, count_);
}

std::string metrics_text(const ClusterCounts& counts, const http::HttpCounters& transport,
                         const HttpMeter& meter, std::size_t watchers) {
    std::string out;
    labelled(out, "muster_nodes", counts.nodes_by_state);
    one(out, "muster_devices", counts.devices);
    one(out, "muster_devices_used", counts.devices_used);
    labelled(out, "muster_workloads", counts.workloads_by_phase);
    one(out, "muster_facts_total", counts.facts);
    labelled(out, "muster_restarts_total", counts.restarts_by_reason);
    one(out, "muster_core_steps_total", counts.steps);
    one(out, "muster_core_step_seconds_total", counts.step_seconds);
    one(out, "muster_core_events_waiting", counts.events_waiting);
    one(out, "muster_core_commands_held", counts.commands_held);
    one(out, "muster_requests_refused_total", counts.requests_refused);
    one(out, "muster_journal_accepts", counts.journal_accepts ? 1 : 0);
    one(out, "muster_journal_commits_total", counts.journal_commits);
    one(out, "muster_journal_commit_seconds_total", counts.journal_seconds);
    meter.write(out);
    one(out, "muster_http_bad_requests_total", transport.requests_bad);
    one(out, "muster_http_connections", transport.connections_open);
    one(out, "muster_http_connections_total", transport.connections_accepted);
    one(out, "muster_http_connections_refused_total", transport.connections_refused);
    one(out, "muster_event_watchers", watchers);
    one(out, "muster_event_watchers_cut_total", transport.streams_cut);
    write_process(out);
    return out;
}

} // namespace muster::api
