#include "io/page/progress_page.hpp"

#include "base/text.hpp"
#include "io/posix/fd.hpp"
#include "io/posix/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <muster.h> // lib/: the layout that ranks write
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace muster::io {
namespace {

constexpr int read_tries = 8; // a writer that publishes faster than we copy: next time

template <std::size_t size>
std::string name_of(const char (&name)[size]) {
    return to_valid_utf8(std::string_view(name, ::strnlen(name, size)));
}

/// Of a time on the writer's clock, which is ours; whatever it says, it is past.
Duration age_of(std::int64_t at_ns, std::int64_t now_ns) {
    return std::max(Duration{}, Duration{now_ns} - Duration{std::max<std::int64_t>(at_ns, 0)});
}

RankProgress to_progress(const muster_slot& slot, const SystemClock& clock) {
    const std::int64_t now_ns = SystemClock::boottime_ns();
    const Instant now = clock.from_boottime(now_ns);
    RankProgress progress;
    progress.step = std::max<std::int64_t>(slot.step, -1);
    progress.total = std::max<std::int64_t>(slot.total, 0);
    progress.loss = slot.loss;
    progress.has_loss = slot.has_loss != 0;
    progress.samples = std::max<std::int64_t>(slot.samples, 0);
    if (slot.first_step_at_ns > 0)
        progress.first_step_at = now - age_of(slot.first_step_at_ns, now_ns);
    if (slot.step_at_ns > 0) progress.step_at = now - age_of(slot.step_at_ns, now_ns);
    // The page is outside input: counts are bounded before they index.
    const auto phases = std::clamp<std::int32_t>(slot.phase_count, 0, MUSTER_PHASES_MAX);
    for (std::int32_t i = 0; i < phases; ++i) {
        const auto& phase = slot.phases[i];
        Duration total{std::clamp<std::int64_t>(phase.total_ns, 0, now_ns)}; // since the boot
        if (i == slot.phase) {
            progress.phase = name_of(phase.name);
            total += age_of(slot.phase_began_ns, now_ns);
        }
        progress.phases[name_of(phase.name)] += total;
    }
    const auto metrics = std::clamp<std::int32_t>(slot.metric_count, 0, MUSTER_METRICS_MAX);
    for (std::int32_t i = 0; i < metrics; ++i)
        progress.metrics[name_of(slot.metrics[i].name)] = slot.metrics[i].value;
    return progress;
}

} // namespace

Result<ProgressPage> ProgressPage::create(const std::string& path, Generation generation) {
    ::unlink(path.c_str()); // a stale mapping of the same name stays with whoever has it
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::ftruncate(fd.get(), sizeof(muster_page)) != 0)
        return fail(errno_error(errno, "make the progress page", path));
    // Reserved now: on a full disk a later write by the rank would kill it with SIGBUS.
    if (const int error = ::posix_fallocate(fd.get(), 0, sizeof(muster_page)); error != 0) {
        ::unlink(path.c_str());
        return fail(errno_error(error, "make the progress page", path));
    }
    void* at =
        ::mmap(nullptr, sizeof(muster_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return fail(errno_error(errno, "map the progress page", path));
    ProgressPage made;
    made.path_ = path;
    made.page_ = static_cast<muster_page*>(at);
    made.generation_ = generation;
    made.page_->magic = MUSTER_PAGE_MAGIC;
    made.page_->version = MUSTER_PAGE_VERSION;
    made.page_->bytes = sizeof(muster_page);
    made.page_->generation = generation;
    for (auto& slot : made.page_->slots) {
        slot.step = -1;
        slot.phase = -1;
    }
    return made;
}

ProgressPage::ProgressPage(ProgressPage&& other) noexcept
    : path_(std::exchange(other.path_, {})), page_(std::exchange(other.page_, nullptr)),
      generation_(other.generation_), seen_(other.seen_) {}

ProgressPage& ProgressPage::operator=(ProgressPage&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(page_, other.page_);
    std::swap(generation_, other.generation_);
    std::swap(seen_, other.seen_);
    return *this;
}

ProgressPage::~ProgressPage() {
    if (page_ == nullptr) return;
    ::munmap(page_, sizeof(muster_page));
    ::unlink(path_.c_str());
}

std::optional<RankProgress> ProgressPage::read(std::int64_t local_rank, const SystemClock& clock) {
    for (int i = 0; i < read_tries; ++i) {
        const auto before = __atomic_load_n(&page_->published, __ATOMIC_ACQUIRE);
        // An open phase grows without a publication; nothing else does.
        const bool phase_runs = page_->slots[before & 1].phase >= 0;
        if (before == seen_ && !phase_runs) return std::nullopt;
        muster_slot copy;
        std::memcpy(&copy, &page_->slots[before & 1], sizeof copy);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&page_->published, __ATOMIC_RELAXED) != before) continue;
        if (page_->generation != generation_) return std::nullopt;
        seen_ = before;
        RankProgress progress = to_progress(copy, clock);
        progress.local_rank = local_rank;
        return progress;
    }
    return std::nullopt;
}

} // namespace muster::io
