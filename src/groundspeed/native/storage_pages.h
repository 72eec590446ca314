/* Reading and writing as the kernel does it: through the page cache, with reading ahead, or past it. */
#ifndef GROUNDSPEED_STORAGE_PAGES_H
#define GROUNDSPEED_STORAGE_PAGES_H

#include "storage_layout.h"

/* Where one descriptor reads sequentially. */
struct reading {
    uint64_t next_page;
    uint64_t ahead_page; /* pages before this one were asked for */
    uint32_t window_pages;
    uint32_t random; /* the program said so: no reading ahead */
};

/* Whether a short read finds all its pages cached; then it is done with. The moment may be that of a
 * coarse clock, which is behind: a page that arrived since then is left to pages_read. */
bool pages_read_owes_nothing(struct state *state, struct file_id id, struct reading *reading,
                             uint64_t offset, uint64_t length, uint64_t about_now_ns);
/* A read through the page cache, and one past it. */
struct owed pages_read(struct state *state, struct file_id id, struct reading *reading,
                       uint64_t offset, uint64_t length, uint64_t now_ns);
struct owed pages_read_direct(struct state *state, struct file_id id, uint64_t offset,
                              uint64_t length, uint64_t now_ns);
void pages_prefetch(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                    uint64_t now_ns);
void pages_drop_cached(struct state *state, struct file_id id, uint64_t offset, uint64_t length);

/* Whether growing a file to so many bytes fits the device. */
bool pages_have_room(struct state *state, struct file_id id, uint64_t end_bytes);
/* A write into the page cache; owes time where it had to read first. Then writeback_throttle. */
struct owed pages_write(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                        uint64_t now_ns);
struct owed pages_write_direct(struct state *state, struct file_id id, uint64_t offset,
                               uint64_t length, uint64_t now_ns);
void pages_resize(struct state *state, struct file_id id, uint64_t size_bytes);
/* The file is so long by now, by means that were not seen: what is new is dirty. */
void pages_grew(struct state *state, struct file_id id, uint64_t size_bytes, uint64_t now_ns);

#endif
