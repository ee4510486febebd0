#pragma once
// Small pieces of text for views, shared by tables and details.

#include "cli/terminal.hpp"
#include "model/views.hpp"

#include <string>
#include <vector>

namespace muster::cli {

std::string node_state_word(const NodeView& node); // "ready", "cordoned", "suspect", "lost"
Style node_style(const NodeView& node);
std::string node_note(const NodeView& node); // why it takes no work
std::string cpu_text(const NodeView& node);
std::string memory_text(const NodeView& node);
std::string device_product(const Device& device);
std::string bytes_text(std::int64_t bytes);                         // "1.5 GiB"
std::string age_text(Instant since, Instant now);                   // "3 min", "2 h", "4 d"
std::string short_duration(Duration duration);                      // "45 s", "3 min", "2 h", "4 d"
std::string indices_text(const std::vector<std::int64_t>& indices); // "0-3,6"

template <class Name>
std::string joined_names(const std::vector<Name>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ",") + to_text(name);
    return text;
}

} // namespace muster::cli
