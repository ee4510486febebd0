#include "cli/log_lines.hpp"

#include "model/spec.hpp"

#include <algorithm>
#include <charconv>

namespace muster::cli {
namespace {

/// Takes a number off the front of `text`.
bool take_number(std::string_view& text, std::int64_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take_char(std::string_view& text, char wanted) {
    if (text.empty() || text[0] != wanted) return false;
    text.remove_prefix(1);
    return true;
}

} // namespace

std::optional<LogLine> parse_log_line(std::int64_t rank, std::string_view line) {
    LogLine parsed;
    parsed.rank = rank;
    if (!take_number(line, parsed.at.ns) || !take_char(line, ' ')) return std::nullopt;
    if (!take_number(line, parsed.attempt) || !take_char(line, '.')) return std::nullopt;
    if (!take_number(line, parsed.generation) || !take_char(line, ' ')) return std::nullopt;
    if (line.empty()) return std::nullopt;
    switch (line[0]) {
    case 'o': parsed.source = LogSource::out; break;
    case 'e': parsed.source = LogSource::err; break;
    case 'm': parsed.source = LogSource::muster; break;
    default: return std::nullopt;
    }
    line.remove_prefix(1);
    if (!line.empty() && !take_char(line, ' ')) return std::nullopt;
    parsed.text = std::string(folded(line));
    return parsed;
}

std::string_view folded(std::string_view text) {
    while (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    const auto rewrite = text.rfind('\r');
    return rewrite == std::string_view::npos ? text : text.substr(rewrite + 1);
}

Result<std::vector<std::int64_t>> parse_ranks(std::string_view text) {
    const std::string_view whole = text;
    const auto wrong = [&](std::string_view why) {
        return fail(Code::invalid_argument, "\"" + std::string(whole) + "\" " + std::string(why),
                    "write ranks as 0,2-3", "rank");
    };
    std::vector<std::int64_t> ranks;
    while (true) {
        std::int64_t first = 0;
        if (!take_number(text, first) || first < 0) return wrong("is not a list of ranks");
        std::int64_t last = first;
        if (take_char(text, '-') && !take_number(text, last))
            return wrong("is not a list of ranks");
        if (last < first) return wrong("has a range that runs backwards");
        if (last >= ranks_max) return wrong("names a rank that no job can have");
        for (std::int64_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
        if (ranks.size() > static_cast<std::size_t>(ranks_max)) return wrong("is too long");
        if (text.empty()) return ranks;
        if (!take_char(text, ',')) return wrong("is not a list of ranks");
    }
}

void LogMerge::add_rank(std::int64_t rank, std::int64_t from) { ranks_[rank].from = from; }

std::vector<LogPosition> LogMerge::wants() const {
    std::vector<LogPosition> positions;
    const auto want = [&](std::int64_t rank, std::int64_t from, const NodeName& node) {
        LogPosition position;
        position.rank = rank;
        position.from = from;
        position.node = node;
        positions.push_back(std::move(position));
    };
    for (const auto& [number, rank] : ranks_)
        if (!rank.found) want(number, rank.from, {});
    for (const auto& [key, source] : sources_)
        if (source.lines.empty() && !(source.end && source.next >= *source.end))
            want(key.rank, source.next, key.node);
    return positions;
}

void LogMerge::take(const LogChunk& chunk) {
    Rank& rank = ranks_[chunk.rank];
    rank.heard = true;
    if (chunk.next <= 0) return; // that node never had the rank
    rank.found = true;
    const Key key{chunk.node, chunk.rank};
    Source& source = sources_[key];
    if (source.next > 0 && chunk.from > source.next) bytes_skipped_ += chunk.from - source.next;
    source.next = chunk.next;
    source.caught_up = chunk.text.empty() || chunk.end_of_log;
    source.silent = false;
    source.fresh = true;
    if (limited_ && !source.end) {
        const auto known = ends_.find(key);
        source.end = known == ends_.end() ? chunk.next : known->second;
    }
    std::string_view text = chunk.text;
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (auto line = parse_log_line(chunk.rank, text.substr(0, end));
            line && line->at > rank.seen) {
            rank.newest = std::max(rank.newest, line->at);
            source.lines.push_back(std::move(*line));
        }
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
}

void LogMerge::answered(const std::vector<LogPosition>& asked) {
    for (const auto& position : asked) {
        if (const auto rank = ranks_.find(position.rank); rank != ranks_.end())
            rank->second.heard = true;
        const auto source = sources_.find(Key{position.node, position.rank});
        if (source != sources_.end() && !source->second.fresh) source->second.silent = true;
    }
    for (auto& [key, source] : sources_) source.fresh = false;
}

void LogMerge::limit(const LogChunk& at_end) { ends_[Key{at_end.node, at_end.rank}] = at_end.next; }

void LogMerge::unlimited() {
    limited_ = false;
    ends_.clear();
    for (auto& [key, source] : sources_) source.end.reset();
}

void LogMerge::start_over() {
    sources_.clear();
    ends_.clear();
    for (auto& [number, rank] : ranks_) {
        rank.from = 0;
        rank.found = false;
        rank.heard = false;
        rank.seen = rank.newest;
    }
}

std::optional<LogLine> LogMerge::pop_oldest() {
    Source* oldest = nullptr;
    for (auto& [key, source] : sources_)
        if (!source.lines.empty() &&
            (oldest == nullptr || source.lines.front().at < oldest->lines.front().at))
            oldest = &source;
    if (oldest == nullptr) return std::nullopt;
    LogLine line = std::move(oldest->lines.front());
    oldest->lines.pop_front();
    return line;
}

std::vector<LogLine> LogMerge::ready() {
    std::vector<LogLine> lines;
    for (const auto& [number, rank] : ranks_)
        if (!rank.heard) return lines;
    const auto blocked = [&] {
        for (const auto& [key, source] : sources_)
            if (source.lines.empty() && !at_end(source)) return true;
        return false;
    };
    while (!blocked()) {
        auto line = pop_oldest();
        if (!line) break;
        lines.push_back(std::move(*line));
    }
    return lines;
}

std::vector<LogLine> LogMerge::rest() {
    std::vector<LogLine> lines;
    while (auto line = pop_oldest()) lines.push_back(std::move(*line));
    return lines;
}

bool LogMerge::caught_up() const {
    for (const auto& [number, rank] : ranks_)
        if (!rank.heard) return false;
    for (const auto& [key, source] : sources_)
        if (!at_end(source) || !source.lines.empty()) return false;
    return true;
}

} // namespace muster::cli
