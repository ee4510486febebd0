#pragma once
// LineSplitter: bytes of one stream in, finished lines out. Folds lines redrawn with '\r' (progress
// bars) to their last state, at most one a second; splits what is too long. Memory is bounded
// whatever comes in. Life: one per stream of a rank. Used by one thread at a time.

#include "base/time.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace muster::io {

class LineSplitter {
  public:
    using Take = std::function<void(std::string_view line)>;

    void feed(std::string_view bytes, Instant now, const Take& take);
    /// A bar whose last state has waited long enough is given out.
    void tick(Instant now, const Take& take);
    /// The stream ends, or is about to be read no more: an unfinished line counts as one.
    void finish(const Take& take);

  private:
    void end_line(const Take& take);
    void redraw(Instant now, const Take& take);
    void append(std::string_view part, const Take& take);

    std::string line_;          // of the newest state
    std::string bar_;           // state before the newest '\r', not given out yet
    bool bar_waits_ = false;    // bar_ holds something to give out
    bool after_return_ = false; // the byte before was '\r': "\r\n" is one line end
    int pieces_ = 0;            // of this line given out already
    std::size_t dropped_ = 0;   // bytes of this line beyond its pieces
    Instant bar_given_;         // when a state was last given out
};

} // namespace muster::io
