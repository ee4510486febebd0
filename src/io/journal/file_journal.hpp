#pragma once
// FileJournal: the journal of an agent: JSON lines without fsync. It survives the agent, not the
// machine; another boot id voids it. append() writes at once on the caller's thread.
//
//     auto opened = FileJournal<AgentRecord>::open(path, boot_id, {.durable = ..., .trouble =
//     ...}); for (auto& record : opened->records) ledger.apply(record);
//     opened->journal->append(decision.facts);
//
// When the disk is full, records wait in order, `trouble` is told once, and retry() (by the shell's
// timer, or the next append) writes them; `durable` comes only then.
// Life: one per agent process. One thread; callbacks come from within append() and retry().

#include "codec/json.hpp"
#include "io/journal/record_file.hpp"
#include "runtime/ports.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace muster::io {

struct FileJournalCallbacks {
    std::function<void(Sequence)> durable;
    std::function<void(const Error&)> trouble;
    std::function<void()> relieved;
};

template <class Record>
class FileJournal final : public runtime::Journal<Record> {
  public:
    struct Opened {
        std::unique_ptr<FileJournal> journal;
        std::vector<Record> records;
        bool voided = false;
        std::int64_t torn_bytes = 0;
    };

    static Result<Opened> open(const std::string& path, const std::string& boot_id,
                               FileJournalCallbacks callbacks) {
        auto file = RecordFile::open(path, boot_id);
        if (!file) return fail(std::move(file.error()));
        Opened opened;
        opened.voided = file->voided;
        opened.torn_bytes = file->torn_bytes;
        for (const auto& text : file->texts) {
            auto record = codec::from_json<Record>(text);
            if (!record)
                return fail(Code::data_loss,
                            "the journal " + path +
                                " has a record that cannot be read: " + to_text(record.error()),
                            "it was written by another version of Muster: start that one");
            opened.records.push_back(std::move(*record));
        }
        opened.journal.reset(new FileJournal(std::move(file->file), std::move(callbacks)));
        return opened;
    }

    void append(std::vector<Record> records) override {
        for (const auto& record : records) {
            waiting_.push_back(codec::to_json(record, codec::Style::exact));
            newest_ = record.sequence;
        }
        static_cast<void>(retry());
    }

    /// Writes what waits.
    Status retry() {
        if (waiting_.empty()) return ok();
        Status status = file_.append(waiting_);
        if (!status) {
            if (!std::exchange(troubled_, true) && callbacks_.trouble)
                callbacks_.trouble(status.error());
            return status;
        }
        waiting_.clear();
        if (std::exchange(troubled_, false) && callbacks_.relieved) callbacks_.relieved();
        if (callbacks_.durable) callbacks_.durable(newest_);
        return status;
    }

    /// `records` add up to the ledger that all appended ones add up to, those that wait included.
    Status rewrite(const std::vector<Record>& records) {
        std::vector<std::string> texts;
        for (const auto& record : records)
            texts.push_back(codec::to_json(record, codec::Style::exact));
        if (auto status = file_.rewrite(texts); !status) return status;
        if (waiting_.empty()) return ok();
        waiting_.clear();
        troubled_ = false;
        if (callbacks_.durable) callbacks_.durable(newest_);
        return ok();
    }

  private:
    FileJournal(RecordFile file, FileJournalCallbacks callbacks)
        : file_(std::move(file)), callbacks_(std::move(callbacks)) {}

    RecordFile file_;
    FileJournalCallbacks callbacks_;
    std::vector<std::string> waiting_;
    Sequence newest_ = 0;
    bool troubled_ = false;
};

} // namespace muster::io
