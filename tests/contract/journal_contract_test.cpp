// What every journal promises (runtime/ports.hpp), asked of the real one and the fake alike.

#include "../io/journal/support.hpp"

#include "runtime/memory_journal.hpp"

namespace muster::io {
namespace {

/// Each form offers: append(), settle() (until all is durable, in order), restart(), records().
class SqliteForm {
  public:
    SqliteForm() { open(); }
    void append(std::vector<FactRecord> records) { opened_->journal->append(std::move(records)); }
    bool settle(Sequence last) { return hearing_->wait_durable(last) && hearing_->orderly(); }
    Sequence durable() { return hearing_->durable(); }
    void restart() {
        EXPECT_TRUE(opened_->journal->stop());
        opened_.reset();
        open();
    }
    std::vector<FactRecord> records() { return opened_->journal->reader().read(0, 10'000).value(); }

  private:
    void open() {
        auto opened = open_counting(folder_.path(), 20);
        ASSERT_TRUE(opened) << to_text(opened.error());
        hearing_ = std::make_unique<Hearing>();
        opened_ = std::make_unique<OpenedJournal<CountingLedger>>(std::move(*opened));
        opened_->journal->start(hearing_->callbacks());
    }
    TemporaryFolder folder_;
    std::unique_ptr<Hearing> hearing_;
    std::unique_ptr<OpenedJournal<CountingLedger>> opened_;
};

class MemoryForm {
  public:
    void append(std::vector<FactRecord> records) { journal_.append(std::move(records)); }
    bool settle(Sequence last) {
        journal_.flush();
        return durable_ == last && orderly_;
    }
    Sequence durable() { return durable_; }
    void restart() { journal_.crash(); }
    std::vector<FactRecord> records() { return journal_.records(); }

  private:
    Sequence durable_ = 0;
    bool orderly_ = true;
    runtime::MemoryJournal<FactRecord> journal_{[this](Sequence s) {
        orderly_ = orderly_ && s > durable_;
        durable_ = s;
    }};
};

template <class Form>
class JournalContract : public testing::Test {};
using Forms = testing::Types<SqliteForm, MemoryForm>;
TYPED_TEST_SUITE(JournalContract, Forms);

TYPED_TEST(JournalContract, WhatIsDurableSurvivesARestartInOrder) {
    TypeParam form;
    for (Sequence s = 1; s <= 100; s += 4) form.append(facts_between(s, s + 3));
    ASSERT_TRUE(form.settle(100));
    form.restart();
    EXPECT_EQ(form.records(), facts_between(1, 100));
}

TYPED_TEST(JournalContract, AppendingGoesOnAfterARestart) {
    TypeParam form;
    form.append(facts_between(1, 3));
    ASSERT_TRUE(form.settle(3));
    form.restart();
    form.append(facts_between(4, 9));
    ASSERT_TRUE(form.settle(9));
    form.restart();
    EXPECT_EQ(form.records(), facts_between(1, 9));
}

TYPED_TEST(JournalContract, DurableIsToldInOrderAndNeverTooFar) {
    TypeParam form;
    EXPECT_EQ(form.durable(), 0);
    for (Sequence s = 1; s <= 50; ++s) {
        form.append({fact_number(s)});
        EXPECT_LE(form.durable(), s);
    }
    EXPECT_TRUE(form.settle(50));
}

TYPED_TEST(JournalContract, AnEmptyJournalIsEmptyAfterARestart) {
    TypeParam form;
    form.restart();
    EXPECT_TRUE(form.records().empty());
}

TEST(MemoryJournal, ACrashLosesWhatIsNotDurable) {
    runtime::MemoryJournal<FactRecord> journal;
    journal.append(facts_between(1, 5));
    journal.flush();
    journal.append(facts_between(6, 8));
    EXPECT_EQ(journal.waiting(), 3u);
    journal.crash();
    EXPECT_EQ(journal.records(), facts_between(1, 5));
    journal.append(facts_between(6, 6));
    EXPECT_EQ(journal.records().size(), 6u);
}

} // namespace
} // namespace muster::io
