#include "cli/follow.hpp"

#include "base/text.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/grep.hpp"
#include "cli/interrupt.hpp"
#include "cli/messages.hpp"
#include "cli/pause.hpp"
#include "cli/progress_line.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace muster::cli {
namespace {

std::int64_t tenth_of(const Progress& progress) {
    return progress.total > 0 ? capped_product(capped_sum(progress.step, 1), 10) / progress.total
                              : 0;
}

/// What the threads of one follow share.
class Session {
  public:
    Session(const FollowOptions& options, const WorkloadDetail& start, Screen& screen)
        : options_(options), screen_(screen), id_(to_text(start.workload.id)),
          name_(to_text(start.workload.name)), ranks_(start.workload.ranks) {
        result_.job = start;
    }

    Followed run(Interrupt& interrupt);

  private:
    using ApiResult = Result<Api>;

    void state_loop(Api& api);
    void logs_loop(Api& api);
    void events_loop(Api& api);
    void note_state(WorkloadDetail detail);
    void note_why(Api& api, WorkloadView& job);
    void give_up(const Error& error);
    void wait_until(const bool& flag, Duration limit);
    bool tell_away(Api& api, Duration& away, const Error& error);

    const FollowOptions& options_;
    Screen& screen_;
    const std::string id_;
    const std::string name_;
    const std::int64_t ranks_;
    Interrupt* interrupt_ = nullptr;

    std::mutex mutex_;
    std::condition_variable changed_;
    Followed result_;
    bool logs_done_ = false;
    bool events_done_ = false;
    std::atomic<bool> over_{false};
    std::atomic<std::int64_t> attempt_{0};
    std::int64_t tenth_told_ = -1;
    std::string state_told_;
    Reason why_; // why it waits, as last asked; the state's thread only, as are the three above
    Instant why_asked_at_;
};

void Session::note_state(WorkloadDetail detail) {
    const auto& job = detail.workload;
    if (options_.live) {
        // Without a terminal: a line at each change of state and at each tenth of the way.
        const std::string state = state_word(job);
        const bool milestone = state != state_told_ || tenth_of(job.progress) > tenth_told_;
        state_told_ = state;
        tenth_told_ = std::max(tenth_told_, tenth_of(job.progress));
        if (!is_terminal(job.phase))
            screen_.live(progress_line(screen_.err_now(), job, wall_now()), milestone, wall_now());
    }
    attempt_ = job.attempt;
    if (is_terminal(job.phase)) over_ = true;
    const std::scoped_lock lock(mutex_);
    result_.job = std::move(detail);
}

void Session::give_up(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!result_.error) result_.error = error;
}

/// True while it is worth another try.
bool Session::tell_away(Api& api, Duration& away, const Error& error) {
    const bool passing = code_retryable(error.code) || error.code == Code::unknown_outcome;
    if (!passing || away > server_away_max) {
        give_up(error);
        return false;
    }
    if (away.ns == 0)
        screen_.own_line(styled(screen_.err(), Style::yellow,
                                say("the server does not answer; the job goes on, trying again")));
    constexpr Duration pause = Duration::millis(300);
    away += pause;
    return api.pause_for(pause);
}

void Session::state_loop(Api& api) {
    Duration away;
    const std::string target = job_path(id_, ":await?hold=" + to_text(state_hold));
    while (!over_ && !api.cancelled()) {
        auto detail = api.get<WorkloadDetail>(target);
        if (!detail) {
            if (api.cancelled() || !tell_away(api, away, detail.error())) break;
            continue;
        }
        if (away.ns > 0)
            screen_.own_line(
                styled(screen_.err(), Style::green,
                       say("the server answers again, after {}", duration_for_people(away))));
        away = {};
        note_why(api, detail->workload);
        note_state(std::move(*detail));
    }
    if (over_) {
        if (options_.logs) wait_until(logs_done_, logs_after_end_max);
        if (options_.events_after) wait_until(events_done_, events_after_end_max);
    }
    interrupt_->done();
}

/// A job in the queue says of itself only that it was submitted; why it waits is asked for.
void Session::note_why(Api& api, WorkloadView& job) {
    if (!options_.live || job.phase != WorkloadPhase::queued) return;
    if (wall_now() - why_asked_at_ >= why_every) {
        why_asked_at_ = wall_now();
        if (auto why = api.get<WhyView>(job_path(id_, "/why")); why && !why->items.empty())
            why_ = why->items.front().reason;
    }
    if (why_.code != ReasonCode::none) job.reason = why_;
}

void Session::wait_until(const bool& flag, Duration limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(limit.ns), [&] { return flag; });
}

