#include "sim/scenario.hpp"

#include "base/text.hpp"
#include "model/spec.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr std::array forms{
    Form{Section::given, "nodes # devices #", Verb::nodes},
    Form{Section::given, "seed #", Verb::seed},
    Form{Section::given, "network drop # duplicate # delay @", Verb::network},
    Form{Section::given, "disk sync @", Verb::disk},
    Form{Section::given, "ranks ignore_term", Verb::ranks_ignore_term},
    Form{Section::given, "ranks leave_children", Verb::ranks_leave_children},
    Form{Section::given, "ranks stuck @", Verb::ranks_stuck},
    Form{Section::given, "job % ...", Verb::job},
    Form{Section::given, "role % of % ranks # devices #", Verb::role},
    Form{Section::when, "submit %", Verb::submit},
    Form{Section::when, "cancel %", Verb::cancel},
    Form{Section::when, "cordon %", Verb::cordon},
    Form{Section::when, "uncordon %", Verb::uncordon},
    Form{Section::when, "wait @", Verb::wait},
    Form{Section::when, "% reaches step #", Verb::reaches_step},
    Form{Section::when, "% begins attempt #", Verb::begins_attempt},
    Form{Section::when, "% is %", Verb::is_phase},
    Form{Section::when, "kill rank # of % signal #", Verb::kill_rank},
    Form{Section::when, "exit rank # of % code #", Verb::exit_rank},
    Form{Section::when, "crash server for @", Verb::crash_server},
    Form{Section::when, "stop server for @", Verb::stop_server},
    Form{Section::when, "suspend server for @", Verb::suspend_server},
    Form{Section::when, "crash agent % for @", Verb::crash_agent},
    Form{Section::when, "crash launcher % on %", Verb::crash_launcher},
    Form{Section::when, "power off % for @", Verb::power_off},
    Form{Section::when, "cut % for @", Verb::cut},
    Form{Section::when, "answers are lost for @", Verb::cut_people},
    Form{Section::when, "pause agent % for @", Verb::pause_agent},
    Form{Section::when, "pause launcher % on % for @", Verb::pause_launcher},
    Form{Section::when, "disk stalls for @", Verb::slow_disk},
    Form{Section::then, "% ends % within @", Verb::ends},
    Form{Section::then, "% has reason %", Verb::has_reason},
    Form{Section::then, "% has exit code #", Verb::has_exit_code},
    Form{Section::then, "% has restarts #", Verb::has_restarts},
    Form{Section::then, "% has attempts #", Verb::has_attempts},
    Form{Section::then, "% has cause rank #", Verb::has_cause_rank},
    Form{Section::then, "% has steps #", Verb::has_steps},
    Form{Section::then, "% waits for %", Verb::waits_for},
    Form{Section::then, "% runs on %", Verb::runs_on},
    Form{Section::then, "facts % #", Verb::facts},
    Form{Section::then, "nothing changes for @", Verb::nothing_changes},
};

constexpr std::array<std::string_view, 3> sections{"given", "when", "then"};

using Words = std::vector<std::string_view>;

