#include "model/spec.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <set>

namespace muster {
namespace {

tl::unexpected<Error> wrong(std::string field, std::string message, std::string hint = {}) {
    return fail(Code::invalid_argument, std::move(message), std::move(hint), std::move(field));
}

struct Range {
    std::int64_t low;
    std::int64_t high;
};

Status in_range(const std::string& field, std::int64_t value, Range range) {
    if (value >= range.low && value <= range.high) return ok();
    return wrong(field, std::to_string(value) + " is out of range",
                 "give a number from " + std::to_string(range.low) + " to " +
                     std::to_string(range.high));
}

constexpr const char* name_rule =
    "use a-z, 0-9 and '-', at most 63 characters, with a letter or digit at both ends";

Status check_env(const std::string& at, const Role& role) {
    for (const auto& [key, value] : role.env) {
        if (key.empty() || key.find('=') != std::string::npos ||
            key.find('\0') != std::string::npos)
            return wrong(at + ".env", "\"" + key + "\" is not a name of a variable");
        if (std::ranges::any_of(key, [](char c) { return (c > 0 && c <= ' ') || c == 127; }))
            return wrong(at + ".env", "\"" + key + "\" is not a name of a variable: it has a blank",
                         "use letters, digits and '_'");
        if (value.find('\0') != std::string::npos)
            return wrong(at + ".env." + key, "a value cannot hold a zero byte");
        if (key.starts_with("MUSTER_"))
            return wrong(at + ".env." + key, "names that begin with MUSTER_ are set by Muster",
                         "choose another name");
    }
    return ok();
}

Status check_command(const std::string& at, const Role& role) {
    if (role.command.empty() || role.command[0].empty())
        return wrong(at + ".command", "is empty", "give the program and its arguments as a list");
    std::size_t bytes = 0;
    for (const auto& word : role.command) {
        if (word.find('\0') != std::string::npos)
            return wrong(at + ".command", "an argument cannot hold a zero byte");
        bytes += word.size() + 1;
    }
    for (const auto& [key, value] : role.env) bytes += key.size() + value.size() + 2;
    if (bytes > static_cast<std::size_t>(command_bytes_max))
        return wrong(at + ".command", "command and env have " + std::to_string(bytes) + " bytes",
                     "at most " + std::to_string(command_bytes_max) + "; pass large input by file");
    return ok();
}

Status check_role(const std::string& at, const Role& role) {
    if (!is_dns_label(role.name.text))
        return wrong(at + ".name", "\"" + role.name.text + "\" is not a name", name_rule);
    if (auto s = in_range(at + ".ranks", role.ranks, {1, ranks_max}); !s) return s;
    if (auto s =
            in_range(at + ".devices_per_rank", role.devices_per_rank, {0, devices_per_rank_max});
        !s)
        return s;
    if (role.ranks_per_node) {
        if (auto s = in_range(at + ".ranks_per_node", *role.ranks_per_node, {1, ranks_max}); !s)
            return s;
        if (role.ranks % *role.ranks_per_node != 0)
            return wrong(at + ".ranks", std::to_string(role.ranks) +
                                            " is not a multiple of ranks_per_node (" +
                                            std::to_string(*role.ranks_per_node) + ")");
    }
    if (auto s = check_env(at, role); !s) return s;
    return check_command(at, role);
}

} // namespace

Result<WorkloadSpec> checked_spec(WorkloadSpec spec) {
    if (spec.name && !is_dns_label(spec.name->text))
        return wrong("name", "\"" + spec.name->text + "\" is not a name", name_rule);
    if (auto s = in_range("priority", spec.priority, {0, 100}); !s) return fail(s.error());
    if (spec.roles.empty()) return wrong("roles", "is empty", "a job has at least one role");
    if (auto s = in_range("roles", static_cast<std::int64_t>(spec.roles.size()), {1, roles_max});
        !s)
        return fail(s.error());
    std::set<RoleName> names;
    for (std::size_t i = 0; i < spec.roles.size(); ++i) {
        const std::string at = "roles[" + std::to_string(i) + "]";
        if (auto s = check_role(at, spec.roles[i]); !s) return fail(s.error());
        if (!names.insert(spec.roles[i].name).second)
            return wrong(at + ".name", "\"" + spec.roles[i].name.text + "\" is given twice");
    }
    if (total_ranks(spec) > ranks_max)
        return wrong("roles", std::to_string(total_ranks(spec)) + " ranks in all",
                     "at most " + std::to_string(ranks_max));
    if (!spec.workdir.empty() && spec.workdir[0] != '/')
        return wrong("workdir", "\"" + spec.workdir + "\" is not an absolute path");
    if (spec.workdir.find('\0') != std::string::npos)
        return wrong("workdir", "a path cannot hold a zero byte");
    if (auto s =
            in_range("restarts.per_ten_minutes", spec.restarts.per_ten_minutes, {0, restarts_max});
        !s)
        return fail(s.error());
    if (auto s = in_range("restarts.per_day", spec.restarts.per_day, {0, restarts_max}); !s)
        return fail(s.error());
    if (spec.stop_grace < Duration{} || spec.stop_grace > stop_grace_max)
        return wrong("stop_grace", to_text(spec.stop_grace) + " is out of range",
                     "give a duration from 0s to 1h");
    if (spec.early_exit_limit < early_exit_limit_min ||
        spec.early_exit_limit > early_exit_limit_max)
        return wrong("early_exit_limit", to_text(spec.early_exit_limit) + " is out of range",
                     "give a duration from 1s to 24h");
    return spec;
}

WorkloadName default_name(const WorkloadSpec& spec, const WorkloadId& id) {
    std::string base;
    if (!spec.roles.empty()) {
        for (const auto& word : spec.roles[0].command) {
            const auto slash = word.rfind('/');
            base = slash == std::string::npos ? word : word.substr(slash + 1);
            if (base.ends_with(".py") || base.ends_with(".sh")) break;
        }
        if (!base.ends_with(".py") && !base.ends_with(".sh")) {
            const std::string& program =
                spec.roles[0].command.empty() ? base : spec.roles[0].command[0];
            const auto slash = program.rfind('/');
            base = slash == std::string::npos ? program : program.substr(slash + 1);
        }
    }
    base = base.substr(0, base.find('.'));
    std::string label;
    for (char c : base) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (fine)
            label += c;
        else if (!label.empty() && label.back() != '-')
            label += '-';
    }
    constexpr std::size_t base_length_max = 40;
    label = label.substr(0, base_length_max);
    while (!label.empty() && label.back() == '-') label.pop_back();
    if (label.empty()) label = "job";
    return WorkloadName{label + "-" + to_short_text(id)};
}

Result<NodeName> parse_node_name(const std::string& text) {
    if (!is_dns_label(text)) return wrong("node", "\"" + text + "\" is not a name", name_rule);
    return NodeName{text};
}

} // namespace muster
