#pragma once
// Beats travel on two lanes, each with at most one request in flight: `poll` is held by the
// receiver until the order changes or the hold ends; `push` carries news and is answered at once.

namespace muster {

enum class Lane { poll, push };

} // namespace muster
