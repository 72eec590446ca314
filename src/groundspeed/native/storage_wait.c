/* Sleeping to the microsecond. See storage_wait.h. */
#define _GNU_SOURCE
#include "storage_wait.h"

#include <stdint.h>
#include <time.h>

/* A sleep ends late by what waking up takes; it is asked to end that much earlier. The estimate
 * follows the median: a step up or down a sleep, never above the most. */
#define FIRST_LATENESS_NS 20000
#define MOST_LATENESS_NS 150000
#define LATENESS_STEP_NS 500

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t about_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void wait_until(uint64_t until_ns)
{
    wait_working(until_ns, 0);
}

void wait_working(uint64_t until_ns, uint64_t work_ns)
{
    uint64_t rest_until_ns = until_ns > work_ns ? until_ns - work_ns : 0;
    static _Thread_local uint64_t lateness_ns = FIRST_LATENESS_NS;
    uint64_t now = now_ns();
    while (now + lateness_ns < rest_until_ns) {
        uint64_t asked = rest_until_ns - lateness_ns;
        struct timespec at = {.tv_sec = (time_t)(asked / UINT64_C(1000000000)),
                              .tv_nsec = (long)(asked % UINT64_C(1000000000))};
        int interrupted = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        now = now_ns();
        if (interrupted)
            continue;
        if (now > asked + lateness_ns) {
            if (lateness_ns < MOST_LATENESS_NS)
                lateness_ns += LATENESS_STEP_NS;
        } else if (lateness_ns > LATENESS_STEP_NS) {
            lateness_ns -= LATENESS_STEP_NS;
        }
        break;
    }
    /* What is left is work, or shorter than waking up takes. */
    while (now < until_ns) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
        now = now_ns();
    }
}
