#include "cli/views_text.hpp"

#include "base/text.hpp"
#include "cli/messages.hpp"

#include <array>
#include <fmt/format.h>

namespace muster::cli {

std::string node_state_word(const NodeView& node) {
    if (node.contact == Contact::lost) return say("lost");
    if (node.contact == Contact::suspect) return say("suspect");
    if (!node.cordons.empty()) return say("cordoned");
    return node.schedulable ? say("ready") : say("not ready");
}

Style node_style(const NodeView& node) {
    if (node.contact == Contact::lost) return Style::red;
    if (node.contact == Contact::suspect || !node.cordons.empty()) return Style::yellow;
    return node.schedulable ? Style::green : Style::yellow;
}

std::string node_note(const NodeView& node) {
    if (node.contact != Contact::connected)
        return node.since_beat.ns < 0 ? say("no sign since the server's start")
                                      : say("no sign for {}", duration_for_people(node.since_beat));
    if (node.cordons.empty()) return {};
    const auto& cordon = node.cordons.front();
    return cordon.reason.empty() ? say("cordoned") : cordon.reason;
}

std::string cpu_text(const NodeView& node) {
    return node.sample ? fmt::format("{} %", node.sample->cpu_per_mille / 10) : "";
}

std::string memory_text(const NodeView& node) {
    if (!node.sample) return bytes_text(node.inventory.memory_bytes);
    return bytes_text(node.sample->memory_used_bytes) + "/" +
           bytes_text(node.inventory.memory_bytes);
}

std::string device_product(const Device& device) {
    if (!device.product.empty()) return device.product;
    return device.kind == DeviceKind::slot ? say("CPU slot") : say("GPU");
}

std::string bytes_text(std::int64_t bytes) {
    constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 || value >= 100 ? fmt::format("{:.0f} {}", value, units[unit])
                                     : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string short_duration(Duration duration) {
    const std::int64_t seconds = duration.ns / 1'000'000'000;
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
    return fmt::format("{} d", seconds / 86'400);
}

std::string age_text(Instant since, Instant now) {
    if (since.ns <= 0 || now < since) return {};
    return short_duration(now - since);
}

std::string indices_text(const std::vector<std::int64_t>& indices) {
    std::string text;
    for (std::size_t i = 0; i < indices.size();) {
        std::size_t end = i;
        while (end + 1 < indices.size() && indices[end + 1] == indices[end] + 1) ++end;
        if (!text.empty()) text += ",";
        text += std::to_string(indices[i]);
        if (end > i) text += "-" + std::to_string(indices[end]);
        i = end + 1;
    }
    return text;
}

} // namespace muster::cli
