/* The device: what one request takes. Lock-free; needs no clock, the moment is an argument. */
#ifndef GROUNDSPEED_STORAGE_DEVICE_H
#define GROUNDSPEED_STORAGE_DEVICE_H

#include "storage_layout.h"

struct answer {
    uint64_t done_ns;
    bool failed;
};

/* Send one request of so many bytes at a moment and say when it is done. */
struct answer device_request(struct state *state, enum kind kind, uint64_t bytes, uint64_t at_ns);

/* Flush: make durable what the device has acknowledged. */
uint64_t device_sync(struct state *state, uint64_t at_ns);

/* Fill the bucket of every limit to where it starts. */
void device_refill(struct state *state, uint64_t at_ns);

/* Credits left in a limit's bucket. */
double device_credits_left(const struct limit *limit, uint64_t free_ns, uint64_t at_ns);

/* The shard of counters of the calling thread. */
struct counters *counters_here(struct state *state);

#endif
