#pragma once
// run_server(): the control plane's process: journal, core, REST interface.
//
// Threads: I/O (HTTP), core (the loop), journal (commits), feed (events), and the caller's, which
// waits for the end. They meet in mailboxes only. Stop order: I/O, core, journal, so that
// everything that was acknowledged is durable and everything asked is answered.

#include "base/result.hpp"

#include <string>

namespace muster::app {

struct ServerOptions {
    std::string state;                     // directory; made where it is missing
    std::string listen = "127.0.0.1:7070"; // port 0: any free one, see client.json
    int io_threads = 2;
};

/// Runs until SIGTERM or SIGINT: then ok. An error is what kept it from starting or going on.
Status run_server(const ServerOptions& options);

} // namespace muster::app
