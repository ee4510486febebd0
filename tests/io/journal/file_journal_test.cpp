#include "support.hpp"

#include "io/journal/file_journal.hpp"
#include "io/posix/files.hpp"

namespace muster::io {
namespace {

using Journal = FileJournal<FactRecord>;

std::string path_in(const TemporaryFolder& folder) { return folder.path() + "/agent.journal"; }

void fill(const std::string& path, Sequence first, Sequence last) {
    auto opened = Journal::open(path, "boot-1", {});
    ASSERT_TRUE(opened) << to_text(opened.error());
    for (Sequence s = first; s <= last; ++s) opened->journal->append({fact_number(s)});
}

std::string contents(const std::string& path) { return read_file(path).value(); }
void set_contents(const std::string& path, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(path, text));
}

TEST(FileJournal, KeepsRecordsOverARestart) {
    const TemporaryFolder folder;
    fill(path_in(folder), 1, 20);
    fill(path_in(folder), 21, 40);
    auto opened = Journal::open(path_in(folder), "boot-1", {});
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->records, facts_between(1, 40));
    EXPECT_FALSE(opened->voided);
}

TEST(FileJournal, AnotherBootVoidsIt) {
    const TemporaryFolder folder;
    fill(path_in(folder), 1, 20);
    auto opened = Journal::open(path_in(folder), "boot-2", {});
    ASSERT_TRUE(opened);
    EXPECT_TRUE(opened->voided);
    EXPECT_TRUE(opened->records.empty());
    EXPECT_EQ(contents(path_in(folder)), "muster-journal 1 boot-2\n");
}

TEST(FileJournal, EveryTornTailIsTolerated) {
    const TemporaryFolder folder;
    fill(path_in(folder), 1, 3);
    const std::string whole = contents(path_in(folder));
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        set_contents(path_in(folder), whole.substr(0, cut));
        auto opened = Journal::open(path_in(folder), "boot-1", {});
        ASSERT_TRUE(opened) << cut << ": " << to_text(opened.error());
        const auto kept = static_cast<Sequence>(opened->records.size());
        EXPECT_LT(kept, 3);
        EXPECT_EQ(opened->records, facts_between(1, kept));
        opened->journal->append({fact_number(kept + 1)});
        auto again = Journal::open(path_in(folder), "boot-1", {});
        ASSERT_TRUE(again) << cut << ": " << to_text(again.error());
        EXPECT_EQ(again->records, facts_between(1, kept + 1));
    }
}

TEST(FileJournal, DamageBeforeWholeRecordsIsAnError) {
    const TemporaryFolder folder;
    fill(path_in(folder), 1, 3);
    std::string text = contents(path_in(folder));
    text[text.find("fact 2")] = 'F';
    set_contents(path_in(folder), text);
    auto opened = Journal::open(path_in(folder), "boot-1", {});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::data_loss);
    EXPECT_NE(opened.error().message.find("checksum"), std::string::npos);
}

TEST(FileJournal, ForeignFilesAreNotEmptied) {
    const TemporaryFolder folder;
    set_contents(path_in(folder), "my thesis\n");
    EXPECT_FALSE(Journal::open(path_in(folder), "boot-1", {}));
    EXPECT_EQ(contents(path_in(folder)), "my thesis\n");
}

TEST(FileJournal, RewriteShrinksIt) {
    const TemporaryFolder folder;
    auto opened = Journal::open(path_in(folder), "boot-1", {});
    ASSERT_TRUE(opened);
    constexpr Sequence last = 1'000;
    opened->journal->append(facts_between(1, last));
    const auto before = contents(path_in(folder)).size();
    ASSERT_TRUE(opened->journal->rewrite(facts_between(last - 1, last)));
    EXPECT_LT(contents(path_in(folder)).size(), before / 100);
    opened->journal->append({fact_number(last + 1)});
    auto again = Journal::open(path_in(folder), "boot-1", {});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->records, facts_between(last - 1, last + 1));
}

TEST(RecordLine, HostileLinesAreErrors) {
    const std::string good = record_line("{}");
    EXPECT_EQ(record_text(good.substr(0, good.size() - 1)).value(), "{}");
    for (const std::string line : {"", " ", "2", "2 ", "2 0", "-1 00000000 ", "2 00000000 {}",
                                   "99999999999999999999999 00000000 {}", "3 99914b93 {}",
                                   "2 0x000000 {}", "2 99914b93 {}x"})
        EXPECT_FALSE(record_text(line)) << line;
}

} // namespace
} // namespace muster::io
