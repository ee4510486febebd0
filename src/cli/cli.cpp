#include "cli/cli.hpp"

#include "base/text.hpp"
#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/print.hpp"
#include "cli/verbs.hpp"

#include <algorithm>

namespace muster::cli {
namespace {

constexpr std::string_view help_intro =
    "Muster turns machines into a training cluster that does not stop.\n\n"
    "  muster up                             a whole cluster on this machine\n"
    "  muster run --nproc-per-node 4 -- train.py --lr 3e-4\n"
    "  muster why JOB                        why it waits, or what happened to it\n";

std::string help_text(const std::vector<Verb>& verbs) {
    std::string text{help_intro};
    std::string group;
    std::size_t widest = 0;
    for (const auto& verb : verbs) widest = std::max(widest, verb.name.size());
    for (const auto& verb : verbs) {
        if (verb.group != group) {
            group = verb.group;
            text += "\n" + group + ":\n";
        }
        text += "  " + verb.name + std::string(widest - verb.name.size() + 2, ' ') + verb.summary +
                "\n";
    }
    text += "\n" + say("muster VERB --help tells a verb's flags. Exit codes: docs/cli.md.") + "\n";
    return text;
}

const Verb* find_verb(const std::vector<Verb>& verbs, const std::string& name) {
    for (const auto& verb : verbs)
        if (verb.name == name) return &verb;
    return nullptr;
}

int unknown_verb(const std::vector<Verb>& verbs, const std::string& word) {
    std::vector<std::string> names;
    for (const auto& verb : verbs) names.push_back(verb.name);
    const std::string near = nearest(word, names);
    return report_error(
        {Code::invalid_argument,
         say("there is no verb \"{}\"", word),
         near.empty() ? say("muster --help lists them") : say("did you mean \"{}\"?", near),
         {}});
}

/// Flags before the verb ("muster --state DIR jobs") move behind it.
std::vector<std::string> verb_first(std::vector<std::string> words) {
    std::size_t at = 0;
    while (at < words.size() && words[at].starts_with("-")) {
        const bool takes_value = words[at] == "--state" || words[at] == "--server";
        at += takes_value ? 2 : 1;
    }
    if (at == 0 || at >= words.size()) return words;
    std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at),
                words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    return words;
}

} // namespace

std::vector<Verb> all_verbs() {
    std::vector<Verb> verbs = job_verbs();
    for (auto more : {look_verbs(), cluster_verbs()})
        for (auto& verb : more) verbs.push_back(std::move(verb));
    return verbs;
}

int run(std::vector<std::string> arguments, const PartVerbs& parts) {
    const std::vector<Verb> verbs = all_verbs();
    std::vector<std::string> words = verb_first(std::move(arguments));
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        const Verb* asked = words.size() > 1 ? find_verb(verbs, words[1]) : nullptr;
        print_text(asked != nullptr ? verb_help(*asked) : help_text(verbs));
        return words.empty() ? exit_usage : exit_ok;
    }
    if (words[0] == "--version") words[0] = "version";
    if (words.size() > 1)
        if (const Verb* verb = find_verb(verbs, words[0] + " " + words[1]); verb != nullptr)
            return run_verb(*verb, {words.begin() + 2, words.end()}, parts);
    if (const Verb* verb = find_verb(verbs, words[0]); verb != nullptr)
        return run_verb(*verb, {words.begin() + 1, words.end()}, parts);
    return unknown_verb(verbs, words[0]);
}

} // namespace muster::cli
