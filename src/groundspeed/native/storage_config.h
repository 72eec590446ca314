/* How a device is written down for the shim, and how its shared memory is made and opened. */
#ifndef GROUNDSPEED_STORAGE_CONFIG_H
#define GROUNDSPEED_STORAGE_CONFIG_H

#include <stdio.h>

#include "storage_layout.h"

/* Whether the device may lose its power, which is no part of its state: see storage_journal.h. */
struct power_cuts {
    char directory[ROOT_BYTES]; /* empty: it may not */
    uint64_t pages;             /* room of the journal; 0: what may be dirty, and some more */
};

/* Read a configuration. Returns NULL, or what is wrong with it. */
const char *config_read(FILE *file, struct settings *settings, struct power_cuts *cuts);

/* Make the journal of a state that may lose its power; before config_initialise. */
const char *config_journal(const char *state_path, const struct settings *settings,
                           const struct power_cuts *cuts);

/* Bytes of the state of a device. */
uint64_t config_state_bytes(const struct settings *settings);

/* Set up zeroed memory of that size. */
void config_initialise(struct state *state, const struct settings *settings, uint64_t now_ns);

/* Map a state file. Returns NULL and sets *why. */
struct state *config_open(const char *path, const char **why);

#endif