Words words_of(std::string_view line) {
    Words words;
    std::size_t at = 0;
    while (at < line.size()) {
        while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
        std::size_t end = at;
        while (end < line.size() && line[end] != ' ' && line[end] != '\t') ++end;
        if (end > at) words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

tl::unexpected<Error> wrong(std::int64_t line, const std::string& what, std::string hint = {}) {
    return fail(Code::invalid_argument, fmt::format("line {}: {}", line, what), std::move(hint),
                fmt::format("line {}", line));
}

std::optional<std::int64_t> number(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    if (value < 0 || value > 1'000'000'000) return std::nullopt;
    return value;
}

std::optional<Value> value_of(std::string_view kind, std::string_view word) {
    Value value;
    value.text = std::string(word);
    if (kind == "#") {
        const auto n = number(word);
        if (!n) return std::nullopt;
        value.number = *n;
    } else if (kind == "@") {
        const auto d = parse_duration(word);
        if (!d || *d < Duration{} || *d > Duration::hours(24)) return std::nullopt;
        value.duration = *d;
    }
    return value;
}

/// The values where the words have the form; how many words agreed in `agreed`.
std::optional<std::vector<Value>>
match(const Words& pattern, std::span<const std::string_view> words, std::size_t& agreed) {
    std::vector<Value> values;
    for (agreed = 0; agreed < pattern.size(); ++agreed) {
        const std::string_view want = pattern[agreed];
        if (want == "...") return values;
        if (agreed >= words.size()) return std::nullopt;
        if (want == "#" || want == "@" || want == "%") {
            auto value = value_of(want, words[agreed]);
            if (!value) return std::nullopt;
            values.push_back(std::move(*value));
        } else if (want != words[agreed]) {
            return std::nullopt;
        }
    }
    if (words.size() != pattern.size()) return std::nullopt;
    return values;
}

std::string spelled(const Form& form) {
    std::string out(sections[static_cast<std::size_t>(form.section)]);
    for (const auto word : words_of(form.pattern)) {
        out += ' ';
        if (word == "#")
            out += "<number>";
        else if (word == "@")
            out += "<duration>";
        else if (word == "%")
            out += "<name>";
        else
            out += word;
    }
    return out;
}

Result<Statement> statement_of(std::int64_t line, Section section,
                               std::span<const std::string_view> words) {
    const Form* nearest_form = nullptr;
    std::size_t best = 0;
    for (const auto& form : forms) {
        if (form.section != section) continue;
        std::size_t agreed = 0;
        if (auto values = match(words_of(form.pattern), words, agreed))
            return Statement{line, &form, std::move(*values)};
        if (nearest_form == nullptr || agreed > best) {
            nearest_form = &form;
            best = agreed;
        }
    }
    return wrong(
        line, "is no form of \"" + std::string(sections[static_cast<std::size_t>(section)]) + "\"",
        "the nearest form is: " + spelled(*nearest_form));
}

class Builder {
  public:
    Builder() {
        scenario_.setup.faults = Faults{};
        scenario_.setup.chaos = Duration::max();
    }

    Status given(const Statement& s, std::span<const std::string_view> words) {
        auto& faults = scenario_.setup.faults;
        switch (s.form->verb) {
        case Verb::nodes: return nodes(s);
        case Verb::seed: scenario_.seed = static_cast<std::uint64_t>(s.values[0].number); break;
        case Verb::network:
            if (s.values[0].number > 1000 || s.values[1].number > 1000)
                return wrong(s.line, "drop and duplicate are per mille, at most 1000");
            faults.drop_per_mille = static_cast<std::uint32_t>(s.values[0].number);
            faults.duplicate_per_mille = static_cast<std::uint32_t>(s.values[1].number);
            faults.delay_max = std::max(Duration::millis(1), s.values[2].duration);
            break;
        case Verb::disk:
            faults.fsync_max = std::max(Duration::millis(1), s.values[0].duration);
            break;
        case Verb::ranks_ignore_term: faults.term_ignored_per_mille = 1000; break;
        case Verb::ranks_leave_children: faults.child_survives_per_mille = 1000; break;
        case Verb::ranks_stuck:
            faults.stuck_per_mille = 1000;
            faults.stuck_max = std::max(Duration::seconds(1), s.values[0].duration);
            break;
        case Verb::job: return job(s, words.subspan(2));
        case Verb::role: return role(s);
        default: break;
        }
        return ok();
    }

    Status step(Statement s) {
        scenario_.steps.push_back(std::move(s));
        return ok();
    }

    Result<Scenario> finish() {
        if (scenario_.setup.devices.empty())
            return fail(Code::invalid_argument, "no nodes are given",
                        "begin with: given nodes 2 devices 2");
        for (const auto& plan : scenario_.setup.jobs) {
            auto checked = checked_spec(plan.spec);
            if (!checked)
                return fail(Code::invalid_argument,
                            fmt::format("job {}: {}: {}", plan.spec.name->text,
                                        checked.error().field, to_text(checked.error())));
        }
        return std::move(scenario_);
    }

    Status check_names(const Statement& s) const {
        const auto known = [&](const std::string& name) {
            return std::ranges::any_of(scenario_.setup.jobs,
                                       [&](const JobPlan& p) { return p.spec.name->text == name; });
        };
        const auto is_node = [&](const std::string& name) {
            const auto n =
                name.starts_with('n') ? number(std::string_view(name).substr(1)) : std::nullopt;
            return n && *n >= 1 && *n <= static_cast<std::int64_t>(scenario_.setup.devices.size());
        };
        const std::string* job = nullptr;
        const std::string* node = nullptr;
        switch (s.form->verb) {
        case Verb::cordon:
        case Verb::uncordon:
        case Verb::crash_agent:
        case Verb::pause_agent:
        case Verb::power_off:
        case Verb::cut: node = &s.values[0].text; break;
        case Verb::kill_rank:
        case Verb::exit_rank: job = &s.values[1].text; break;
        case Verb::runs_on:
        case Verb::pause_launcher:
        case Verb::crash_launcher: node = &s.values[1].text; [[fallthrough]];
        case Verb::submit:
        case Verb::cancel:
        case Verb::reaches_step:
        case Verb::begins_attempt:
        case Verb::is_phase:
        case Verb::ends:
        case Verb::has_reason:
        case Verb::has_exit_code:
        case Verb::has_restarts:
        case Verb::has_attempts:
        case Verb::has_cause_rank:
        case Verb::has_steps:
        case Verb::waits_for: job = &s.values[0].text; break;
        default: break;
        }
        if (job != nullptr && !known(*job))
            return wrong(s.line, "there is no job " + *job,
                         "give it first: given job " + *job + " ranks 1");
        if (node != nullptr && !is_node(*node))
            return wrong(s.line, "there is no node " + *node, "nodes are called n1, n2 and so on");
        return ok();
    }

  private:
    Status nodes(const Statement& s) {
        if (s.values[0].number < 1 || s.values[0].number > scenario_nodes_max ||
            s.values[1].number > scenario_devices_max)
            return wrong(s.line, fmt::format("1 to {} nodes with at most {} devices",
                                             scenario_nodes_max, scenario_devices_max));
        if (scenario_.setup.devices.size() + static_cast<std::size_t>(s.values[0].number) >
            static_cast<std::size_t>(scenario_nodes_max))
            return wrong(s.line, fmt::format("more than {} nodes in all", scenario_nodes_max));
        scenario_.setup.devices.insert(scenario_.setup.devices.end(),
                                       static_cast<std::size_t>(s.values[0].number),
                                       s.values[1].number);
        return ok();
    }

    Status job(const Statement& s, std::span<const std::string_view> words) {
        auto& jobs = scenario_.setup.jobs;
        const std::string& name = s.values[0].text;
        if (!is_dns_label(name)) return wrong(s.line, "\"" + name + "\" is not a name");
        if (jobs.size() >= scenario_jobs_max) return wrong(s.line, "too many jobs");
        for (const auto& plan : jobs)
            if (plan.spec.name->text == name)
                return wrong(s.line, "job " + name + " is given twice");
        JobPlan plan;
        plan.submit_at = Duration::max();
        plan.import_max = Duration::millis(500);
        plan.spec.name = WorkloadName{name};
        Role role;
        role.command = {"python3", "train.py"};
        plan.spec.roles.push_back(std::move(role));
        while (!words.empty())
            if (auto status = key(s.line, words, plan); !status) return status;
        jobs.push_back(std::move(plan));
        return ok();
    }

    static Status key(std::int64_t line, std::span<const std::string_view>& words, JobPlan& plan) {
        const std::string_view name = words.front();
        words = words.subspan(1);
        if (name == "user_error" || name == "cannot_execute" || name == "peers_hang") {
            (name == "user_error"   ? plan.user_error
             : name == "peers_hang" ? plan.peers_hang
                                    : plan.cannot_execute) = true;
            return ok();
        }
        struct Number {
            std::string_view name;
            std::int64_t* to;
        };
        struct Time {
            std::string_view name;
            Duration* to;
        };
        Role& role = plan.spec.roles[0];
        std::int64_t per_node = 0;
        const Number numbers[] = {{"ranks", &role.ranks},
                                  {"devices", &role.devices_per_rank},
                                  {"per_node", &per_node},
                                  {"steps", &plan.steps},
                                  {"save", &plan.save_every},
                                  {"priority", &plan.spec.priority},
                                  {"restarts", &plan.spec.restarts.per_ten_minutes},
                                  {"restarts_per_day", &plan.spec.restarts.per_day}};
        const Time times[] = {{"step", &plan.step_time},
                              {"grace", &plan.spec.stop_grace},
                              {"import", &plan.import_max},
                              {"epilogue", &plan.epilogue_max}};
        for (const auto& entry : numbers) {
            if (entry.name != name) continue;
            const auto n = words.empty() ? std::nullopt : number(words.front());
            if (!n) return wrong(line, std::string(name) + " takes a number");
            words = words.subspan(1);
            *entry.to = *n;
            if (name == "per_node") role.ranks_per_node = per_node;
            if ((name == "save" || name == "steps") && *n == 0)
                return wrong(line, std::string(name) + " is at least 1");
            return ok();
        }
        for (const auto& entry : times) {
            if (entry.name != name) continue;
            const auto value = words.empty() ? std::nullopt : value_of("@", words.front());
            if (!value) return wrong(line, std::string(name) + " takes a duration, such as 200ms");
            words = words.subspan(1);
            *entry.to =
                std::max(name == "grace" ? Duration{} : Duration::millis(50), value->duration);
            return ok();
        }
        return wrong(
            line, "a job has no \"" + std::string(name) + "\"",
            "keys: ranks devices per_node steps step save priority restarts restarts_per_day "
            "grace import epilogue user_error cannot_execute peers_hang");
    }

    Status role(const Statement& s) {
        for (auto& plan : scenario_.setup.jobs) {
            if (plan.spec.name->text != s.values[1].text) continue;
            Role role;
            role.name = RoleName{s.values[0].text};
            role.ranks = s.values[2].number;
            role.devices_per_rank = s.values[3].number;
            role.command = {"python3", "other.py"};
            plan.spec.roles.push_back(std::move(role));
            return ok();
        }
        return wrong(s.line, "there is no job " + s.values[1].text);
    }

    Scenario scenario_;
};

} // namespace

std::span<const Form> scenario_forms() { return forms; }

Result<Scenario> parse_scenario(std::string_view text) {
    if (text.size() > scenario_bytes_max)
        return fail(Code::invalid_argument,
                    fmt::format("a scenario has at most {} bytes", scenario_bytes_max));
    Builder builder;
    std::int64_t line = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view content = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++line;
        content = content.substr(0, content.find('#'));
        if (content.ends_with('\r')) content.remove_suffix(1);
        const Words words = words_of(content);
        if (words.empty()) continue;
        std::size_t section = 0;
        while (section < sections.size() && sections[section] != words[0]) ++section;
        if (section == sections.size())
            return wrong(line, "begins with \"" + std::string(words[0].substr(0, 40)) + "\"",
                         "a line begins with given, when or then");
        const auto rest = std::span(words).subspan(1);
        auto statement = statement_of(line, static_cast<Section>(section), rest);
        if (!statement) return fail(statement.error());
        Status status = ok();
        if (static_cast<Section>(section) == Section::given)
            status = builder.given(*statement, rest);
        else if (status = builder.check_names(*statement); status)
            status = builder.step(std::move(*statement));
        if (!status) return fail(status.error());
    }
    return builder.finish();
}

} // namespace muster::sim
