// The first cause among the ends of one generation.

#include "recovery/recovery.hpp"
#include "recovery/words.hpp"

#include <algorithm>

namespace muster::recovery {
namespace {

constexpr std::size_t detail_length_max = 300; // bytes of a reason's detail

const EndedRank* earliest(const std::vector<EndedRank>& ends, Evidence kind, Instant until) {
    const EndedRank* found = nullptr;
    for (const auto& end : ends) {
        if (evidence_of(end.exit) != kind || end.exit.at > until) continue;
        if (!found || end.exit.at < found->exit.at) found = &end;
    }
    return found;
}

Instant first_failure_at(const std::vector<EndedRank>& ends) {
    Instant first = Instant::never();
    for (const auto& end : ends)
        if (failed(end.exit)) first = std::min(first, end.exit.at);
    return first;
}

const EndedRank* guilty_end(const std::vector<EndedRank>& ends, Duration window) {
    const Instant first = first_failure_at(ends);
    if (first.is_never()) return nullptr;
    for (const Evidence kind : {Evidence::own, Evidence::plain})
        if (const auto* end = earliest(ends, kind, first + window)) return end;
    // Within the window ranks only lost their peers. Whoever failed by itself later, e.g. after a
    // long core dump, is still the likelier cause.
    if (const auto* end = earliest(ends, Evidence::own, Instant::never())) return end;
    return earliest(ends, Evidence::consequence, Instant::never());
}

/// The rank that left with 0 before the first failure, where there was one.
const EndedRank* early_leaver(const std::vector<EndedRank>& ends) {
    const Instant failure = first_failure_at(ends);
    const EndedRank* found = nullptr;
    for (const auto& end : ends) {
        const RankExit& exit = end.exit;
        if (exit.killed_by_us || failed(exit) || exit.at > failure) continue;
        if (!found || exit.at < found->exit.at) found = &end;
    }
    return found;
}

std::string cut(std::string text) {
    if (text.size() > detail_length_max) text = text.substr(0, detail_length_max) + " ...";
    return text;
}

Reason reason_for(const EndedRank& end) {
    Reason reason;
    reason.subject = std::to_string(end.rank);
    reason.have = exit_code_of(end.exit);
    reason.detail = cut(last_words(end.exit));
    reason.code = ReasonCode::rank_failed;
    if (end.exit.cannot_execute) {
        reason.code = ReasonCode::cannot_start;
        reason.subject = "rank " + reason.subject;
        if (!end.node.empty()) reason.subject += " on " + to_text(end.node);
        reason.detail = cut(end.exit.start_error);
    }
    return reason;
}

ExitCause cause_of(const EndedRank& end, const std::vector<EndedRank>& ends) {
    ExitCause cause;
    cause.rank = end.rank;
    cause.node = end.node;
    cause.exit_code = exit_code_of(end.exit);
    cause.last_lines = end.exit.last_lines;
    cause.traceback = end.exit.traceback;
    for (const auto& other : ends)
        if (other.rank != end.rank && (failed(other.exit) || other.exit.killed_by_us))
            cause.consequences.push_back(other.rank);
    std::sort(cause.consequences.begin(), cause.consequences.end());
    return cause;
}

} // namespace

ExitCause early_exit_cause(const std::vector<EndedRank>& ends, Instant until) {
    constexpr std::int64_t left_others_behind = 1; // its own code was 0, the job's is not
    const EndedRank* leaver = early_leaver(ends);
    if (!leaver) return {};
    ExitCause cause = cause_of(*leaver, ends);
    cause.exit_code = left_others_behind;
    cause.reason.code = ReasonCode::early_exit;
    cause.reason.subject = std::to_string(leaver->rank);
    cause.reason.have = std::max<std::int64_t>(0, (until - leaver->exit.at).ns / 1'000'000'000);
    return cause;
}

ExitCause first_cause(const std::vector<EndedRank>& ends, Duration window) {
    const EndedRank* guilty = guilty_end(ends, window);
    if (!guilty) return {};
    // A rank that only lost a peer, after another had left with 0: the leaver is the cause.
    if (evidence_of(guilty->exit) == Evidence::consequence && early_leaver(ends))
        return early_exit_cause(ends, first_failure_at(ends));
    ExitCause cause = cause_of(*guilty, ends);
    cause.reason = reason_for(*guilty);
    return cause;
}

} // namespace muster::recovery
