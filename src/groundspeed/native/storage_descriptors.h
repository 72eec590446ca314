/* Which descriptors of this process are files of the emulated device. */
#ifndef GROUNDSPEED_STORAGE_DESCRIPTORS_H
#define GROUNDSPEED_STORAGE_DESCRIPTORS_H

#include "storage_files.h"
#include "storage_pages.h"

struct descriptor {
    uint32_t kind; /* enum descriptor_kind */
    uint32_t flags;
    struct file_id id;
    struct reading reading;
};

enum descriptor_kind { UNKNOWN, FOREIGN, EMULATED };
/* UNSEEN: stdio writes to it, which no call of ours shows. */
enum descriptor_flags { DIRECT = 1, SYNCED = 2, APPENDS = 4, UNSEEN = 8 };

/* Call once, before the others. False where there is no memory. */
bool descriptors_begin(struct state *state);

/* The descriptor's entry when it is a file of the device, else NULL. */
struct descriptor *descriptor_of(int number);

/* What is known of a number is not true any more: it was opened, closed or doubled. */
void descriptor_changed(int number);
void descriptors_changed(unsigned first, unsigned last);

/* A number is about to be closed: a file that has no name any more goes with the last one. */
void descriptor_closes(int number);

/* The same of all that are left, at the end of the program; of its children it is not the end. */
void descriptors_close(void);

/* Whether this process is known to have the file open. */
bool descriptors_have(struct file_id id);

/* A file was opened with O_DIRECT, which the real open did not get. */
void descriptor_is_direct(int number);

/* Whether an open would have to lose O_DIRECT: the path leads to a file of the device. */
bool path_is_emulated(int directory, const char *path);

/* Where a name is, of a file or directory of the device that may be made or go; PATH_MAX bytes. */
bool name_is_emulated(int directory, const char *path, char *real);

/* Whether a descriptor is a directory of the device. */
bool directory_is_emulated(int number);

/* Name the file at a path; false when it is none of the device or has other names. */
bool path_identity(int directory, const char *path, struct file_identity *identity);

#endif
