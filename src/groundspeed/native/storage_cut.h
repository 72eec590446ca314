/* A power cut: files become what the emulated device held at a moment. */
#ifndef GROUNDSPEED_STORAGE_CUT_H
#define GROUNDSPEED_STORAGE_CUT_H

#include "storage_journal.h"

struct power_cut {
    uint64_t at_ns; /* of CLOCK_MONOTONIC; 0 or earlier than the last sign of life: that */
    uint64_t seed;
    bool random; /* keep some of what was not synced, by the seed; else nothing of it */
};

struct taken_back {
    uint64_t cut_ns;
    uint64_t files_count;     /* files of which anything was taken back */
    uint64_t pages_count;     /* pages that hold again what they held before */
    uint64_t bytes;           /* of these pages, and of what files are shorter now */
    uint64_t shortened_count; /* files that are shorter now */
    uint64_t removed_count;   /* names made and not durable */
    uint64_t restored_count;  /* names whose removal was not durable */
    uint64_t renamed_count;   /* names that are again what they were */
};

/* Cut the power of a device that no process uses; its cache is empty after it. NULL, or what is in
 * the way, and of what. */
const char *cut_power(struct state *state, const char *state_path, const struct power_cut *asked,
                      struct taken_back *taken, const char **about);

#endif
