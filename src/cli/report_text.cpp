#include "cli/report_text.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster::cli {
namespace {

constexpr int bar_width = 24;

WorkloadView as_job(WorkloadPhase phase) {
    WorkloadView job;
    job.phase = phase;
    return job;
}

std::string steps_text(const ReportView& report) {
    if (!report.progress_reported)
        return say("not reported (call muster.progress() in the script)");
    std::string text = grouped(report.steps);
    if (report.total_steps > 0) text += say(" of {}", grouped(report.total_steps));
    return text;
}

/// Hundredths of a percent of each row that sum to exactly 100.00 % (or to 0 without an account):
/// the largest remainders get what rounding down left.
std::vector<std::int64_t> hundredths_of(const std::vector<AccountRow>& account) {
    constexpr std::int64_t whole = 10'000;
    std::vector<std::int64_t> shares;
    std::vector<std::pair<std::int64_t, std::size_t>> remainders;
    std::int64_t given = 0;
    for (std::size_t i = 0; i < account.size(); ++i) {
        shares.push_back(account[i].share_per_million / 100);
        given += shares.back();
        remainders.push_back({-(account[i].share_per_million % 100), i});
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t k = 0; k < remainders.size() && given < whole; ++k, ++given)
        if (remainders[k].first < 0) ++shares[remainders[k].second];
    return shares;
}

std::string account_table(const ReportView& report, int width) {
    const std::vector<Column> columns = {
        {"DEVICE TIME", false, 0}, {"SHARE", true}, {"TIME", true}, {"", false, 9, bar_width}};
    std::vector<std::vector<std::string>> rows;
    const auto shares = hundredths_of(report.account);
    std::int64_t sum = 0;
    Duration total;
    for (std::size_t i = 0; i < report.account.size(); ++i) {
        const auto& row = report.account[i];
        sum += shares[i];
        total += row.time;
        if (row.time.ns == 0 && row.share_per_million == 0) continue;
        const auto filled = static_cast<std::size_t>(row.share_per_million * bar_width / 1'000'000);
        rows.push_back({row.category, share_text(shares[i] * 100), duration_for_people(row.time),
                        std::string(filled, '=')});
    }
    rows.push_back({say("total"), share_text(sum * 100), duration_for_people(total)});
    return fit_table(columns, rows, width);
}

std::string restarts_table(const ReportView& report, int width) {
    const std::vector<Column> columns = {
        {"RESTART"},       {"DETECT", true}, {"TEARDOWN", true},   {"RESTART", true},
        {"TO STEP", true}, {"REDO", true},   {"LOST STEPS", true}, {"CAUSE", false, 1, 20}};
    std::vector<std::vector<std::string>> rows;
    for (const auto& restart : report.restarts) {
        const Reason& reason = restart.cause ? restart.cause->reason : restart.reason;
        std::string cause = explain(reason);
        if (restart.cause && !restart.cause->node.empty())
            cause += say(" (node {})", to_text(restart.cause->node));
        rows.push_back({fmt::format("{}.{}", restart.attempt, restart.generation),
                        duration_for_people(restart.detect), duration_for_people(restart.teardown),
                        duration_for_people(restart.restart), duration_for_people(restart.to_step),
                        duration_for_people(restart.redo), std::to_string(restart.lost_steps),
                        std::move(cause)});
    }
    return fit_table(columns, rows, width);
}

} // namespace

std::string share_text(std::int64_t per_million) {
    // Two digits, rounded half up; whole shares stay exact.
    const std::int64_t hundredths = (per_million + 50) / 100;
    return fmt::format("{}.{:02} %", hundredths / 100, hundredths % 100);
}

std::string why_text(const WhyView& why, const Terminal& terminal) {
    const WorkloadView job = as_job(why.phase);
    std::string text =
        to_text(why.name) + " " + styled(terminal, state_style(job), word_of(why.phase));
    text += why.items.empty() ? "\n" : ":\n";
    for (const auto& item : why.items) {
        text +=
            "  - " + printable(item.text.empty() ? explain(item.reason) : item.text, false) + "\n";
        if (!item.unblocks_when.empty())
            text += "    " +
                    styled(terminal, Style::green, say("what helps: {}", item.unblocks_when)) +
                    "\n";
    }
    return text;
}

std::string report_text(const ReportView& report, const Terminal& terminal) {
    const WorkloadView job = as_job(report.phase);
    std::vector<std::pair<std::string, std::string>> fields = {
        {say("Job"), to_text(report.name)},
        {say("State"),
         styled(terminal, state_style(job), state_word(job)) +
             (is_terminal(report.phase) ? say(" (exit code {})", report.exit_code) : "")},
        {say("Time"), say("{}, {} of it queued", duration_for_people(report.wall),
                          duration_for_people(report.queued))},
        {say("Steps"), steps_text(report)}};
    if (report.first_loss && report.last_loss)
        fields.push_back({say("Loss"), say("{} at first, {} at last", loss_text(*report.first_loss),
                                           loss_text(*report.last_loss))});
    if (report.samples > 0) fields.push_back({say("Samples"), grouped(report.samples)});
    fields.push_back({say("Restarts"), std::to_string(report.restarts.size())});
    std::string text = field_list(fields, terminal.width);
    if (!report.account.empty()) text += "\n" + account_table(report, terminal.width);
    if (!report.restarts.empty()) text += "\n" + restarts_table(report, terminal.width);
    if (!report.notes.empty()) text += "\n" + say("Notes") + "\n";
    for (const auto& note : report.notes) text += "  - " + printable(note, false) + "\n";
    return text;
}

} // namespace muster::cli
