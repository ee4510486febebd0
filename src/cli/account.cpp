// why and report: what holds a job up, and where its time went.

#include "cli/commands.hpp"
#include "cli/report_text.hpp"
#include "cli/show.hpp"

namespace muster::cli {
int do_why(const ShowFlags& flags) {
    return show_one<WhyView>(flags, job_path(flags.name, "/why"),
                             [&](const auto& view, auto& terminal) {
                                 return flags.output == Output::name ? to_text(view.name) + "\n"
                                                                     : why_text(view, terminal);
                             });
}

int do_report(const ShowFlags& flags) {
    return show_one<ReportView>(
        flags, job_path(flags.name, "/report"), [&](const auto& view, auto& terminal) {
            return flags.output == Output::name ? to_text(view.name) + "\n"
                                                : report_text(view, terminal);
        });
}

} // namespace muster::cli
