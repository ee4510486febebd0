/* libmuster: what a training process tells Muster, through a page of shared memory.
 *
 * A call costs tens of nanoseconds, never blocks on anything outside the process, starts no thread and
 * fails silently into doing nothing: outside Muster every function returns MUSTER_NO_PAGE.
 * Thread-safe. After a fork the child reports nothing (data loader workers are not the rank).
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_API __attribute__((visibility("default")))

enum {
    MUSTER_OK = 0,
    MUSTER_NO_PAGE = -1, /* not started by Muster, or muster_open was not called */
    MUSTER_BAD_PAGE = -2, /* the page cannot be mapped or is of another version */
    MUSTER_FULL = -3      /* more different phases or metrics than the page has room for */
};

/* Opens the page named by MUSTER_PROGRESS_PAGE for the generation in MUSTER_GENERATION. Idempotent. */
MUSTER_API int muster_open(void);

/* A step was done. step counts from 0; total 0: not known; samples: of this step on this rank;
 * loss is taken where has_loss is not 0 (NaN is a value, too). */
MUSTER_API int muster_progress(int64_t step, int64_t total, int64_t samples, double loss,
                               int has_loss);

/* A named number; the newest value counts. Names are cut at 31 bytes. */
MUSTER_API int muster_metric(const char* name, double value);

/* Time until the matching end belongs to the phase ("checkpoint", "evaluation"). They nest: time
 * counts for the innermost one. */
MUSTER_API int muster_phase_begin(const char* name);
MUSTER_API int muster_phase_end(void);

/* ---- the page, for readers. Host byte order; one writer.
 *
 * Two slots: the writer fills the one that is not published and then raises `published`, whose lowest
 * bit names the good slot. A reader copies slot[published & 1] and takes it if `published` is still
 * the same; a writer that dies at any moment leaves the published slot whole. */

#define MUSTER_PAGE_MAGIC UINT64_C(0x314547415052544D) /* "MTRPAGE1" */
#define MUSTER_PAGE_VERSION 1u
#define MUSTER_NAME_BYTES 32
#define MUSTER_PHASES_MAX 16
#define MUSTER_METRICS_MAX 16

typedef struct muster_phase_total {
    char name[MUSTER_NAME_BYTES];
    int64_t total_ns; /* of finished stretches */
} muster_phase_total;

typedef struct muster_metric_value {
    char name[MUSTER_NAME_BYTES];
    double value;
} muster_metric_value;

typedef struct muster_slot {
    int64_t step;  /* -1: none yet */
    int64_t total; /* 0: not known */
    double loss;
    int64_t has_loss;
    int64_t samples;          /* sum over the steps of this generation */
    int64_t first_step_at_ns; /* CLOCK_BOOTTIME; 0: none yet */
    int64_t step_at_ns;
    int64_t phase_began_ns; /* of the stretch that runs; 0: none */
    int32_t phase;          /* index of the phase that runs; -1: none */
    int32_t phase_count;
    int32_t metric_count;
    int32_t reserved;
    muster_phase_total phases[MUSTER_PHASES_MAX];
    muster_metric_value metrics[MUSTER_METRICS_MAX];
} muster_slot;

typedef struct muster_page {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;      /* sizeof(muster_page) */
    int64_t generation;  /* whose page it is; a writer of another generation does not open it */
    uint64_t published;  /* atomic */
    muster_slot slots[2];
} muster_page;

#ifdef __cplusplus
}
#endif
