#pragma once
// -w: shows a view again whenever an event comes. A terminal is redrawn; elsewhere only lines that
// are new are printed, so that a log of changes results.

#include "cli/api.hpp"

#include <functional>
#include <string>

namespace muster::cli {

/// Progress and load are no events: on a terminal a view is at most this old.
inline constexpr Duration watch_refresh = Duration::seconds(2);
/// Events within this time lead to one redraw.
inline constexpr Duration watch_gather = Duration::millis(100);

/// Renders for a width in columns (0: any).
using Render = std::function<Result<std::string>(Api&, int width)>;

/// Until Ctrl-C. `done` (may be empty) ends it when true after a rendering.
int watch(const CommonFlags& common, const Render& render, const std::function<bool()>& done = {});

/// What a signal ended, on standard error.
void tell_watch_ended();

} // namespace muster::cli
