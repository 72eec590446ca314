/* What names a file for good: device, inode and time of birth, asked of the kernel. */
#ifndef GROUNDSPEED_STORAGE_IDENTITY_H
#define GROUNDSPEED_STORAGE_IDENTITY_H

#include "storage_files.h"

/* When a file was made; 0 where the file system does not tell it. */
uint64_t birth_ns(int directory, const char *path, int flags);

/* Name a regular file, by how many names ever; false when there is none. `flags` are those of statx:
 * AT_EMPTY_PATH for an open one. */
bool identity_of(int directory, const char *path, int flags, struct file_identity *identity);

#endif