void Session::logs_loop(Api& api) {
    LogQuery query{.job = id_,
                   .ranks = options_.ranks,
                   .tail = options_.tail,
                   .since = options_.since,
                   .follow = true};
    if (query.ranks.empty())
        for (std::int64_t rank = 0; rank < ranks_; ++rank) query.ranks.push_back(rank);
    LogPrinter printer({.terminal = screen_.out(),
                        .rank_digits = static_cast<int>(std::to_string(ranks_ - 1).size()),
                        .times = options_.times});
    auto filter = Grep::make(options_.grep);
    LogReader reader(
        api, std::move(query),
        [&](const LogLine& line) {
            if (filter && !filter->matches(line.text)) return;
            if (const auto text = printer.print(line)) screen_.job_line(*text);
        },
        [&](const std::string& text) {
            screen_.own_line(styled(screen_.err(), Style::yellow, text));
        });
    const Instant begin = wall_now();
    Duration pace = logs_pace_min;
    std::int64_t attempt = attempt_;
    int empty_after_end = 0;
    while (!api.cancelled() && !reader.finished()) {
        const bool was_over = over_;
        if (const std::int64_t now = attempt_; now != attempt) {
            if (attempt > 0) reader.start_over();
            attempt = now;
        }
        auto news = reader.round();
        screen_.flush();
        if (news && *news) {
            pace = logs_pace_min;
            continue;
        }
        if (std::ferror(stdout)) break; // nobody reads any more
        // A job that is over writes no more: two rounds in a row without news are the end of it.
        if (was_over && ++empty_after_end > 1) break;
        if (!api.pause_for(pace)) break;
        pace = std::min(pace * 2, wall_now() - begin < young_max ? logs_pace_first : logs_pace_max);
    }
    reader.close();
    screen_.flush();
    const std::scoped_lock lock(mutex_);
    logs_done_ = true;
    result_.logs_whole = !reader.incomplete() && !api.cancelled();
    changed_.notify_all();
}

void Session::events_loop(Api& api) {
    const std::string subject = "job/" + name_;
    const auto status = api.events(*options_.events_after, [&](const EventView& event) {
        if (event.subject != subject) return true;
        if (is_worth_telling(event)) screen_.own_line(event_line(screen_.err(), event, false));
        return event.type != "WorkloadFinished";
    });
    (void)status; // the state's thread tells of a server that is away
    const std::scoped_lock lock(mutex_);
    events_done_ = true;
    changed_.notify_all();
}

Followed Session::run(Interrupt& interrupt) {
    interrupt_ = &interrupt;
    note_state(*result_.job);
    std::vector<Api> connections;
    const std::size_t wanted = 3;
    for (std::size_t i = 0; i < wanted; ++i) {
        auto api = Api::connect(options_.common);
        if (!api) {
            result_.error = api.error();
            return result_;
        }
        connections.push_back(std::move(*api));
    }
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { state_loop(connections[0]); });
    if (options_.logs) threads.emplace_back([&] { logs_loop(connections[1]); });
    if (options_.events_after) threads.emplace_back([&] { events_loop(connections[2]); });
    const int signal = interrupt.wait();
    for (auto& api : connections) api.cancel();
    threads.clear(); // joins
    screen_.end_live(signal != 0);
    result_.signal = signal;
    if (result_.over() && !result_.logs_whole)
        screen_.own_line(missing_lines(screen_.err(), name_));
    return result_;
}

} // namespace

Followed follow(const FollowOptions& options, const WorkloadDetail& start, Screen& screen) {
    Interrupt interrupt;
    Session session(options, start, screen);
    return session.run(interrupt);
}

std::string missing_lines(const Terminal& terminal, const std::string& job) {
    return styled(
        terminal, Style::yellow,
        say("some lines of {0} were not read: muster logs {0} shows them once all its nodes "
            "answer (muster nodes)",
            job));
}

int job_exit_code(const WorkloadView& job) {
    const auto code = static_cast<int>(job.exit_code.value_or(0));
    if (job.phase != WorkloadPhase::succeeded && code == 0) return exit_error;
    return code;
}

std::vector<std::string> verdict_lines(const Terminal& terminal, const WorkloadDetail& detail) {
    const auto& job = detail.workload;
    const std::string name = to_text(job.name);
    const Duration took = job.finished_at - job.submitted_at;
    std::vector<std::string> lines;
    const std::string took_text = duration_for_people(took);
    if (job.phase == WorkloadPhase::succeeded) {
        std::string text = say("{} succeeded in {}", name, took_text);
        if (job.restarts > 0) text += ", " + counted(job.restarts, "restart", "restarts");
        lines.push_back(styled(terminal, Style::green, text));
    } else {
        const Style style = job.phase == WorkloadPhase::cancelled ? Style::yellow : Style::red;
        lines.push_back(styled(terminal, style,
                               say("{} {} after {} with exit code {}: {}", name, state_word(job),
                                   took_text, job_exit_code(job), explain(job.reason))));
        const ExitCause* cause = nullptr;
        for (const auto& attempt : detail.attempts)
            if (attempt.cause) cause = &*attempt.cause;
        if (cause != nullptr && job.phase == WorkloadPhase::failed)
            for (auto& line : cause_lines(terminal, *cause)) lines.push_back(std::move(line));
    }
    lines.push_back(styled(terminal, Style::dim,
                           say("muster report {0}   muster logs {0}   muster why {0}", name)));
    return lines;
}

} // namespace muster::cli
