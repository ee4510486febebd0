#include "cli/grep.hpp"

#include "cli/messages.hpp"

#include <regex.h>

namespace muster::cli {

struct Grep::Compiled {
    regex_t regex{};
};

void Grep::Free::operator()(Compiled* compiled) const {
    regfree(&compiled->regex);
    delete compiled;
}

Result<Grep> Grep::make(const std::string& expression) {
    Grep grep;
    if (expression.empty()) return grep;
    auto compiled = std::make_unique<Compiled>();
    const int code = regcomp(&compiled->regex, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &compiled->regex, why, sizeof why);
        return fail(Code::invalid_argument,
                    say("\"{}\" is not a regular expression: {}", expression, why),
                    say("extended syntax, as of grep -E"), "grep");
    }
    grep.compiled_.reset(compiled.release());
    return grep;
}

bool Grep::matches(std::string_view text) const {
    if (!compiled_) return true;
    regmatch_t range[1];
    range[0].rm_so = 0;
    range[0].rm_eo = static_cast<regoff_t>(text.size());
    // REG_STARTEND: the text needs no zero at its end and may hold some.
    return regexec(&compiled_->regex, text.data(), 1, range, REG_STARTEND) == 0;
}

} // namespace muster::cli
