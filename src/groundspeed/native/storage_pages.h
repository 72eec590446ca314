/* What stands between programs and the device: files, the page cache, dirty pages, write-back.
 *
 * Plays the kernel's part. Where a program would have to wait for more than the device can take at
 * once, a function gives `again_ns`: sleep until then and call it again, so that a long write-back
 * does not reserve the device for seconds ahead of everybody else.
 */
#ifndef GROUNDSPEED_STORAGE_PAGES_H
#define GROUNDSPEED_STORAGE_PAGES_H

#include "storage_layout.h"

/* A file as processes name it. The generation tells whether its place was given to another since. */
struct file_id {
    uint32_t place;
    uint32_t generation; /* 0: no file */
};

struct file_identity {
    uint64_t device, inode, birth_ns, size_bytes;
};

/* Where one descriptor reads sequentially. */
struct reading {
    uint64_t next_page;
    uint64_t ahead_page; /* pages before this one were asked for */
    uint32_t window_pages;
    uint32_t random; /* the program said so: no reading ahead */
};

struct owed {
    uint64_t done_ns;  /* 0: nothing is owed */
    uint64_t again_ns; /* not 0: not finished; call again then */
    bool failed;
    uint32_t hit_pages, miss_pages;
};

bool pages_is(struct state *state, struct file_id id);
struct file_id pages_find(struct state *state, const struct file_identity *identity,
                          uint64_t now_ns);
void pages_forget(struct state *state, const struct file_identity *identity);

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
/* A write into the page cache; owes time where it had to read first. Then pages_throttle. */
struct owed pages_write(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                        uint64_t now_ns);
struct owed pages_throttle(struct state *state, uint64_t now_ns);
struct owed pages_write_direct(struct state *state, struct file_id id, uint64_t offset,
                               uint64_t length, uint64_t now_ns);
void pages_resize(struct state *state, struct file_id id, uint64_t size_bytes);
/* The file is so long by now, by means that were not seen: what is new is dirty. */
void pages_grew(struct state *state, struct file_id id, uint64_t size_bytes, uint64_t now_ns);

/* Start write-back of a range; finished when all of it has been sent. */
struct owed pages_send(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns);
/* Send a range, wait for it and flush. */
struct owed pages_sync(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns);
/* The same for every file. */
struct owed pages_sync_all(struct state *state, uint64_t now_ns);

#endif
