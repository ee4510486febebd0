#include "io/logs/rank_log.hpp"

#include "base/text.hpp"
#include "io/logs/error_context.hpp"
#include "io/logs/log_limits.hpp"

#include <algorithm>

namespace muster::io {
namespace {

/// Keeps about the newest flood_tail_bytes, from the begin of a line where something was cut.
void keep_newest(std::string& kept, std::string_view bytes) {
    kept.append(bytes);
    // Cut rarely: a move of the whole for every small piece would cost more than the piece.
    if (kept.size() <= 2 * flood_tail_bytes) return;
    const auto line_end = kept.find('\n', kept.size() - flood_tail_bytes);
    kept.erase(0, line_end == std::string::npos ? kept.size() - flood_tail_bytes : line_end + 1);
}

} // namespace

RankLog::RankLog(RankLogOptions options) : options_(std::move(options)), tokens_(burst_bytes) {
    if (!options_.folder.empty()) file_ = std::make_unique<LogFile>(options_.folder, options_.rank);
}

void RankLog::begin(Generation generation) {
    const std::lock_guard lock(mutex_);
    generation_ = generation;
    recent_.clear();
    recent_bytes_ = 0;
    before_.clear();
    before_bytes_ = 0;
    error_seen_ = false;
    after_left_ = 0;
}

void RankLog::feed(LogStream stream, std::string_view bytes, Instant now) {
    const std::lock_guard lock(mutex_);
    if (over_rate(bytes.size(), now)) {
        drop(stream, bytes);
        return;
    }
    if (flooding_) leave_flood(now);
    LineSplitter& splitter = stream == LogStream::out ? out_ : err_;
    splitter.feed(bytes, now, [&](std::string_view line) { take(stream, line, now); });
    flush();
}

void RankLog::tick(Instant now) {
    const std::lock_guard lock(mutex_);
    if (flooding_ && !over_rate(0, now)) leave_flood(now);
    out_.tick(now, [&](std::string_view line) { take(LogStream::out, line, now); });
    err_.tick(now, [&](std::string_view line) { take(LogStream::err, line, now); });
    flush();
}

void RankLog::note(const std::string& text, Instant now) {
    const std::lock_guard lock(mutex_);
    pending_ += stored_line(LogStream::muster, text, now);
    flush();
}

OutputEnd RankLog::end(Instant now) {
    const std::lock_guard lock(mutex_);
    if (flooding_) leave_flood(now);
    out_.finish([&](std::string_view line) { take(LogStream::out, line, now); });
    err_.finish([&](std::string_view line) { take(LogStream::err, line, now); });
    flush();
    return {last_lines(recent_), last_traceback(recent_)};
}

bool RankLog::over_rate(std::size_t bytes, Instant now) {
    const auto passed = now - tokens_at_;
    tokens_at_ = now;
    if (passed.ns > 0) {
        const std::int64_t capped = std::min(passed.ns, Duration::minutes(1).ns);
        tokens_ = std::min(burst_bytes, tokens_ + capped / 1000 * rate_bytes / 1'000'000);
    }
    // Once over, stay out until a second's worth is there: no flapping line by line.
    const std::int64_t needed = static_cast<std::int64_t>(bytes) + (flooding_ ? rate_bytes : 0);
    if (tokens_ < needed) return true;
    tokens_ -= static_cast<std::int64_t>(bytes);
    return false;
}

void RankLog::drop(LogStream stream, std::string_view bytes) {
    flooding_ = true;
    dropped_lines_ += std::count(bytes.begin(), bytes.end(), '\n');
    dropped_bytes_ += static_cast<std::int64_t>(bytes.size());
    keep_newest(stream == LogStream::out ? flood_out_ : flood_err_, bytes);
}

void RankLog::leave_flood(Instant now) {
    flooding_ = false;
    // The newest of what was dropped is worth having: an error may be in it.
    const std::string out = std::exchange(flood_out_, {});
    const std::string err = std::exchange(flood_err_, {});
    for (const auto& [stream, kept] : {std::pair{LogStream::out, &out}, {LogStream::err, &err}}) {
        if (kept->empty()) continue;
        LineSplitter& splitter = stream == LogStream::out ? out_ : err_;
        splitter.finish([&](std::string_view line) { take(stream, line, now); });
        dropped_lines_ -= std::count(kept->begin(), kept->end(), '\n');
        dropped_bytes_ -= static_cast<std::int64_t>(kept->size());
        splitter.feed(*kept, now, [&](std::string_view line) { take(stream, line, now); });
    }
    if (dropped_bytes_ > 0)
        pending_ += stored_line(LogStream::muster,
                                std::to_string(std::max<std::int64_t>(dropped_lines_, 0)) +
                                    " lines (" + std::to_string(dropped_bytes_) +
                                    " bytes) dropped: the rank printed more than " +
                                    std::to_string(rate_bytes / 1024 / 1024) + " MiB a second",
                                now);
    dropped_lines_ = 0;
    dropped_bytes_ = 0;
}

void RankLog::take(LogStream stream, std::string_view line, Instant now) {
    const std::string text = to_valid_utf8(line);
    const bool was_seen = error_seen_;
    const std::string stored = stored_line(stream, text, now);
    watch_errors(text, stored);
    if (file_) pending_ += stored;
    if (options_.echo) options_.echo(stream, text, error_seen_ && !was_seen);
    remember(text);
}

void RankLog::remember(std::string line) {
    recent_bytes_ += line.size();
    recent_.push_back(std::move(line));
    while (recent_.size() > recent_lines_max || recent_bytes_ > recent_bytes_max) {
        recent_bytes_ -= recent_.front().size();
        recent_.pop_front();
    }
}

void RankLog::watch_errors(std::string_view line, const std::string& stored) {
    if (after_left_ > 0 && stored.size() <= after_bytes_left_) {
        --after_left_;
        after_bytes_left_ -= stored.size();
        if (file_) file_->append_error(stored);
        return;
    }
    after_left_ = 0;
    if (error_seen_) return;
    if (!looks_like_error(line)) {
        before_.push_back(stored);
        before_bytes_ += stored.size();
        while (before_.size() > context_lines || before_bytes_ > context_bytes) {
            before_bytes_ -= before_.front().size();
            before_.pop_front();
        }
        return;
    }
    error_seen_ = true;
    after_left_ = context_lines;
    after_bytes_left_ = context_bytes;
    std::string context;
    for (const auto& earlier : before_) context += earlier;
    before_.clear();
    before_bytes_ = 0;
    if (file_) file_->append_error(context + stored);
}

void RankLog::flush() {
    if (!file_) pending_.clear();
    if (pending_.empty()) return;
    std::string lines = std::exchange(pending_, {});
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    if (lost_lines_ > 0)
        lines.insert(
            0, stored_line(LogStream::muster,
                           std::to_string(lost_lines_) + " lines lost: " +
                               (file_->trouble().empty() ? "the disk took none" : file_->trouble()),
                           tokens_at_));
    if (file_->append(lines))
        lost_lines_ = 0;
    else
        lost_lines_ += count;
}

std::string RankLog::stored_line(LogStream stream, std::string_view line, Instant now) const {
    std::string stored = std::to_string(now.ns) + " " + std::to_string(options_.attempt) + "." +
                         std::to_string(generation_) + " " + static_cast<char>(stream) + " ";
    stored.append(line);
    stored += '\n';
    return stored;
}

} // namespace muster::io
