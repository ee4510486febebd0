#include "app/agent_journal.hpp"

#include "base/require.hpp"
#include "codec/json.hpp"
#include "io/posix/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace muster::app {
namespace {

constexpr std::size_t file_bytes_max = 256U * 1024 * 1024;

std::string line_of(const agent::AgentRecord& record) {
    return codec::to_json(record, codec::Style::exact) + "\n";
}

Result<agent::AgentLedger> replay(const std::string& file, const std::string& text) {
    agent::AgentLedger ledger;
    std::size_t at = 0;
    for (std::size_t number = 1; at < text.size(); ++number) {
        const auto end = text.find('\n', at);
        if (end == std::string::npos) break; // cut off by a crash, or by a full disk
        auto record = codec::from_json<agent::AgentRecord>(
            std::string_view(text).substr(at, end - at), codec::UnknownKeys::ignore);
        if (!record)
            return fail(Code::data_loss,
                        file + ", line " + std::to_string(number) +
                            " cannot be read: " + record.error().message,
                        "end the jobs on this node, then move the file away");
        // The order of lines counts: a shortened file begins anew.
        record->sequence = ledger.last_sequence + 1;
        ledger.apply(*record);
        at = end + 1;
    }
    return ledger;
}

} // namespace

Result<AgentJournal::Opened> AgentJournal::open(const std::string& file) {
    auto text = io::read_file(file, file_bytes_max);
    if (!text && text.error().code != Code::not_found) return fail(text.error());
    auto ledger = replay(file, text ? *text : std::string{});
    if (!ledger) return fail(ledger.error());
    AgentJournal journal;
    journal.file_ = file;
    if (auto written = journal.rewrite(*ledger); !written) return fail(written.error());
    journal.written_ = ledger->last_sequence;
    journal.queued_ = ledger->last_sequence;
    return Opened{std::move(journal), std::move(*ledger)};
}

Status AgentJournal::rewrite(const agent::AgentLedger& ledger) {
    std::string text;
    for (const auto& record : agent::shortest_records(ledger, Instant{})) text += line_of(record);
    if (auto written = io::write_file_atomically(file_, text, 0600); !written)
        return fail(written.error());
    fd_ = io::UniqueFd(::open(file_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd_) return fail(io::errno_error(errno, "open", file_));
    bytes_ = static_cast<std::int64_t>(text.size());
    room_ = bytes_;
    take_room();
    return ok();
}

/// As good as it gets: a full disk, or a file system that cannot, is no error before it is needed.
void AgentJournal::take_room() {
    if (room_ - bytes_ >= agent_journal_ahead_min) return;
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, bytes_, agent_journal_ahead) == 0)
        room_ = bytes_ + agent_journal_ahead;
}

void AgentJournal::append(std::vector<agent::AgentRecord> records) {
    for (const auto& record : records) {
        queue_ += line_of(record);
        queued_ = record.sequence;
    }
}

Result<Sequence> AgentJournal::flush() {
    std::size_t done = 0;
    while (done < queue_.size()) {
        const ssize_t put = ::pwrite(fd_.get(), queue_.data() + done, queue_.size() - done,
                                     bytes_ + static_cast<std::int64_t>(done));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            const int error = errno;
            // What was written of the first line must not look like a line.
            (void)!::ftruncate(fd_.get(), bytes_);
            return fail(io::errno_error(error, "write", file_));
        }
        done += static_cast<std::size_t>(put);
    }
    bytes_ += static_cast<std::int64_t>(queue_.size());
    queue_.clear();
    written_ = queued_;
    take_room();
    return written_;
}

Status AgentJournal::shorten_if_long(const agent::AgentLedger& ledger) {
    if (bytes_ < agent_journal_bytes_max) return ok();
    REQUIRE(queue_.empty(), "what is shortened was written");
    return rewrite(ledger);
}

} // namespace muster::app
