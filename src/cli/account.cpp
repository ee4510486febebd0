// why and report: what holds a job up, and where its time went.

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/event_text.hpp"
#include "cli/messages.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/table.hpp"
#include "cli/report_text.hpp"
#include "cli/watch.hpp"

namespace muster::cli {
namespace {

template <class View, class Text>
int show_text(const ShowFlags& flags, const std::string& target, const Text& text_of) {
    const Render render = [&](Api& api, int width) -> Result<std::string> {
        auto view = api.get<View>(target);
        if (!view) return fail(view.error());
        if (is_document(flags.output)) return as_document(*view, flags.output);
        if (flags.output == Output::name) return to_text(view->name) + "\n";
        Terminal terminal = look_at_terminal(1, flags.common.no_color);
        terminal.width = flags.output == Output::wide ? 0 : width;
        return text_of(*view, terminal);
    };
    if (flags.watch) return watch(flags.common, render);
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    auto text = render(*api, look_at_terminal(1, true).width);
    if (!text) return report_error(text.error());
    print_text(*text);
    return exit_ok;
}

} // namespace

int do_why(const ShowFlags& flags) {
    return show_text<WhyView>(flags, job_path(flags.name, "/why"), why_text);
}

int do_report(const ShowFlags& flags) {
    return show_text<ReportView>(flags, job_path(flags.name, "/report"), report_text);
}

} // namespace muster::cli
