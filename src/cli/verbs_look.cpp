// Flags of the verbs that show.

#include "cli/commands.hpp"
#include "cli/messages.hpp"
#include "cli/verbs.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace muster::cli {
namespace {

using Do = int (*)(const ShowFlags&);

/// A verb that shows one named thing.
std::function<Action(CLI::App&, const PartVerbs&)> shows(const char* thing, Do action) {
    return [thing, action](CLI::App& app, const PartVerbs&) -> Action {
        auto flags = std::make_shared<ShowFlags>();
        app.add_option(thing, flags->name, "name or id")->required();
        add_output(app, flags->output);
        add_watch(app, flags->watch);
        add_common(app, flags->common);
        return [flags, action] { return action(*flags); };
    };
}

Action declare_jobs(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<ListFlags>();
    app.add_flag("-a,--all", flags->all, "those that are over, too");
    add_output(app, flags->output);
    add_watch(app, flags->watch);
    add_common(app, flags->common);
    return [flags] { return do_jobs(*flags); };
}

Action declare_nodes(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<ListFlags>();
    add_output(app, flags->output);
    add_watch(app, flags->watch);
    add_common(app, flags->common);
    return [flags] { return do_nodes(*flags); };
}

Action declare_cordon(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<CordonFlags>();
    app.add_option("NODE", flags->nodes, "names")->required();
    app.add_option("--reason", flags->reason, "for those who wonder later")->type_name("TEXT");
    add_common(app, flags->common);
    return [flags] { return do_cordon(*flags); };
}

Action declare_uncordon(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<CordonFlags>();
    app.add_option("NODE", flags->nodes, "names")->required();
    add_common(app, flags->common);
    return [flags] { return do_uncordon(*flags); };
}

Action declare_events(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<EventsFlags>();
    app.add_option("--after", flags->after, "only those after this sequence number")
        ->type_name("SEQ");
    app.add_option("--limit", flags->limit, "at most so many, the newest (100)")
        ->type_name("N")
        ->check([](const std::string& text) { return below_limit(text, 1); });
    app.add_option("--job", flags->job, "of this job only")->type_name("JOB");
    add_output(app, flags->output);
    add_watch(app, flags->watch);
    add_common(app, flags->common);
    return [flags] { return do_events(*flags); };
}

Action declare_journal(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<JournalFlags>();
    app.footer("muster journal verify checks the chain of hashes.");
    app.add_option("--after", flags->after, "only facts after this sequence number")
        ->type_name("SEQ");
    app.add_option("--limit", flags->limit, "at most so many")->type_name("N");
    app.add_flag("--offline", flags->offline,
                 "read the file in the state directory, not the server");
    add_output(app, flags->output);
    add_common(app, flags->common);
    return [flags] { return do_journal(*flags); };
}

Action declare_journal_verify(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<JournalFlags>();
    app.footer("Reads the file in the state directory; a server may run meanwhile.");
    add_common(app, flags->common);
    return [flags] { return do_journal_verify(*flags); };
}

Action declare_version(CLI::App& app, const PartVerbs&) {
    auto flags = std::make_shared<ShowFlags>();
    add_common(app, flags->common);
    return [flags] { return do_version(*flags); };
}

} // namespace

std::vector<Verb> look_verbs() {
    const std::string look = say("Looking");
    const std::string admin = say("Nodes and the control plane");
    return {
        {"jobs", look, "", say("all jobs"), declare_jobs},
        {"job", look, "JOB", say("one job with everything"), shows("JOB", do_job)},
        {"why", look, "JOB", say("why a job waits, or what happened to it"), shows("JOB", do_why)},
        {"report", look, "JOB", say("steps, loss, goodput and restarts of a job"),
         shows("JOB", do_report)},
        {"events", look, "", say("what happened, newest last"), declare_events},
        {"nodes", admin, "", say("all nodes"), declare_nodes},
        {"node", admin, "NODE", say("one node with everything"), shows("NODE", do_node)},
        {"node cordon", admin, "NODE...", say("give nodes no new work"), declare_cordon},
        {"node uncordon", admin, "NODE...", say("give nodes work again"), declare_uncordon},
        {"journal", admin, "", say("the stored facts"), declare_journal},
        {"journal verify", admin, "", say("check the journal's chain of hashes"),
         declare_journal_verify},
        {"version", admin, "", say("versions of this program and of the server"), declare_version}};
}

} // namespace muster::cli
