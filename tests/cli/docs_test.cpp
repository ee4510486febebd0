// docs/cli.md names every verb and flag, docs/spec.md every key: what is built is documented.

#include "cli/spec_flags.hpp"
#include "cli/verbs.hpp"
#include "codec/shape.hpp"
#include "model/workload.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>

namespace muster::cli {
namespace {

std::string page(const std::string& name) {
    std::ifstream file(std::string(MUSTER_DOCS) + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Docs, EveryVerbAndFlagIsInCliMd) {
    const std::string text = page("cli.md");
    ASSERT_FALSE(text.empty());
    const std::regex flag("--[a-z][a-z_-]*");
    for (const auto& verb : all_verbs()) {
        EXPECT_NE(text.find("muster " + verb.name), std::string::npos) << verb.name;
        const std::string help = verb_help(verb);
        EXPECT_FALSE(verb.summary.empty()) << verb.name;
        for (auto it = std::sregex_iterator(help.begin(), help.end(), flag);
             it != std::sregex_iterator(); ++it) {
            const std::string name = it->str();
            if (name.find('_') != std::string::npos) continue; // torchrun's spelling of another one
            EXPECT_NE(text.find("`" + name), std::string::npos) << verb.name << " " << name;
        }
    }
}

void check_keys(const codec::Shape& shape, const std::string& text) {
    for (const auto& member : shape.members) {
        EXPECT_NE(text.find("| `" + std::string(member.name) + "` |"), std::string::npos)
            << shape.name << "." << member.name;
        const codec::Shape* inner = member.shape;
        while (inner->element != nullptr) inner = inner->element;
        if (inner->kind == codec::Kind::record) check_keys(*inner, text);
    }
}

TEST(Docs, EveryKeyOfASpecIsInSpecMd) {
    check_keys(codec::shape_of<WorkloadSpec>, page("spec.md"));
}

TEST(Docs, TheExampleOfSpecMdIsValid) {
    const std::string text = page("spec.md");
    const auto start = text.find("```yaml\n");
    ASSERT_NE(start, std::string::npos);
    const auto from = start + 8;
    std::ofstream(testing::TempDir() + "example.yaml")
        << text.substr(from, text.find("```", from) - from);
    const auto spec = spec_from_file(testing::TempDir() + "example.yaml");
    ASSERT_TRUE(spec) << to_text(spec.error());
    EXPECT_EQ(total_ranks(*spec), 9);
    EXPECT_EQ(total_devices(*spec), 8);
}

} // namespace
} // namespace muster::cli
