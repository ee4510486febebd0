#pragma once
// LogPump: one thread that reads the output pipes of all ranks of a launcher into their RankLogs,
// so that a rank that prints without end slows neither the launcher nor the other ranks.
//
// Life: as long as the launcher. watch() takes the read ends; drain() reads what is there now, on
// the caller's thread, and gives the exit record; what a left-over process prints later is still
// read.

#include "io/logs/rank_log.hpp"
#include "io/posix/fd.hpp"
#include "runtime/ports.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace muster::io {

class LogPump {
  public:
    explicit LogPump(runtime::Clock& clock);
    ~LogPump();

    struct Pipes {
        UniqueFd out;
        UniqueFd err;
    };
    /// The log must outlive the pump.
    void watch(RankLog& log, Pipes pipes);
    /// Reads what the rank has printed so far and closes its record.
    OutputEnd drain(RankLog& log);

  private:
    struct Source {
        UniqueFd fd;
        LogStream stream = LogStream::out;
        RankLog* log = nullptr;
        std::mutex mutex; // one reader at a time, or pieces would swap places
    };
    void run();
    /// False: end of file. Reads at most `bytes_max`.
    bool read_some(Source& source, std::size_t bytes_max);

    runtime::Clock& clock_;
    UniqueFd epoll_;
    UniqueFd stop_;
    std::mutex mutex_;                               // guards sources_
    std::map<int, std::shared_ptr<Source>> sources_; // shared: a reader may hold one just removed
    std::thread thread_;
};

} // namespace muster::io
