// run and submit: a spec from flags or a file, handed in once, then followed.

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/follow.hpp"
#include "cli/messages.hpp"
#include "cli/pause.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/spec_flags.hpp"

#include <sys/random.h>

namespace muster::cli {
namespace {

constexpr int submit_tries_max = 5;
constexpr Duration submit_retry = Duration::millis(500);

/// Makes a repeated submission the same submission.
std::string fresh_token() {
    std::uint64_t random[2] = {};
    if (getrandom(random, sizeof random, 0) != sizeof random) return {};
    return raw_id_to_text(make_raw_id(wall_now(), random[0], random[1]));
}

Result<control::Submitted> hand_in(Api& api, const WorkloadSpec& spec, bool dry_run) {
    const std::string target = dry_run ? "/v1/workloads?dry_run=true" : "/v1/workloads";
    const std::string body = codec::to_json(spec);
    std::map<std::string, std::string> headers;
    if (const auto token = fresh_token(); !dry_run && !token.empty())
        headers["Client-Token"] = token;
    auto submitted = api.post<control::Submitted>(target, body, headers);
    // The token makes it safe to ask again where the answer was lost.
    for (int tries = 1; !submitted && submitted.error().code == Code::unknown_outcome &&
                        !headers.empty() && tries < submit_tries_max;
         ++tries) {
        if (!api.pause_for(submit_retry)) break;
        submitted = api.post<control::Submitted>(target, body, headers);
    }
    return submitted;
}

void print_plan(const WorkloadSpec& spec, const control::Submitted& submitted, Output output) {
    if (is_document(output)) return print_text(as_document(submitted, output));
    print_text(codec::to_yaml(spec));
    for (const auto& item : submitted.plan) {
        std::string line = "# " + (item.text.empty() ? explain(item.reason) : item.text);
        if (!item.unblocks_when.empty()) line += "; " + item.unblocks_when;
        print_text(line);
    }
    print_text(say("# dry run: nothing was submitted"));
}

void tell_submitted(Screen& screen, const control::Submitted& submitted) {
    const auto& job = submitted.workload;
    const std::string what =
        counted(job.ranks, "rank", "ranks") + ", " + counted(job.devices, "device", "devices");
    screen.own_line(submitted.existed ? say("{} was submitted before: {}", to_text(job.name), what)
                                      : say("{} submitted: {}", to_text(job.name), what));
}

int end_of_follow(const Followed& followed, Screen& screen) {
    const std::string name = to_text(followed.job->workload.name);
    if (followed.over()) {
        for (const auto& line : verdict_lines(screen.err(), *followed.job)) screen.own_line(line);
        return job_exit_code(followed.job->workload);
    }
    if (followed.error) {
        screen.own_line(say("{0} may go on: muster job {0}", name));
        return report_error(*followed.error);
    }
    screen.own_line(say("detached: {0} goes on. Come back: muster logs -f {0}   "
                        "Stop it: muster cancel {0}",
                        name));
    return exit_detached;
}

struct AfterSubmit {
    bool dry_run = false;
    bool follow = false;
    Output output = Output::table;
};

int submit_and(const CommonFlags& common, const WorkloadSpec& spec, AfterSubmit after) {
    auto api = Api::connect(common);
    if (!api) return report_error(api.error());
    std::optional<Sequence> events_after;
    if (after.follow && !after.dry_run) {
        auto server = api->get<ServerView>("/v1/server");
        if (!server) return report_error(server.error());
        events_after = server->facts;
    }
    auto submitted = hand_in(*api, spec, after.dry_run);
    if (!submitted) return report_error(submitted.error());
    if (after.dry_run) {
        print_plan(spec, *submitted, after.output);
        return exit_ok;
    }
    Screen screen(common.no_color);
    if (is_document(after.output))
        print_text(as_document(submitted->workload, after.output));
    else
        tell_submitted(screen, *submitted);
    if (!after.follow) {
        if (!is_document(after.output)) print_text(to_text(submitted->workload.name));
        return exit_ok;
    }
    const FollowOptions options{.common = common,
                                .job = to_text(submitted->workload.id),
                                .live = true,
                                .logs = true,
                                .events_after = events_after};
    WorkloadDetail start;
    start.workload = submitted->workload;
    start.spec = spec;
    return end_of_follow(follow(options, start, screen), screen);
}

} // namespace

int do_run(const RunFlags& flags) {
    auto spec = spec_from_flags(flags, real_surroundings());
    if (!spec) return report_error(spec.error());
    return submit_and(flags.common, *spec,
                      {.dry_run = flags.dry_run, .follow = !flags.detach, .output = flags.output});
}

int do_submit(const SubmitFlags& flags) {
    auto spec = spec_from_file(flags.file);
    if (!spec) return report_error(spec.error());
    return submit_and(flags.common, *spec,
                      {.dry_run = flags.dry_run, .follow = flags.follow, .output = flags.output});
}

} // namespace muster::cli
