/* What calls of this process owe the emulated device: the model is asked, and the caller waits. */
#ifndef GROUNDSPEED_STORAGE_CHARGE_H
#define GROUNDSPEED_STORAGE_CHARGE_H

#include <errno.h>
#include <sys/types.h>

#include "storage_descriptors.h"

/* The device of this process; NULL until it is known. */
extern struct state *state;

/* The frame in which this thread is in the model, or 0. A signal handler that comes in meanwhile must
 * not enter again; but a program may leave a handler by longjmp, and then the frame is gone. */
extern _Thread_local volatile uintptr_t inside;

#define IN_MODEL(code)                                                                             \
    do {                                                                                           \
        int saved_errno = errno;                                                                   \
        inside = (uintptr_t)__builtin_frame_address(0);                                            \
        code;                                                                                      \
        inside = 0;                                                                                \
        errno = saved_errno;                                                                       \
    } while (0)

/* The descriptor's entry when a call on it concerns the device, else NULL. */
struct descriptor *enter(int number);

/* Whether this thread is in the model already. */
bool is_inside(void);

/* Wait for what is owed and count it. `began_ns` is when the real call began; `kind` says what work
 * the processor has with it. */
void pay(atomic_word *waited_ns, enum kind kind, uint64_t began_ns, uint64_t done_ns);

/* Most reads of a database are of cached pages: they are recognised before the call, and need no
 * more of the clock than its coarse hand. */
bool read_owes_nothing(struct descriptor *entry, uint64_t offset, size_t length);
ssize_t count_hits(uint64_t offset, ssize_t got);

/* After the real call: wait. False when the device failed. */
bool after_read(struct descriptor *entry, uint64_t offset, size_t length, uint64_t began_ns);
bool after_write(struct descriptor *entry, uint64_t offset, size_t length, uint64_t began_ns);

/* When a range will be durable; waits where the device cannot take all of it at once. */
uint64_t sync_range(struct file_id id, uint64_t offset, uint64_t length, uint64_t began_ns,
                    bool *failed);

/* 0 or -1 with errno: what fsync gives when the real one succeeded, and fdatasync, with `data_only`. */
int after_sync(int number, struct descriptor *entry, uint64_t began_ns, bool data_only);
void after_sync_all(uint64_t began_ns);

int io_error(void);

#endif
