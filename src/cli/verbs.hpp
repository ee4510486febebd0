#pragma once
// The table of verbs. A verb declares its flags on a CLI::App of its own (no sub-commands: a job
// may be called "run") and gives back what to do once they are parsed.

#include "cli/cli.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace muster::cli {

using Action = std::function<int()>;

struct Verb {
    std::string name;     // "node cordon" for a verb of a noun
    std::string group;    // heading in the help
    std::string operands; // after the flags, for the usage line
    std::string summary;  // one line
    std::function<Action(CLI::App&, const PartVerbs&)> declare;
};

std::vector<Verb> job_verbs();     // verbs_jobs.cpp
std::vector<Verb> look_verbs();    // verbs_look.cpp
std::vector<Verb> cluster_verbs(); // verbs_cluster.cpp
std::vector<Verb> all_verbs();

/// Parses one verb's words and runs it. verbs_parse.cpp.
int run_verb(const Verb& verb, std::vector<std::string> words, const PartVerbs& parts);
/// The help of one verb, as --help prints it.
std::string verb_help(const Verb& verb);

// ---- shared declarations of flags (verbs_parse.cpp)
void add_common(CLI::App& app, CommonFlags& flags);
void add_output(CLI::App& app, Output& output);
void add_watch(CLI::App& app, bool& watch);
/// For a check of a number: empty, or what is wrong with the text.
std::string below_limit(const std::string& text, std::int64_t least);
/// The words behind the flags of a verb that runs a command. False, after having said so, where the
/// first of them is a flag that does not exist: what stands before `--` or the script is ours.
bool take_command(const CLI::App& app, std::vector<std::string>& command);
/// Says that no flag took the word, and which was probably meant; the code to exit with.
int refuse_word(const CLI::App& app, const std::string& word);

} // namespace muster::cli
