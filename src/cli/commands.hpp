#pragma once
// The verbs, after their flags are parsed. Each prints and returns the code to exit with.

#include "cli/flags.hpp"

namespace muster::cli {

int do_run(const RunFlags& flags);
int do_submit(const SubmitFlags& flags);
int do_jobs(const ListFlags& flags);
int do_job(const ShowFlags& flags);
int do_logs(const LogsFlags& flags);
int do_cancel(const CancelFlags& flags);
int do_wait(const WaitFlags& flags);
int do_why(const ShowFlags& flags);
int do_report(const ShowFlags& flags);
int do_nodes(const ListFlags& flags);
int do_node(const ShowFlags& flags);
int do_cordon(const CordonFlags& flags);
int do_uncordon(const CordonFlags& flags);
int do_events(const EventsFlags& flags);
int do_journal(const JournalFlags& flags);
int do_journal_verify(const JournalFlags& flags);
int do_version(const ShowFlags& flags);

} // namespace muster::cli
