/* How a device is written down for the shim, and how its shared memory is made and opened. */
#ifndef GROUNDSPEED_STORAGE_CONFIG_H
#define GROUNDSPEED_STORAGE_CONFIG_H

#include <stdio.h>

#include "storage_layout.h"

/* Read a configuration. Returns NULL, or what is wrong with it. */
const char *config_read(FILE *file, struct settings *settings);

/* Bytes of the state of a device. */
uint64_t config_state_bytes(const struct settings *settings);

/* Set up zeroed memory of that size. */
void config_initialise(struct state *state, const struct settings *settings, uint64_t now_ns);

/* Map a state file. Returns NULL and sets *why. */
struct state *config_open(const char *path, const char **why);

#endif
