#include "cli/log_reader.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"
#include "io/logs/error_context.hpp"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr std::size_t notices_max = 1'000; // remembered of one generation

} // namespace

LogReader::LogReader(Api& api, LogQuery query, Sink sink, Notice notice)
    : api_(api), query_(std::move(query)), sink_(std::move(sink)), notice_(std::move(notice)),
      in_tail_(query_.tail >= 0) {
    std::int64_t from = 0;
    if (in_tail_)
        from = -std::clamp(query_.tail, tail_bytes_min / tail_line_bytes,
                           tail_bytes_max / tail_line_bytes) *
               tail_line_bytes;
    for (const auto rank : query_.ranks) merge_.add_rank(rank, from);
}

std::string LogReader::target_of(const std::vector<LogPosition>& positions) const {
    std::string from; // "1:-4096" or, of one node's file, "1@n2:123"
    for (const auto& position : positions) {
        if (!from.empty()) from += ',';
        from += std::to_string(position.rank);
        if (!position.node.empty()) from += "@" + to_text(position.node);
        from += ":" + std::to_string(position.from);
    }
    return job_path(query_.job,
                    "/logs?from=" + from + "&bytes_max=" + std::to_string(round_bytes_max));
}

/// Asks where each rank's log ends now, and has the merge read up to there.
Status LogReader::find_ends() {
    merge_.limit_to_ends();
    for (std::size_t at = 0; at < query_.ranks.size(); at += ranks_per_round_max) {
        const std::size_t count = std::min(ranks_per_round_max, query_.ranks.size() - at);
        std::vector<LogPosition> positions;
        for (std::size_t i = at; i < at + count; ++i)
            positions.push_back({.rank = query_.ranks[i], .node = {}, .from = -1});
        const auto logs = api_.get<JobLogs>(target_of(positions));
        if (!logs) return fail(logs.error());
        for (const auto& chunk : logs->chunks) merge_.limit(chunk);
    }
    ends_known_ = true;
    return ok();
}

Result<bool> LogReader::round() {
    if (!ends_known_ && (in_tail_ || !query_.follow))
        if (const auto found = find_ends(); !found) return fail(found.error());
    auto positions = merge_.wants();
    const bool whole = positions.size() <= ranks_per_round_max;
    if (!whole) {
        if (next_batch_ >= positions.size()) next_batch_ = 0;
        std::rotate(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(next_batch_),
                    positions.end());
        positions.resize(ranks_per_round_max);
        next_batch_ += ranks_per_round_max;
    }
    auto logs = api_.get<JobLogs>(target_of(positions));
    if (!logs) return fail(logs.error());
    bool news = false;
    for (const auto& chunk : logs->chunks) {
        news = news || !chunk.text.empty();
        merge_.take(chunk);
    }
    merge_.answered(positions);
    tell_errors(*logs);
    if (merge_.bytes_skipped() > 0 && !told_skipped_) {
        told_skipped_ = true;
        notice_(say("{} bytes in the middle of the logs are not kept any more (docs/logs.md)",
                    merge_.bytes_skipped()));
    }
    hand_on(merge_.ready());
    if (logs->finished && whole) finished_ = true;
    if (finished_)
        close();
    else if (in_tail_ && merge_.caught_up())
        end_tail();
    return news;
}

/// The last lines are there. Whoever follows reads on without a limit.
void LogReader::end_tail() {
    in_tail_ = false;
    for (const auto& line : tail_) sink_(line);
    tail_.clear();
    if (query_.follow) merge_.unlimited();
}

void LogReader::start_over() {
    merge_.start_over();
    ends_known_ = false;
}

void LogReader::close() {
    hand_on(merge_.rest());
    if (in_tail_) end_tail();
}

void LogReader::hand_on(std::vector<LogLine> lines) {
    for (auto& line : lines) {
        if (line.at < query_.since) continue;
        if (!in_tail_) {
            sink_(line);
            continue;
        }
        tail_.push_back(std::move(line));
        if (tail_.size() > static_cast<std::size_t>(query_.tail)) tail_.pop_front();
    }
}

void LogReader::tell_errors(const JobLogs& logs) {
    for (const auto& error : logs.errors)
        if (std::find(errors_.begin(), errors_.end(), error) == errors_.end())
            notice_(say("logs are incomplete: {}", error));
    errors_ = logs.errors;
    had_errors_ = had_errors_ || !errors_.empty();
}

std::optional<std::string> LogPrinter::print(const LogLine& line) {
    if (line.attempt != shown_.attempt || line.generation != shown_.generation)
        shown_ = {line.attempt, line.generation, false, {}};
    const bool notice = line.source == LogSource::muster;
    if (notice && shown_.notices.size() < notices_max && !shown_.notices.insert(line.text).second)
        return std::nullopt;
    const bool first_error = !notice && !shown_.error && io::looks_like_error(line.text);
    if (first_error) shown_.error = true;
    const bool marked = first_error && !look_.terminal.colour;
    const std::string number = std::to_string(line.rank);
    std::string prefix = "[" + number + (marked ? "!]" : "]");
    if (static_cast<int>(number.size()) < look_.rank_digits)
        prefix.append(static_cast<std::size_t>(look_.rank_digits) - number.size(), ' ');
    std::string text;
    if (look_.times) text = styled(look_.terminal, Style::dim, to_text(line.at)) + " ";
    text += styled_rank(look_.terminal, line.rank, prefix) + " ";
    const std::string said = printable(line.text, look_.terminal.colour);
    if (notice) return text + styled(look_.terminal, Style::yellow, say("muster: ") + said);
    return text + (first_error ? styled(look_.terminal, Style::red, said) : said);
}

} // namespace muster::cli
