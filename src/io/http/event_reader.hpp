#pragma once
// EventReader: cuts a text of server-sent events, fed in pieces of any size, into events. Comments,
// fields that are not known and events without data are passed over.
// Life: of one stream. Used by one thread.

#include "io/http/client.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace muster::http {

inline constexpr std::size_t event_bytes_max = 1024 * 1024; // one event, or a line of it

class EventReader {
  public:
    /// False: `take` wants no more. An overlong line or event is data_loss.
    Result<bool> feed(std::string_view text, const std::function<bool(const StreamEvent&)>& take);

  private:
    void field(std::string_view line);
    bool dispatch(const std::function<bool(const StreamEvent&)>& take);

    std::string pending_; // a line whose end has not come
    StreamEvent event_;
    bool has_data_ = false;
};

} // namespace muster::http
