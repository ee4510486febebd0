// The writer's side of the progress page. Plain C++ without the standard library's run time: it
// lives in other people's processes.

#include "muster.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr int depth_max = 16; // of nested phases

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
muster_page* page = nullptr;
muster_slot now_slot; // what the next publication says
int stack[depth_max];
int depth = 0;
int beyond = 0; // begun phases for which there was no room

class Lock {
  public:
    Lock() { pthread_mutex_lock(&mutex); }
    ~Lock() { pthread_mutex_unlock(&mutex); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
};

int64_t boottime_ns() {
    timespec value;
    clock_gettime(CLOCK_BOOTTIME, &value);
    return static_cast<int64_t>(value.tv_sec) * 1000000000 + value.tv_nsec;
}

void publish() {
    const uint64_t next = page->published + 1; // we are the only writer
    std::memcpy(&page->slots[next & 1], &now_slot, sizeof now_slot);
    __atomic_store_n(&page->published, next, __ATOMIC_RELEASE);
}

void copy_name(char (&to)[MUSTER_NAME_BYTES], const char* from) {
    std::memset(to, 0, sizeof to);
    for (int i = 0; i < MUSTER_NAME_BYTES - 1 && from[i] != '\0'; ++i) to[i] = from[i];
}

bool same_name(const char (&known)[MUSTER_NAME_BYTES], const char* name) {
    return std::strncmp(known, name, MUSTER_NAME_BYTES - 1) == 0;
}

/// Index of the phase, made if there is room; -1: full.
int phase_index(const char* name) {
    for (int i = 0; i < now_slot.phase_count; ++i)
        if (same_name(now_slot.phases[i].name, name)) return i;
    if (now_slot.phase_count >= MUSTER_PHASES_MAX) return -1;
    copy_name(now_slot.phases[now_slot.phase_count].name, name);
    return now_slot.phase_count++;
}

/// Books the time of the running stretch and begins one of `phase` (-1: none).
void switch_phase(int phase) {
    const int64_t now = boottime_ns();
    if (now_slot.phase >= 0)
        now_slot.phases[now_slot.phase].total_ns += now - now_slot.phase_began_ns;
    now_slot.phase = phase;
    now_slot.phase_began_ns = phase >= 0 ? now : 0;
}

void before_fork() { pthread_mutex_lock(&mutex); }
void in_parent() { pthread_mutex_unlock(&mutex); }
void in_child() {
    page = nullptr; // the mapping stays; the child writes nothing to it
    pthread_mutex_unlock(&mutex);
}

int open_page(const char* path, int64_t generation) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return MUSTER_BAD_PAGE;
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(muster_page))) {
        close(fd);
        return MUSTER_BAD_PAGE;
    }
    void* at = mmap(nullptr, sizeof(muster_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return MUSTER_BAD_PAGE;
    auto* mapped = static_cast<muster_page*>(at);
    if (mapped->magic != MUSTER_PAGE_MAGIC || mapped->version != MUSTER_PAGE_VERSION ||
        mapped->bytes != sizeof(muster_page) || mapped->generation != generation) {
        munmap(at, sizeof(muster_page));
        return MUSTER_BAD_PAGE;
    }
    page = mapped;
    // A process that replaced the rank's (exec) goes on where it stopped.
    std::memcpy(&now_slot, &page->slots[page->published & 1], sizeof now_slot);
    return MUSTER_OK;
}

} // namespace

int muster_open(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] { pthread_atfork(before_fork, in_parent, in_child); });
    const Lock lock;
    if (page != nullptr) return MUSTER_OK;
    const char* path = std::getenv("MUSTER_PROGRESS_PAGE");
    const char* generation = std::getenv("MUSTER_GENERATION");
    if (path == nullptr || *path == '\0' || generation == nullptr) return MUSTER_NO_PAGE;
    return open_page(path, std::strtoll(generation, nullptr, 10));
}

int muster_progress(int64_t step, int64_t total, int64_t samples, double loss, int has_loss) {
    const Lock lock;
    if (page == nullptr) return MUSTER_NO_PAGE;
    const int64_t now = boottime_ns();
    now_slot.step = step < 0 ? -1 : step;
    if (total > 0) now_slot.total = total;
    if (samples > 0) now_slot.samples += samples;
    if (has_loss != 0) {
        now_slot.loss = loss;
        now_slot.has_loss = 1;
    }
    if (now_slot.first_step_at_ns == 0) now_slot.first_step_at_ns = now;
    now_slot.step_at_ns = now;
    publish();
    return MUSTER_OK;
}

int muster_metric(const char* name, double value) {
    const Lock lock;
    if (page == nullptr) return MUSTER_NO_PAGE;
    int at = 0;
    while (at < now_slot.metric_count && !same_name(now_slot.metrics[at].name, name)) ++at;
    if (at == MUSTER_METRICS_MAX) return MUSTER_FULL;
    if (at == now_slot.metric_count) {
        copy_name(now_slot.metrics[at].name, name);
        ++now_slot.metric_count;
    }
    now_slot.metrics[at].value = value;
    publish();
    return MUSTER_OK;
}

int muster_phase_begin(const char* name) {
    const Lock lock;
    if (page == nullptr) return MUSTER_NO_PAGE;
    const int phase = depth < depth_max ? phase_index(name) : -1;
    if (phase < 0) {
        ++beyond;
        return MUSTER_FULL;
    }
    stack[depth++] = phase;
    switch_phase(phase);
    publish();
    return MUSTER_OK;
}

int muster_phase_end(void) {
    const Lock lock;
    if (page == nullptr) return MUSTER_NO_PAGE;
    if (beyond > 0) {
        --beyond;
        return MUSTER_OK;
    }
    if (depth == 0) return MUSTER_OK;
    --depth;
    switch_phase(depth > 0 ? stack[depth - 1] : -1);
    publish();
    return MUSTER_OK;
}
