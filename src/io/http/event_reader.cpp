#include "io/http/event_reader.hpp"

namespace muster::http {

Result<bool> EventReader::feed(std::string_view text,
                               const std::function<bool(const StreamEvent&)>& take) {
    pending_.append(text);
    std::size_t start = 0;
    for (std::size_t end; (end = pending_.find('\n', start)) != std::string::npos;
         start = end + 1) {
        std::string_view line = std::string_view(pending_).substr(start, end - start);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!line.empty())
            field(line);
        else if (!has_data_)
            event_.type.clear(); // a type alone is no event, nor of the next one
        else if (!dispatch(take))
            return false;
    }
    pending_.erase(0, start);
    if (pending_.size() + event_.data.size() > event_bytes_max)
        return fail(Code::data_loss, "the server sent an event of more than 1 MiB");
    return true;
}

void EventReader::field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0) return; // a comment
    const std::string_view name = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (name == "id") event_.id = std::string(value);
    if (name == "event") event_.type = std::string(value);
    if (name != "data") return;
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
}

bool EventReader::dispatch(const std::function<bool(const StreamEvent&)>& take) {
    if (event_.type.empty()) event_.type = "message";
    const bool more = take(event_);
    event_.type.clear();
    event_.data.clear();
    has_data_ = false;
    return more;
}

} // namespace muster::http
