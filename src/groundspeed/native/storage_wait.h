/* The clock, and sleeping until a moment of it. */
#ifndef GROUNDSPEED_STORAGE_WAIT_H
#define GROUNDSPEED_STORAGE_WAIT_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/* Behind by up to a tick of the kernel, and much cheaper to read. */
uint64_t about_now_ns(void);

/* Sleep until a moment, and end as near to it as waking up allows. */
void wait_until(uint64_t until_ns);

/* The same, and the last `work_ns` of it keep the processor busy, as a driver does. */
void wait_working(uint64_t until_ns, uint64_t work_ns);

#endif
