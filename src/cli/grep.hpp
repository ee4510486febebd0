#pragma once
// Grep: an extended regular expression (POSIX) over log lines. Lines may hold any byte; the time
// for a line is bounded by its length, unlike that of back-tracking engines.

#include "base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace muster::cli {

class Grep {
  public:
    /// An empty expression matches every line.
    static Result<Grep> make(const std::string& expression);
    bool matches(std::string_view text) const;

  private:
    struct Compiled;
    struct Free {
        void operator()(Compiled* compiled) const;
    };
    std::unique_ptr<Compiled, Free> compiled_;
};

} // namespace muster::cli
