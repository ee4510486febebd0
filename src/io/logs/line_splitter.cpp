#include "io/logs/line_splitter.hpp"

#include "io/logs/log_limits.hpp"

namespace muster::io {

void LineSplitter::feed(std::string_view bytes, Instant now, const Take& take) {
    while (!bytes.empty()) {
        const auto stop = bytes.find_first_of("\r\n");
        const auto part = bytes.substr(0, stop);
        if (!part.empty()) {
            if (after_return_) redraw(now, take);
            append(part, take);
        }
        if (stop == std::string_view::npos) return;
        if (bytes[stop] == '\n')
            end_line(take);
        else
            after_return_ = true; // a second one in a row changes nothing
        bytes.remove_prefix(stop + 1);
    }
}

void LineSplitter::append(std::string_view part, const Take& take) {
    while (!part.empty()) {
        if (pieces_ >= line_pieces_max) {
            dropped_ += part.size();
            return;
        }
        const auto room = line_bytes_max - line_.size();
        line_.append(part.substr(0, room));
        part.remove_prefix(std::min(room, part.size()));
        if (line_.size() < line_bytes_max || part.empty()) return;
        take(line_ + " [the line goes on]");
        line_.clear();
        ++pieces_;
    }
}

void LineSplitter::redraw(Instant now, const Take& take) {
    after_return_ = false;
    bar_ = std::move(line_);
    line_.clear();
    pieces_ = 0;
    dropped_ = 0;
    bar_waits_ = !bar_.empty();
    tick(now, take);
}

void LineSplitter::tick(Instant now, const Take& take) {
    if (!bar_waits_ || now - bar_given_ < bar_interval) return;
    bar_given_ = now;
    bar_waits_ = false;
    take(bar_);
}

void LineSplitter::end_line(const Take& take) {
    if (dropped_ > 0) {
        take("[" + std::to_string(dropped_) + " more bytes of this line were dropped]");
    } else if (!line_.empty() || !bar_waits_) {
        take(line_);
    } else {
        take(bar_);
    }
    line_.clear();
    bar_.clear();
    bar_waits_ = false;
    after_return_ = false;
    pieces_ = 0;
    dropped_ = 0;
}

void LineSplitter::finish(const Take& take) {
    if (!line_.empty() || bar_waits_ || dropped_ > 0) end_line(take);
    after_return_ = false;
}

} // namespace muster::io
