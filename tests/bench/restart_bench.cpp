// How long a restart takes: opens a journal of a million facts with the whole chain verified, once
// behind the snapshot of a clean stop and once with most of an interval to replay.
//
//     restart_bench [folder] [facts]

#include "control/ledger.hpp"
#include "io/journal/sqlite_journal.hpp"
#include "measure.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace muster {
namespace {

/// Three facts a workload, over and over; workloads finish and are forgotten.
FactRecord story(Sequence sequence) {
    const Instant at{1'800'000'000'000'000'000 + sequence * 1'000'000};
    if (sequence == 1)
        return {1, at, "controller",
                InstallationCreated{InstallationId{{1, 2}}, ClusterName{"main"}}};
    const auto number = static_cast<std::uint64_t>((sequence - 2) / 3);
    const WorkloadId id{{9, number}};
    switch ((sequence - 2) % 3) {
    case 0: {
        WorkloadSubmitted fact{id, WorkloadName{"job-" + std::to_string(number)}, {}, {}, {}};
        Role role;
        role.command = {"python3", "/home/user/train.py", "--steps", "1000"};
        role.ranks = 8;
        fact.spec.roles.push_back(role);
        return {sequence, at, "user:root", fact};
    }
    case 1:
        return {sequence, at, "scheduler",
                WorkloadFinished{id,
                                 WorkloadPhase::cancelled,
                                 0,
                                 {ReasonCode::cancelled_by_user, "root", 0, 0, ""}}};
    default: return {sequence, at, "controller", WorkloadForgotten{id}};
    }
}

void write_journal(const std::string& folder, Sequence facts) {
    auto opened = io::open_journal<control::Ledger>({.directory = folder});
    if (!opened) std::abort();
    std::mutex mutex;
    std::condition_variable changed;
    Sequence durable = 0;
    io::JournalCallbacks callbacks;
    callbacks.durable = [&](Sequence s) {
        const std::lock_guard lock(mutex);
        durable = s;
        changed.notify_one();
    };
    opened->journal->start(callbacks);
    std::vector<FactRecord> records;
    for (Sequence s = 1; s <= facts; ++s) {
        records.push_back(story(s));
        if (records.size() == 1'000 || s == facts) {
            opened->journal->append(std::exchange(records, {}));
        }
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return durable == facts; });
}

int run(const std::string& base, Sequence facts) {
    const std::string folder = base + "/muster-restart-bench-" + std::to_string(facts);
    if (!std::filesystem::exists(folder)) write_journal(folder, facts);
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) {
        times.push_back(bench::seconds_of([&] {
            auto opened = io::open_journal<control::Ledger>({.directory = folder});
            if (!opened)
                std::printf("%s\n", to_text(opened.error()).c_str());
            else if (opened->ledger.last_sequence != facts)
                std::printf("wrong ledger\n");
        }));
    }
    std::printf("open of %lld facts: %.2f s (median of 3)\n", static_cast<long long>(facts),
                bench::median(times));
    return 0;
}

} // namespace
} // namespace muster

int main(int argc, char** argv) {
    return muster::run(argc > 1 ? argv[1] : ".", argc > 2 ? std::atoll(argv[2]) : 1'000'000);
}
