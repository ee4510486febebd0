#include "cli/verbs.hpp"

#include "base/text.hpp"
#include "cli/errors.hpp"
#include "cli/messages.hpp"
#include "cli/print.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>

namespace muster::cli {
namespace {

constexpr std::size_t flags_column_width = 36;

class HelpForm : public CLI::Formatter {
  public:
    explicit HelpForm(std::string usage) : usage_(std::move(usage)) {}
    std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

  private:
    std::string usage_;
};

void set_up(CLI::App& app, const Verb& verb) {
    app.name("muster " + verb.name);
    app.description(verb.summary);
    const std::string operands = verb.operands.empty() ? "" : " " + verb.operands;
    auto form =
        std::make_shared<HelpForm>(say("Usage: muster {} [flags]{}", verb.name, operands) + "\n");
    form->column_width(flags_column_width);
    app.formatter(form);
}

/// The first word that no flag took, with the flag that was probably meant.
Error unknown_word(const CLI::App& app, const std::string& word) {
    if (!word.starts_with("-"))
        return {Code::invalid_argument,
                say("\"{}\" is one word too many", word),
                say("{} --help shows what it takes", app.get_name()),
                {}};
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    const std::string near = nearest(word.substr(0, word.find('=')), names);
    return {Code::invalid_argument,
            say("there is no flag {}", word),
            near.empty() ? say("{} --help lists them", app.get_name())
                         : say("did you mean {}?", near),
            {}};
}

} // namespace

int run_verb(const Verb& verb, std::vector<std::string> words, const PartVerbs& parts) {
    CLI::App app;
    set_up(app, verb);
    const Action action = verb.declare(app, parts);
    std::reverse(words.begin(), words.end()); // as CLI11 wants them
    try {
        app.parse(std::move(words));
        return action();
    } catch (const CLI::CallForHelp&) {
        print_text(app.help());
        return exit_ok;
    } catch (const CLI::ExtrasError&) {
        const auto left = app.remaining();
        return refuse_word(app, left.empty() ? "" : left.front());
    } catch (const CLI::ParseError& error) {
        return report_error({Code::invalid_argument,
                             error.what(),
                             say("{} --help shows what it takes", app.get_name()),
                             {}});
    }
}

std::string below_limit(const std::string& text, std::int64_t least) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return say("\"{}\" is not a whole number", text);
    return number >= least ? std::string() : say("{} is less than {}", number, least);
}

bool take_command(const CLI::App& app, std::vector<std::string>& command) {
    command = app.remaining();
    if (command.empty() || !command[0].starts_with("-")) return true;
    if (command[0] != "--") {
        refuse_word(app, command[0]);
        return false;
    }
    command.erase(command.begin());
    return true;
}

int refuse_word(const CLI::App& app, const std::string& word) {
    return report_error(unknown_word(app, word));
}

std::string verb_help(const Verb& verb) {
    CLI::App app;
    set_up(app, verb);
    const Action action = verb.declare(app, {});
    return app.help();
}

void add_common(CLI::App& app, CommonFlags& flags) {
    app.add_option("--server", flags.server,
                   "URL of the server (MUSTER_SERVER; token: MUSTER_TOKEN)")
        ->type_name("URL");
    app.add_option("--state", flags.state, "state directory where client.json lies (MUSTER_STATE)")
        ->type_name("DIR");
    app.add_flag("--no-color", flags.no_color, "no colours (also NO_COLOR=1)");
}

void add_output(CLI::App& app, Output& output) {
    static const std::map<std::string, Output> names = {{"table", Output::table},
                                                        {"wide", Output::wide},
                                                        {"json", Output::json},
                                                        {"yaml", Output::yaml},
                                                        {"name", Output::name}};
    app.add_option_function<std::string>(
           "-o,--output", [&output](const std::string& text) { output = names.find(text)->second; },
           "table, wide, json, yaml or name")
        ->check([](const std::string& text) {
            return names.contains(text)
                       ? std::string()
                       : say("\"{}\" is none of table, wide, json, yaml, name", text);
        })
        ->type_name("FORM");
}

void add_watch(CLI::App& app, bool& watch) {
    app.add_flag("-w,--watch", watch, "stay, and show changes as they happen");
}

} // namespace muster::cli
