/* Times calls that owe the emulated device nothing: prints nanoseconds a call.
 *
 *   shim_cost FILE CALLS   reads 8 KiB at random from the first 512 KiB of FILE, which stay in the
 *                          processor's caches, and from the first 64 MiB, which do not; then 1 byte
 *                          of a pipe
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static char page[8192];

/* Reads of 8 KiB at random places among so many pages; 0 when one fails. */
static double read_ns(int file, long calls, uint64_t pages)
{
    uint64_t random = 88172645463325252ULL;
    double began = now_ns();
    for (long i = 0; i < calls; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (pread(file, page, sizeof page, (off_t)(random % pages) * 8192) != sizeof page)
            return 0;
    }
    return (now_ns() - began) / (double)calls;
}

int main(int argc, char **argv)
{
    int file = argc == 3 ? open(argv[1], O_RDONLY) : -1;
    long calls = argc == 3 ? atol(argv[2]) : 0;
    int ends[2];
    if (file < 0 || calls <= 0 || pipe(ends) != 0)
        return 2;
    for (int i = 0; i < 8192; i++) /* all of it cached, by the kernel and by the shim */
        if (pread(file, page, sizeof page, (off_t)i * 8192) != sizeof page)
            return 1;
    double near_ns = read_ns(file, calls, 64), far_ns = read_ns(file, calls, 8192);
    double began = now_ns();
    for (long i = 0; i < calls; i++)
        if (write(ends[1], page, 1) != 1 || read(ends[0], page, 1) != 1)
            return 1;
    double pipe_ns = (now_ns() - began) / (double)calls / 2;
    if (near_ns == 0 || far_ns == 0)
        return 1;
    printf("%.1f %.1f %.1f\n", near_ns, far_ns, pipe_ns);
    return 0;
}
