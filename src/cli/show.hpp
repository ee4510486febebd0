#pragma once
// show_one(): the way of every verb that shows one view: fetched, printed as a document or as text,
// once or again at each change (-w).

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "cli/watch.hpp"

#include <string>

namespace muster::cli {

/// `text_of(view, terminal)` renders everything that is no document, `-o name` too.
template <class View, class Text>
int show_one(const ShowFlags& flags, const std::string& target, const Text& text_of) {
    const Render render = [&](Api& api, int width) -> Result<std::string> {
        auto view = api.get<View>(target);
        if (!view) return fail(view.error());
        if (is_document(flags.output)) return as_document(*view, flags.output);
        Terminal terminal = look_at_terminal(1, flags.common.no_color);
        terminal.width = flags.output == Output::wide ? 0 : width;
        return text_of(*view, terminal);
    };
    if (flags.watch) return watch(flags.common, render);
    auto api = Api::connect(flags.common);
    if (!api) return report_error(api.error());
    auto text = render(*api, look_at_terminal(1, true).width);
    if (!text) return report_error(text.error());
    print_text(*text);
    return exit_ok;
}

} // namespace muster::cli
