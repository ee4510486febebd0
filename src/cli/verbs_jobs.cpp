// Flags of the verbs about jobs.

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/verbs.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace muster::cli {
namespace {

/// Flags live as long as the action that reads them.
template <class Flags>
std::shared_ptr<Flags> keep() {
    return std::make_shared<Flags>();
}

Action declare_run(CLI::App& app, const PartVerbs&) {
    auto flags = keep<RunFlags>();
    app.footer(
        "A *.py script is run by the Python that MUSTER_PYTHON names, else by python3 of PATH.\n"
        "Ends with the job's own exit code; Ctrl-C detaches (130) and the job goes on.");
    app.prefix_command();
    app.add_option("-N,--nodes", flags->nodes, "nodes to spread over, evenly")->type_name("N");
    app.add_option("--nproc-per-node,--nproc_per_node", flags->nproc_per_node, "ranks on each node")
        ->type_name("K");
    app.add_option("-r,--ranks", flags->ranks, "ranks in all, placed as they fit")->type_name("R");
    app.add_option("--devices-per-rank", flags->devices_per_rank, "devices for each rank; 0: none")
        ->type_name("D");
    app.add_option("-n,--name", flags->name, "name; made from the script where absent");
    app.add_option("-p,--priority", flags->priority, "0 to 100, larger first (50)")->type_name("P");
    app.add_option("-e,--env", flags->env, "variable for the ranks; K alone passes ours on")
        ->type_name("K=V")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->allow_extra_args(false);
    app.add_option("-C,--workdir", flags->workdir, "where ranks start; the current folder")
        ->type_name("DIR");
    app.add_option("--restarts", flags->restarts, "restarts allowed in ten minutes (3)")
        ->type_name("N");
    app.add_option("--restarts-per-day", flags->restarts_per_day, "restarts allowed in a day (20)")
        ->type_name("N");
    app.add_option("--grace", flags->grace, "from SIGTERM to SIGKILL when stopped (15s)")
        ->type_name("TIME");
    app.add_option("--early-exit", flags->early_exit,
                   "a rank that ended with 0 fails the job once the others of its role stood still "
                   "so long (10m)")
        ->type_name("TIME");
    app.add_flag("-d,--detach", flags->detach, "submit, print the name, do not follow");
    app.add_flag("--dry-run", flags->dry_run,
                 "show the spec and what would happen; submit nothing");
    add_output(app, flags->output);
    add_common(app, flags->common);
    return
        [flags, &app] { return take_command(app, flags->command) ? do_run(*flags) : exit_usage; };
}

Action declare_submit(CLI::App& app, const PartVerbs&) {
    auto flags = keep<SubmitFlags>();
    app.add_option("FILE", flags->file,
                   "a spec in YAML or JSON (docs/spec.md); - reads standard input")
        ->required();
    app.add_flag("-f,--follow", flags->follow, "stay until the job is over, as run does");
    app.add_flag("--dry-run", flags->dry_run,
                 "check it and show what would happen; submit nothing");
    add_output(app, flags->output);
    add_common(app, flags->common);
    return [flags] { return do_submit(*flags); };
}

Action declare_logs(CLI::App& app, const PartVerbs&) {
    auto flags = keep<LogsFlags>();
    app.add_option("JOB", flags->job, "name or id")->required();
    app.add_flag("-f,--follow", flags->follow, "stay until the job is over");
    app.add_option("--rank,--ranks", flags->ranks, "of these ranks only, as 0,2-3")
        ->type_name("RANKS");
    app.add_option("--grep", flags->grep, "only lines that match (extended expression)")
        ->type_name("REGEX");
    app.add_option("--tail", flags->tail, "only the last lines")
        ->type_name("N")
        ->check([](const std::string& text) { return below_limit(text, 0); });
    app.add_option("--since", flags->since, "only newer lines: 10m, or 2026-11-30T19:12:34Z")
        ->type_name("WHEN");
    app.add_flag("-t,--times", flags->times, "with the time of each line");
    add_common(app, flags->common);
    return [flags] { return do_logs(*flags); };
}

Action declare_cancel(CLI::App& app, const PartVerbs&) {
    auto flags = keep<CancelFlags>();
    app.add_option("JOB", flags->jobs, "names or ids")->required();
    app.add_flag("--wait", flags->wait, "return when they are over");
    add_common(app, flags->common);
    return [flags] { return do_cancel(*flags); };
}

Action declare_wait(CLI::App& app, const PartVerbs&) {
    auto flags = keep<WaitFlags>();
    app.footer("Ends with the job's own exit code, or 124 where the time is over first.");
    app.add_option("JOB", flags->job, "name or id")->required();
    app.add_option("--timeout", flags->timeout, "at most this long: 10m")->type_name("TIME");
    add_common(app, flags->common);
    return [flags] { return do_wait(*flags); };
}

} // namespace

std::vector<Verb> job_verbs() {
    const std::string group = say("Jobs");
    return {
        {"run", group, "-- script.py arguments",
         say("run a script on the cluster and stay with it"), declare_run},
        {"submit", group, "FILE", say("hand in a job from a file"), declare_submit},
        {"logs", group, "JOB", say("what its ranks print, merged by time"), declare_logs},
        {"wait", group, "JOB", say("wait until a job is over, and end as it did"), declare_wait},
        {"cancel", group, "JOB...", say("stop jobs"), declare_cancel}};
}

} // namespace muster::cli
