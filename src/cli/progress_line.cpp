#include "cli/progress_line.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace muster::cli {
namespace {

constexpr int bar_width = 20;
constexpr int bar_from_width = 100; // columns of the terminal

std::int64_t percent_of(const Progress& progress) {
    if (progress.total <= 0) return -1;
    return std::clamp<std::int64_t>(
        capped_product(capped_sum(progress.step, 1), 100) / progress.total, 0, 100);
}

std::string bar(std::int64_t percent) {
    const auto full = percent * bar_width / 100;
    std::string text = "[";
    for (int i = 0; i < bar_width; ++i) text += i < full ? "=" : i == full ? ">" : " ";
    return text + "]";
}

bool is_silent(const WorkloadView& job, Instant now) {
    return !job.progress.reported && job.phase == WorkloadPhase::running &&
           job.condition == WorkloadCondition::training && now - job.started_at >= silent_start;
}

void add_progress(std::vector<std::string>& parts, const Progress& progress, bool with_bar) {
    const std::int64_t percent = percent_of(progress);
    if (percent >= 0) {
        if (with_bar) parts.push_back(bar(percent));
        parts.push_back(fmt::format("{} %", percent));
        parts.push_back(
            say("step {}/{}", grouped(capped_sum(progress.step, 1)), grouped(progress.total)));
    } else if (progress.step >= 0) {
        parts.push_back(say("step {}", grouped(capped_sum(progress.step, 1))));
    }
    if (progress.has_loss) parts.push_back(say("loss {}", loss_text(progress.loss)));
    if (progress.samples_per_second > 0)
        parts.push_back(say("{} samples/s", rate_text(progress.samples_per_second)));
    if (const auto eta = eta_text(progress.eta); !eta.empty()) parts.push_back(say("ETA {}", eta));
    if (!progress.phase.empty()) parts.push_back(progress.phase);
}

} // namespace

std::string state_word(const WorkloadView& job) {
    if (job.phase != WorkloadPhase::running) {
        switch (job.phase) {
        case WorkloadPhase::queued: return say("queued");
        case WorkloadPhase::admitted: return say("admitted");
        case WorkloadPhase::stopping: return say("stopping");
        case WorkloadPhase::succeeded: return say("succeeded");
        case WorkloadPhase::failed: return say("failed");
        case WorkloadPhase::cancelled: return say("cancelled");
        case WorkloadPhase::running: break;
        }
    }
    switch (job.condition) {
    case WorkloadCondition::none: return say("running");
    case WorkloadCondition::starting: return say("starting");
    case WorkloadCondition::training: return say("training");
    case WorkloadCondition::recovering: return say("recovering");
    }
    return say("running");
}

Style state_style(const WorkloadView& job) {
    switch (job.phase) {
    case WorkloadPhase::succeeded: return Style::green;
    case WorkloadPhase::failed: return Style::red;
    case WorkloadPhase::cancelled: return Style::dim;
    case WorkloadPhase::stopping: return Style::yellow;
    case WorkloadPhase::running:
        return job.condition == WorkloadCondition::recovering ? Style::yellow : Style::cyan;
    default: return Style::plain;
    }
}

std::string progress_line(const Terminal& terminal, const WorkloadView& job, Instant now) {
    std::vector<std::string> parts = {to_text(job.name),
                                      styled(terminal, state_style(job), state_word(job))};
    const bool waits = job.phase == WorkloadPhase::queued || job.phase == WorkloadPhase::admitted;
    if (waits) {
        if (job.submitted_at.ns > 0 && now > job.submitted_at)
            parts.push_back(say("for {}", duration_for_people(now - job.submitted_at)));
        if (const auto why = explain(job.reason); !why.empty()) parts.push_back(why);
    } else {
        add_progress(parts, job.progress, terminal.width >= bar_from_width);
        if (is_silent(job, now)) parts.push_back(say("progress not reported"));
    }
    if (job.restarts > 0) parts.push_back(counted(job.restarts, "restart", "restarts"));
    std::string line;
    for (const auto& part : parts) line += (line.empty() ? "" : "  ") + part;
    return terminal.width > 0 ? fitted(line, terminal.width - 1) : line;
}

std::string progress_cell(const WorkloadView& job, Instant now) {
    if (!job.progress.reported) return is_silent(job, now) ? say("not reported") : "";
    if (const auto percent = percent_of(job.progress); percent >= 0)
        return fmt::format("{} %", percent);
    return job.progress.step < 0 ? "" : say("step {}", grouped(capped_sum(job.progress.step, 1)));
}

std::string loss_text(double loss) {
    if (!std::isfinite(loss)) return std::isnan(loss) ? "NaN" : loss > 0 ? "inf" : "-inf";
    return fmt::format("{:.4g}", loss);
}

std::string rate_text(double per_second) {
    if (!std::isfinite(per_second)) return "?";
    if (per_second < 10) return fmt::format("{:.2g}", per_second);
    if (per_second < 1e6) return grouped(std::llround(per_second));
    return fmt::format("{:.2f}M", per_second / 1e6);
}

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}

std::string eta_text(Duration eta) {
    if (eta.ns < 0) return {};
    if (eta < Duration::seconds(60)) return fmt::format("{} s", eta.ns / 1'000'000'000);
    return duration_for_people(eta);
}

} // namespace muster::cli
