/* The C library's own functions, behind the shim's of the same names. */
#ifndef GROUNDSPEED_STORAGE_REAL_H
#define GROUNDSPEED_STORAGE_REAL_H

#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A function that the program is to find instead of the C library's. */
#define SHOWN __attribute__((visibility("default")))

#define FOR_EACH_REAL(X)                                                                           \
    X(ssize_t, read, (int, void *, size_t))                                                        \
    X(ssize_t, pread64, (int, void *, size_t, off64_t))                                            \
    X(ssize_t, readv, (int, const struct iovec *, int))                                            \
    X(ssize_t, preadv64, (int, const struct iovec *, int, off64_t))                                \
    X(ssize_t, preadv64v2, (int, const struct iovec *, int, off64_t, int))                         \
    X(ssize_t, write, (int, const void *, size_t))                                                 \
    X(ssize_t, pwrite64, (int, const void *, size_t, off64_t))                                     \
    X(ssize_t, writev, (int, const struct iovec *, int))                                           \
    X(ssize_t, pwritev64, (int, const struct iovec *, int, off64_t))                               \
    X(ssize_t, pwritev64v2, (int, const struct iovec *, int, off64_t, int))                        \
    X(int, fsync, (int))                                                                           \
    X(int, fdatasync, (int))                                                                       \
    X(int, sync_file_range, (int, off64_t, off64_t, unsigned))                                     \
    X(int, syncfs, (int))                                                                          \
    X(void, sync, (void))                                                                          \
    X(int, msync, (void *, size_t, int))                                                           \
    X(void *, mmap64, (void *, size_t, int, int, int, off64_t))                                    \
    X(int, munmap, (void *, size_t))                                                               \
    X(int, posix_fadvise64, (int, off64_t, off64_t, int))                                          \
    X(int, ftruncate64, (int, off64_t))                                                            \
    X(int, truncate64, (const char *, off64_t))                                                    \
    X(int, fallocate64, (int, int, off64_t, off64_t))                                              \
    X(int, posix_fallocate64, (int, off64_t, off64_t))                                             \
    X(ssize_t, copy_file_range, (int, off64_t *, int, off64_t *, size_t, unsigned))                \
    X(ssize_t, sendfile64, (int, int, off64_t *, size_t))                                          \
    X(int, open64, (const char *, int, ...))                                                       \
    X(int, openat64, (int, const char *, int, ...))                                                \
    X(FILE *, fopen64, (const char *, const char *))                                               \
    X(FILE *, freopen64, (const char *, const char *, FILE *))                                     \
    X(int, fclose, (FILE *))                                                                       \
    X(size_t, fread, (void *, size_t, size_t, FILE *))                                             \
    X(char *, fgets, (char *, int, FILE *))                                                        \
    X(int, close, (int))                                                                           \
    X(int, close_range, (unsigned, unsigned, int))                                                 \
    X(int, dup, (int))                                                                             \
    X(int, dup2, (int, int))                                                                       \
    X(int, dup3, (int, int, int))                                                                  \
    X(int, fcntl64, (int, int, ...))                                                               \
    X(int, unlink, (const char *))                                                                 \
    X(int, unlinkat, (int, const char *, int))                                                     \
    X(int, remove, (const char *))                                                                 \
    X(int, rename, (const char *, const char *))                                                   \
    X(int, renameat, (int, const char *, int, const char *))                                       \
    X(int, renameat2, (int, const char *, int, const char *, unsigned))                            \
    X(FILE *, fdopen, (int, const char *))                                                         \
    X(int, link, (const char *, const char *))                                                     \
    X(int, linkat, (int, const char *, int, const char *, int))                                    \
    X(int, mkdir, (const char *, mode_t))                                                          \
    X(int, mkdirat, (int, const char *, mode_t))                                                   \
    X(int, rmdir, (const char *))                                                                  \
    X(long, syscall, (long, ...))

/* Hidden where they are declared, too: else each use would go through a table of the linker's. */
#define DECLARE_REAL(type, name, arguments)                                                        \
    extern __attribute__((visibility("hidden"))) type(*real_##name) arguments;
FOR_EACH_REAL(DECLARE_REAL)
#undef DECLARE_REAL

void find_real(void);

/* Other libraries' constructors may call before ours has run. */
#define REAL(name)                                                                                 \
    ({                                                                                             \
        if (__builtin_expect(!real_##name, 0))                                                     \
            find_real();                                                                           \
        real_##name;                                                                               \
    })

#endif
