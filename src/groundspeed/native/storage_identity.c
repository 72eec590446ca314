/* Which file it is. See storage_identity.h. */
#define _GNU_SOURCE
#include "storage_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

uint64_t birth_ns(int directory, const char *path, int flags)
{
    /* An inode's number is given again after its file is gone; the time of its birth is not. Where
     * a file system does not tell it, unlink is seen by the shim anyway. */
    struct statx status;
    if (statx(directory, path, flags, STATX_BTIME, &status) != 0 ||
        !(status.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)status.stx_btime.tv_sec * UINT64_C(1000000000) + status.stx_btime.tv_nsec;
}

bool identity_of(int directory, const char *path, int flags, struct file_identity *identity)
{
    struct stat status;
    if (fstatat(directory, path, &status, flags) != 0 || !S_ISREG(status.st_mode))
        return false;
    *identity = (struct file_identity){.device = status.st_dev,
                                       .inode = status.st_ino,
                                       .birth_ns = birth_ns(directory, path, flags),
                                       .size_bytes = (uint64_t)status.st_size};
    return true;
}
