/* The files of the emulated device, by device, inode and time of birth. */
#ifndef GROUNDSPEED_STORAGE_FILES_H
#define GROUNDSPEED_STORAGE_FILES_H

#include "storage_layout.h"

struct file_identity {
    uint64_t device, inode, birth_ns, size_bytes;
};

/* Whether a file still has the place it was given. */
bool files_is(struct state *state, struct file_id id);
/* The file's place; it is given one when it has none. */
struct file_id files_find(struct state *state, const struct file_identity *identity,
                          uint64_t now_ns);
/* The file's place where it has one; a generation of 0 where not. */
struct file_id files_known(struct state *state, const struct file_identity *identity);
/* The file is gone: its place is free and its dirty pages are nobody's. */
void files_forget(struct state *state, struct file_id id);

#endif
