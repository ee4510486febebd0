// logs, cancel, wait, cordon, uncordon: verbs that stay with a job or change something.

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/follow.hpp"
#include "cli/grep.hpp"
#include "cli/interrupt.hpp"
#include "cli/messages.hpp"
#include "cli/pause.hpp"
#include "cli/progress_line.hpp"

#include <algorithm>
#include <cstdio>

namespace muster::cli {
namespace {

constexpr Duration wait_hold_max = Duration::seconds(20);
constexpr Duration cancel_wait_max = Duration::hours(2); // cancel --wait, for each job
constexpr Duration logs_pause = Duration::millis(50);    // after a round that brought nothing

/// "10m" back from now, or a time.
Result<Instant> parse_since(const std::string& text) {
    if (text.empty()) return Instant{};
    if (auto duration = parse_duration(text)) return wall_now() - *duration;
    auto instant = parse_instant(text);
    if (!instant)
        return fail(Code::invalid_argument, say("\"{}\" is neither a duration nor a time", text),
                    say("write 10m, or 2026-11-30T19:12:34Z"), "since");
    return instant;
}

Status check_ranks(const std::vector<std::int64_t>& ranks, const WorkloadView& job) {
    for (const auto rank : ranks)
        if (rank >= job.ranks)
            return fail(Code::not_found, say("{} has no rank {}", to_text(job.name), rank),
                        say("its ranks are 0 to {}", job.ranks - 1), "rank");
    return ok();
}

/// Without --follow: everything there is now, then the end.
int read_logs_once(Api& api, const LogsFlags& flags, FollowOptions options,
                   const WorkloadDetail& detail) {
    const Terminal terminal = look_at_terminal(1, flags.common.no_color);
    if (options.ranks.empty())
        for (std::int64_t rank = 0; rank < detail.workload.ranks; ++rank)
            options.ranks.push_back(rank);
    auto filter = Grep::make(flags.grep);
    if (!filter) return report_error(filter.error());
    const auto digits = std::to_string(detail.workload.ranks - 1).size();
    LogPrinter printer(
        {.terminal = terminal, .rank_digits = static_cast<int>(digits), .times = flags.times});
    LogReader reader(
        api,
        {.job = options.job, .ranks = options.ranks, .tail = options.tail, .since = options.since},
        [&](const LogLine& line) {
            if (!filter->matches(line.text)) return;
            if (const auto text = printer.print(line)) std::puts(text->c_str());
        },
        [&](const std::string& text) {
            std::fflush(stdout);
            std::fprintf(stderr, "%s\n", styled(terminal, Style::yellow, text).c_str());
        });
    while (!reader.finished() && !std::ferror(stdout)) {
        auto news = reader.round();
        if (!news) return report_error(news.error());
        if (reader.caught_up()) break;
        if (!*news) api.pause_for(logs_pause);
    }
    reader.close();
    std::fflush(stdout);
    if (!reader.incomplete()) return exit_ok;
    std::fprintf(stderr, "%s\n", missing_lines(terminal, to_text(detail.workload.name)).c_str());
    return exit_unreachable;
}

} // namespace

int do_logs(const LogsFlags& flags) {
    FollowOptions options{.common = flags.common, .logs = true, .times = flags.times};
    if (!flags.ranks.empty()) {
        auto ranks = parse_ranks(flags.ranks);
        if (!ranks) return report_error(ranks.error());
        options.ranks = std::move(*ranks);
    }
    auto since = parse_since(flags.since);
    if (!since) return report_error(since.error());
    options.since = *since;
    options.tail = flags.tail;
    options.grep = flags.grep;
    if (auto filter = Grep::make(flags.grep); !filter) return report_error(filter.error());
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    auto detail = api->get<WorkloadDetail>(job_path(flags.job));
    if (!detail) return report_error(detail.error());
    if (auto fine = check_ranks(options.ranks, detail->workload); !fine)
        return report_error(fine.error());
    options.job = to_text(detail->workload.id);
    if (!flags.follow || is_terminal(detail->workload.phase))
        return read_logs_once(*api, flags, options, *detail);
    auto server = api->get<ServerView>("/v1/server");
    if (server) options.events_after = server->facts;
    Screen screen(flags.common.no_color);
    const Followed followed = follow(options, *detail, screen);
    if (followed.over()) {
        for (const auto& line : verdict_lines(screen.err(), *followed.job)) screen.own_line(line);
        return followed.logs_whole ? exit_ok : exit_unreachable;
    }
    if (followed.error) return report_error(*followed.error);
    screen.own_line(say("{0} goes on. Stop it: muster cancel {0}", to_text(detail->workload.name)));
    return exit_detached;
}

namespace {

struct WaitResult {
    std::optional<WorkloadView> job;
    int code = exit_ok; // where there is no job
};

/// Held requests until the job is over; the server may be away in between.
WaitResult await_job(Api& api, const std::string& job, Duration limit) {
    Duration waited;
    Duration away;
    const Instant begin = wall_now();
    while (true) {
        const Duration left = limit - (wall_now() - begin);
        const Duration hold = std::clamp(left, Duration{}, wait_hold_max);
        auto detail = api.get<WorkloadDetail>(job_path(job, ":await?hold=" + to_text(hold)),
                                              hold + answer_max);
        if (detail) {
            away = {};
            if (is_terminal(detail->workload.phase)) return {detail->workload, 0};
        } else if (api.cancelled()) {
            return {std::nullopt, exit_detached};
        } else {
            const bool passing =
                code_retryable(detail.error().code) || detail.error().code == Code::unknown_outcome;
            if (!passing || away > server_away_max || waited.ns == 0)
                return {std::nullopt, report_error(detail.error())};
            away += Duration::seconds(1);
            api.pause_for(Duration::seconds(1));
        }
        waited = wall_now() - begin;
        if (waited >= limit) {
            std::fprintf(stderr, "%s\n",
                         say("{} is not over after {}", job, duration_for_people(limit)).c_str());
            return {std::nullopt, exit_timeout};
        }
        if (waited.ns == 0) waited = Duration::nanos(1);
    }
}

/// As above, or until Ctrl-C: exit_detached.
WaitResult wait_for_job(Api& api, const std::string& job, Duration limit) {
    WaitResult result;
    const int signal =
        until_interrupted([&] { result = await_job(api, job, limit); }, [&] { api.cancel(); });
    if (signal == 0 || result.job) return result;
    return {std::nullopt, exit_detached};
}

void tell(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

} // namespace

int do_wait(const WaitFlags& flags) {
    constexpr Duration for_ever = Duration::hours(24 * 365 * 10);
    Duration limit = for_ever;
    if (!flags.timeout.empty()) {
        auto parsed = parse_duration(flags.timeout);
        if (!parsed) {
            Error error = parsed.error();
            error.field = "timeout";
            return report_error(error);
        }
        limit = *parsed;
    }
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    const auto result = wait_for_job(*api, flags.job, limit);
    if (result.code == exit_detached)
        tell(say("no longer waiting; {0} goes on. Wait again: muster wait {0}", flags.job));
    if (!result.job) return result.code;
    std::fprintf(stderr, "%s\n",
                 say("{} {}, exit code {}", to_text(result.job->name), state_word(*result.job),
                     job_exit_code(*result.job))
                     .c_str());
    return job_exit_code(*result.job);
}

int do_cancel(const CancelFlags& flags) {
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    int code = exit_ok;
    for (const auto& job : flags.jobs) {
        auto detail = api->post<WorkloadDetail>(job_path(job, ":cancel"));
        if (!detail) {
            code = report_error(detail.error());
            continue;
        }
        const auto& view = detail->workload;
        if (flags.wait && !is_terminal(view.phase)) {
            const auto result = wait_for_job(*api, to_text(view.id), cancel_wait_max);
            if (result.code == exit_detached) {
                tell(say("no longer waiting; {0} is being stopped. Wait on: muster wait {0}",
                         to_text(view.name)));
                return exit_detached;
            }
            if (!result.job) {
                code = result.code;
                continue;
            }
            std::puts(say("{} {}", to_text(view.name), state_word(*result.job)).c_str());
        } else {
            std::puts(say("{} {}", to_text(view.name), state_word(view)).c_str());
        }
    }
    return code;
}

namespace {

int change_nodes(const CordonFlags& flags, const std::string& verb, const std::string& body,
                 std::string_view done) {
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    int code = exit_ok;
    for (const auto& node : flags.nodes) {
        auto view = api->post<NodeView>(node_path(node, ":" + verb), body);
        if (view)
            std::puts(say(done, to_text(view->name)).c_str());
        else
            code = report_error(view.error());
    }
    return code;
}

} // namespace

int do_cordon(const CordonFlags& flags) {
    const std::string body = "{\"reason\":" + codec::json_string(flags.reason) + "}";
    return change_nodes(flags, "cordon", body, "{} takes no new work; what runs on it goes on");
}

int do_uncordon(const CordonFlags& flags) {
    return change_nodes(flags, "uncordon", "{}", "{} takes work again");
}

} // namespace muster::cli
