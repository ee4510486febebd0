#pragma once
// ProgressPage: the launcher's side of one rank's progress page. Made before the rank starts, for
// one generation; an older generation's process has another file mapped and cannot write here.
//
// Life: until the rank's generation ends; the file goes with it. Used by one thread.

#include "io/posix/clock.hpp"
#include "model/orders.hpp"

#include <memory>
#include <optional>
#include <string>

struct muster_page;
struct muster_slot;

namespace muster::io {

class ProgressPage {
  public:
    static Result<ProgressPage> create(const std::string& path, Generation generation);
    ProgressPage(ProgressPage&& other) noexcept;
    ProgressPage& operator=(ProgressPage&& other) noexcept;
    ~ProgressPage(); // unlinks

    /// What the rank has told so far; nothing if it told no news since the last call. A torn or
    /// nonsensical page reads as no news.
    std::optional<RankProgress> read(std::int64_t local_rank, const SystemClock& clock);
    const std::string& path() const { return path_; }

  private:
    ProgressPage() = default;
    std::string path_;
    muster_page* page_ = nullptr;
    Generation generation_ = 0;
    std::uint64_t seen_ = 0; // publications taken so far
};

} // namespace muster::io
