// The launcher's last word on a disk that its job has filled.

#include "app/result_file.hpp"
#include "codec/json.hpp"
#include "small_disk.hpp"

namespace muster::app {
namespace {

class ResultFileTest : public SmallDisk {
  protected:
    Result<LauncherResult> read() const {
        const auto text = io::read_file(path_ + "/result.json");
        if (!text) return fail(text.error());
        return codec::from_json<LauncherResult>(*text);
    }
};

LauncherResult success(std::size_t generations = 1, std::size_t words = 10) {
    LauncherResult result;
    result.outcome = AttemptOutcome::succeeded;
    for (std::size_t i = 0; i < generations; ++i) {
        auto& summary = result.generations.emplace_back();
        summary.generation = static_cast<Generation>(i + 1);
        summary.cause.emplace().traceback = std::string(words, 't');
    }
    return result;
}

TEST_F(ResultFileTest, AResultIsLeftWhereTheJobFilledTheDisk) {
    ResultFile file(path_);
    ASSERT_TRUE(file.reserve());
    fill();
    ASSERT_TRUE(file.write(success()));
    const auto result = read();
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_EQ(*result, success());
    EXPECT_FALSE(std::filesystem::exists(path_ + "/result.json.reserved"));
}

TEST_F(ResultFileTest, WhatDoesNotFitIsLeftOut) {
    ResultFile file(path_);
    ASSERT_TRUE(file.reserve());
    fill();
    const auto large = success(40, 20'000);
    ASSERT_TRUE(file.write(large));
    const auto result = read();
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_EQ(result->outcome, AttemptOutcome::succeeded);
    ASSERT_EQ(result->generations.size(), 40U);
    EXPECT_EQ(result->generations[0].cause->traceback, "");
}

TEST_F(ResultFileTest, WithoutRoomAtTheStartTheErrorNamesIt) {
    fill();
    ResultFile file(path_);
    const auto reserved = file.reserve();
    ASSERT_FALSE(reserved);
    EXPECT_EQ(reserved.error().code, Code::resource_exhausted);
    EXPECT_NE(reserved.error().message.find("No space left on device"), std::string::npos);
    EXPECT_FALSE(file.write(success()));
    free_room();
    EXPECT_TRUE(file.write(success())) << "as any other file";
}

TEST_F(ResultFileTest, AReservationThatIsNotUsedIsGivenBack) {
    {
        ResultFile file(path_);
        ASSERT_TRUE(file.reserve());
        EXPECT_TRUE(std::filesystem::exists(path_ + "/result.json.reserved"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(path_));
}

TEST_F(ResultFileTest, ALargeResultIsWrittenWholeWhereThereIsRoom) {
    ResultFile file(path_);
    ASSERT_TRUE(file.reserve());
    const auto large = success(20, 20'000);
    ASSERT_TRUE(file.write(large));
    EXPECT_EQ(*read(), large);
}

} // namespace
} // namespace muster::app
