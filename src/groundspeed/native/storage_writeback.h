/* Dirty pages and how they reach the device: the kernel's write-back, fsync and its limits.
 *
 * Where a program would have to wait for more than the device can take at once, a function gives
 * `again_ns`: sleep until then and call it again, so that a long write-back does not reserve the
 * device for seconds ahead of everybody else.
 */
#ifndef GROUNDSPEED_STORAGE_WRITEBACK_H
#define GROUNDSPEED_STORAGE_WRITEBACK_H

#include "storage_layout.h"

/* The lock of all that is not one atomic word; whoever finds its owner dead puts things right. */
void state_lock(struct state *state);
void state_unlock(struct state *state);

/* Play what the kernel has written back by now. Behind the lock. */
void writeback_play(struct state *state, uint64_t now_ns);

/* Mark pages [from, to) dirty; gives when those are done for which there was no place, or 0. */
uint64_t dirty_mark(struct state *state, struct file_id id, uint64_t from, uint64_t to,
                    uint64_t now_ns);
/* Forget that pages from one on are dirty. Behind the lock. */
void dirty_forget(struct state *state, struct file_id id, uint64_t from_page);

/* Hold a writer while more is dirty than the limit allows. */
struct owed writeback_throttle(struct state *state, uint64_t now_ns);
/* Send a range (length 0: to the end); finished when all of it has been sent. */
struct owed writeback_send(struct state *state, struct file_id id, uint64_t offset,
                           uint64_t length, uint64_t now_ns);
/* Send a range, wait for it and flush. */
struct owed writeback_sync(struct state *state, struct file_id id, uint64_t offset,
                           uint64_t length, uint64_t now_ns);
/* The same for every file. */
struct owed writeback_sync_all(struct state *state, uint64_t now_ns);

#endif
