/* storage_shim.so: lets an unmodified program believe that its files live on another device.
 *
 * Loaded with LD_PRELOAD, with GROUNDSPEED_STORAGE naming the state that `storage_state create`
 * made. Every call does the real work first and then waits until the emulated device would have
 * done it: nothing is acknowledged before the real call has returned, so durability is what it is
 * without the shim. Where the device may lose its power, what a call changes is kept before
 * (storage_keep.h).
 *
 * It sees calls that go through the C library: not input and output by io_uring, libaio and POSIX
 * aio (refused with ENOSYS and counted), not reads of mapped files, and nothing of static programs,
 * which never load it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "storage_charge.h"
#include "storage_config.h"
#include "storage_descriptors.h"
#include "storage_device.h"
#include "storage_files.h"
#include "storage_journal.h"
#include "storage_keep.h"
#include "storage_pages.h"
#include "storage_real.h"
#include "storage_wait.h"
#include "storage_writeback.h"

#define VARIABLE "GROUNDSPEED_STORAGE"
#define REFUSED_CODE 125

/* ---- beginning */

static void refuse(const char *what, const char *why)
{
    char words[512];
    int length = snprintf(words, sizeof words,
                          "groundspeed: storage cannot be emulated: %.200s%s%.200s\n", what,
                          why ? ": " : "", why ? why : "");
    if (REAL(write)(STDERR_FILENO, words, (size_t)length) < 0) {
        /* Nobody can be told; the exit code still does. */
    }
    _exit(REFUSED_CODE);
}

__attribute__((constructor)) static void begin(void)
{
    find_real();
    const char *path = getenv(VARIABLE), *why = NULL;
    if (!path || !*path)
        refuse("the environment variable " VARIABLE " is not set", NULL);
    struct state *found = config_open(path, &why);
    if (!found)
        refuse(path, why);
    if (!journal_open(path, &why))
        refuse(path, why);
    /* Sleeps end within microseconds of what was asked; children inherit it. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (!descriptors_begin(found))
        refuse("no memory for the table of descriptors", NULL);
    uint64_t place = atomic_fetch_add(&found->attached_count, 1);
    word_store(&found->pids[place % PIDS_KEPT], (uint64_t)getpid());
    state = found;
}

__attribute__((destructor)) static void end(void)
{
    if (state && !is_inside())
        IN_MODEL(descriptors_close());
}

/* ---- reading and writing */

static size_t length_of(const struct iovec *pieces, int count)
{
    size_t length = 0;
    for (int i = 0; i < count; i++)
        length += pieces[i].iov_len;
    return length;
}

/* Where a call that moved the file offset began; a pipe or socket has none, and then the number
 * was given to something else behind our back. */
static bool offset_before(int number, ssize_t moved, uint64_t *offset)
{
    off64_t end = lseek64(number, 0, SEEK_CUR);
    if (end < 0) {
        descriptor_changed(number);
        return false;
    }
    *offset = (uint64_t)end - (uint64_t)moved;
    return true;
}

#define READ_AT(number, offset, length, call)                                                      \
    struct descriptor *entry = enter(number);                                                      \
    if (!entry)                                                                                    \
        return call;                                                                               \
    if (read_owes_nothing(entry, (uint64_t)(offset), length))                                      \
        return count_hits((uint64_t)(offset), call);                                               \
    uint64_t began_ns = now_ns();                                                                  \
    ssize_t got = call;                                                                            \
    if (got > 0 && !after_read(entry, (uint64_t)(offset), (size_t)got, began_ns))                  \
        return io_error();                                                                         \
    return got

#define READ_ON(number, call)                                                                      \
    struct descriptor *entry = enter(number);                                                      \
    if (!entry)                                                                                    \
        return call;                                                                               \
    uint64_t began_ns = now_ns(), moved_from;                                                      \
    ssize_t got = call;                                                                            \
    if (got > 0 && offset_before(number, got, &moved_from) &&                                      \
        !after_read(entry, moved_from, (size_t)got, began_ns))                                         \
        return io_error();                                                                         \
    return got

static bool is_full(struct descriptor *entry, uint64_t end)
{
    if (pages_have_room(state, entry->id, end))
        return false;
    errno = ENOSPC;
    return true;
}

#define WRITE_AT(number, offset, length, call)                                                     \
    struct descriptor *entry = enter(number);                                                      \
    if (!entry)                                                                                    \
        return call;                                                                               \
    if (is_full(entry, (uint64_t)(offset) + (length)))                                             \
        return -1;                                                                                 \
    uint64_t began_ns = now_ns();                                                                  \
    ssize_t put;                                                                                   \
    KEEPING(keep_write(number, entry, (uint64_t)(offset), length), put = call);                    \
    if (put > 0 && !after_write(entry, (uint64_t)(offset), (size_t)put, began_ns))                 \
        return io_error();                                                                         \
    return put

/* Where a write at the file offset will end; only asked for a device that can get full. */
static uint64_t end_of_write(int number, size_t length)
{
    if (state->settings.device_bytes == 0)
        return 0;
    int flags = fcntl(number, F_GETFL);
    off64_t at = lseek64(number, 0, SEEK_CUR);
    struct stat status;
    if ((flags & O_APPEND) && fstat(number, &status) == 0)
        at = status.st_size;
    return (uint64_t)(at < 0 ? 0 : at) + length;
}

#define WRITE_ON(number, length, call)                                                             \
    struct descriptor *entry = enter(number);                                                      \
    if (!entry)                                                                                    \
        return call;                                                                               \
    if (is_full(entry, end_of_write(number, length)))                                              \
        return -1;                                                                                 \
    uint64_t began_ns = now_ns(), moved_from;                                                      \
    ssize_t put;                                                                                   \
    KEEPING(keep_write(number, entry, AT_OFFSET, length), put = call);                             \
    if (put > 0 && offset_before(number, put, &moved_from) &&                                      \
        !after_write(entry, moved_from, (size_t)put, began_ns))                                        \
        return io_error();                                                                         \
    return put

SHOWN ssize_t read(int number, void *buffer, size_t length)
{
    READ_ON(number, REAL(read)(number, buffer, length));
}

SHOWN ssize_t __read_chk(int number, void *buffer, size_t length, size_t room)
{
    if (length > room)
        abort();
    return read(number, buffer, length);
}

SHOWN ssize_t pread64(int number, void *buffer, size_t length, off64_t offset)
{
    READ_AT(number, offset, length, REAL(pread64)(number, buffer, length, offset));
}

SHOWN ssize_t __pread64_chk(int number, void *buffer, size_t length, off64_t offset, size_t room)
{
    if (length > room)
        abort();
    return pread64(number, buffer, length, offset);
}

SHOWN ssize_t readv(int number, const struct iovec *pieces, int count)
{
    READ_ON(number, REAL(readv)(number, pieces, count));
}

SHOWN ssize_t preadv64(int number, const struct iovec *pieces, int count, off64_t offset)
{
    READ_AT(number, offset, length_of(pieces, count),
            REAL(preadv64)(number, pieces, count, offset));
}

SHOWN ssize_t preadv64v2(int number, const struct iovec *pieces, int count, off64_t offset,
                         int flags)
{
    if (offset == -1) {
        READ_ON(number, REAL(preadv64v2)(number, pieces, count, -1, flags));
    }
    READ_AT(number, offset, length_of(pieces, count),
            REAL(preadv64v2)(number, pieces, count, offset, flags));
}

SHOWN ssize_t write(int number, const void *buffer, size_t length)
{
    WRITE_ON(number, length, REAL(write)(number, buffer, length));
}

SHOWN ssize_t pwrite64(int number, const void *buffer, size_t length, off64_t offset)
{
    WRITE_AT(number, offset, length, REAL(pwrite64)(number, buffer, length, offset));
}

SHOWN ssize_t writev(int number, const struct iovec *pieces, int count)
{
    WRITE_ON(number, length_of(pieces, count), REAL(writev)(number, pieces, count));
}

SHOWN ssize_t pwritev64(int number, const struct iovec *pieces, int count, off64_t offset)
{
    WRITE_AT(number, offset, length_of(pieces, count),
             REAL(pwritev64)(number, pieces, count, offset));
}

SHOWN ssize_t pwritev64v2(int number, const struct iovec *pieces, int count, off64_t offset,
                          int flags)
{
    if (offset == -1) {
        WRITE_ON(number, length_of(pieces, count),
                 REAL(pwritev64v2)(number, pieces, count, -1, flags));
    }
    WRITE_AT(number, offset, length_of(pieces, count),
             REAL(pwritev64v2)(number, pieces, count, offset, flags));
}

SHOWN ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset,
                              size_t length, unsigned flags)
{
    struct descriptor *source = enter(from), *target = enter(to);
    uint64_t began_ns = source || target ? now_ns() : 0, offset;
    uint64_t read_at = from_offset ? (uint64_t)*from_offset : 0;
    uint64_t write_at = to_offset ? (uint64_t)*to_offset : 0;
    ssize_t copied;
    KEEPING(if (target) keep_write(to, target, to_offset ? write_at : AT_OFFSET, length),
            copied = REAL(copy_file_range)(from, from_offset, to, to_offset, length, flags));
    if (copied <= 0)
        return copied;
    if (source && !from_offset && offset_before(from, copied, &offset))
        read_at = offset;
    if (target && !to_offset && offset_before(to, copied, &offset))
        write_at = offset;
    if (source && !after_read(source, read_at, (size_t)copied, began_ns))
        return io_error();
    if (target && !after_write(target, write_at, (size_t)copied, began_ns))
        return io_error();
    return copied;
}

SHOWN ssize_t sendfile64(int to, int from, off64_t *from_offset, size_t length)
{
    struct descriptor *source = enter(from), *target = enter(to);
    uint64_t began_ns = source || target ? now_ns() : 0, offset;
    uint64_t read_at = from_offset ? (uint64_t)*from_offset : 0;
    ssize_t sent;
    KEEPING(if (target) keep_write(to, target, AT_OFFSET, length),
            sent = REAL(sendfile64)(to, from, from_offset, length));
    if (sent <= 0)
        return sent;
    if (source && !from_offset && offset_before(from, sent, &offset))
        read_at = offset;
    if (source && !after_read(source, read_at, (size_t)sent, began_ns))
        return io_error();
    if (target && offset_before(to, sent, &offset) &&
        !after_write(target, offset, (size_t)sent, began_ns))
        return io_error();
    return sent;
}

SHOWN size_t fread(void *buffer, size_t size, size_t count, FILE *file)
{
    struct descriptor *entry = enter(fileno(file));
    if (!entry)
        return REAL(fread)(buffer, size, count, file);
    uint64_t began_ns = now_ns();
    size_t got = REAL(fread)(buffer, size, count, file);
    off64_t end = got ? ftello64(file) : -1;
    if (end >= 0)
        after_read(entry, (uint64_t)end - got * size, got * size, began_ns);
    return got;
}

SHOWN char *fgets(char *buffer, int room, FILE *file)
{
    struct descriptor *entry = enter(fileno(file));
    if (!entry)
        return REAL(fgets)(buffer, room, file);
    uint64_t began_ns = now_ns();
    char *got = REAL(fgets)(buffer, room, file);
    off64_t end = got ? ftello64(file) : -1;
    size_t length = got ? strlen(got) : 0;
    if (end >= (off64_t)length && length)
        after_read(entry, (uint64_t)end - length, length, began_ns);
    return got;
}

/* ---- syncing */

/* Its entries, and with them all metadata, are durable; that costs nothing here. */
static void directory_synced(int number)
{
    if (state && !is_inside() && directory_is_emulated(number))
        KEEPING(names_commit(word_load(&journal->last_ns)), );
}

SHOWN int fsync(int number)
{
    struct descriptor *entry = enter(number);
    uint64_t began_ns = entry ? now_ns() : 0;
    int result = REAL(fsync)(number);
    if (journal && !entry && result == 0)
        directory_synced(number);
    return entry && result == 0 ? after_sync(number, entry, began_ns, false) : result;
}

SHOWN int fdatasync(int number)
{
    struct descriptor *entry = enter(number);
    uint64_t began_ns = entry ? now_ns() : 0;
    int result = REAL(fdatasync)(number);
    if (journal && !entry && result == 0)
        directory_synced(number);
    return entry && result == 0 ? after_sync(number, entry, began_ns, true) : result;
}

SHOWN int sync_file_range(int number, off64_t offset, off64_t length, unsigned flags)
{
    struct descriptor *entry = enter(number);
    uint64_t began_ns = entry ? now_ns() : 0;
    int result = REAL(sync_file_range)(number, offset, length, flags);
    if (!entry || result != 0)
        return result;
    IN_MODEL({
        struct counters *counters = counters_here(state);
        struct stat status;
        if (fstat(number, &status) == 0)
            pages_grew(state, entry->id, (uint64_t)status.st_size, began_ns);
        struct owed owed = {0};
        if (flags & SYNC_FILE_RANGE_WRITE) {
            owed = writeback_send(state, entry->id, (uint64_t)offset, (uint64_t)length, began_ns);
            while (owed.again_ns) {
                wait_until(owed.again_ns);
                owed = writeback_send(state, entry->id, (uint64_t)offset, (uint64_t)length, now_ns());
            }
        }
        uint64_t done_ns = 0;
        if (flags & (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER))
            done_ns = word_load(&files_of(state)[entry->id.place].written_until_ns);
        pay(&counters->write_waited_ns, KIND_WRITE, began_ns, done_ns);
    });
    return result;
}

SHOWN int syncfs(int number)
{
    struct descriptor *entry = enter(number);
    uint64_t began_ns = entry ? now_ns() : 0;
    int result = REAL(syncfs)(number);
    if (entry && result == 0)
        after_sync_all(began_ns);
    return result;
}

SHOWN void sync(void)
{
    uint64_t began_ns = state ? now_ns() : 0;
    REAL(sync)();
    if (state && !is_inside() && word_load(&state->files_count))
        after_sync_all(began_ns);
}

/* Mapped files: what was written through a mapping is not seen, so msync takes all of the range as
 * dirty. Mappings of files are few; a fixed table of them is enough, and one too many is counted. */
#define MOST_MAPPINGS 256
static struct mapping {
    _Atomic(uintptr_t) begin;
    size_t length;
    uint64_t offset;
    struct descriptor descriptor;
} mappings[MOST_MAPPINGS];

SHOWN void *mmap64(void *address, size_t length, int protection, int flags, int number,
                   off64_t offset)
{
    void *mapped = REAL(mmap64)(address, length, protection, flags, number, offset);
    bool shared_file = number >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE);
    struct descriptor *entry = shared_file && mapped != MAP_FAILED ? enter(number) : NULL;
    if (!entry)
        return mapped;
    for (int i = 0; i < MOST_MAPPINGS; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&mappings[i].begin, &none, (uintptr_t)mapped))
            continue;
        mappings[i].length = length;
        mappings[i].offset = (uint64_t)offset;
        mappings[i].descriptor = *entry;
        return mapped;
    }
    word_add(&counters_here(state)->refused, 1);
    return mapped;
}

static struct mapping *mapping_of(const void *address)
{
    for (int i = 0; i < MOST_MAPPINGS; i++) {
        uintptr_t begin = atomic_load(&mappings[i].begin);
        if (begin && (uintptr_t)address >= begin && (uintptr_t)address < begin + mappings[i].length)
            return &mappings[i];
    }
    return NULL;
}

SHOWN int munmap(void *address, size_t length)
{
    if (state) {
        struct mapping *mapping = mapping_of(address);
        if (mapping && atomic_load(&mapping->begin) == (uintptr_t)address)
            atomic_store(&mapping->begin, 0);
    }
    return REAL(munmap)(address, length);
}

SHOWN int msync(void *address, size_t length, int flags)
{
    struct mapping *mapping = state && !is_inside() ? mapping_of(address) : NULL;
    uint64_t began_ns = mapping ? now_ns() : 0;
    int result = REAL(msync)(address, length, flags);
    if (!mapping || result != 0 || !files_is(state, mapping->descriptor.id))
        return result;
    bool failed = false;
    IN_MODEL({
        struct counters *counters = counters_here(state);
        struct file_id id = mapping->descriptor.id;
        uint64_t offset = mapping->offset + ((uintptr_t)address - mapping->begin);
        pages_write(state, id, offset, length, began_ns);
        word_add(&counters->sync_calls, 1);
        if (flags & MS_SYNC)
            pay(&counters->sync_waited_ns, KIND_SYNC, began_ns,
                sync_range(id, offset, length, began_ns, &failed));
    });
    return failed ? io_error() : 0;
}

/* ---- advice and size */

SHOWN int posix_fadvise64(int number, off64_t offset, off64_t length, int advice)
{
    int result = REAL(posix_fadvise64)(number, offset, length, advice);
    struct descriptor *entry = enter(number);
    if (!entry || result != 0)
        return result;
    IN_MODEL({
        if (advice == POSIX_FADV_WILLNEED)
            pages_prefetch(state, entry->id, (uint64_t)offset, (uint64_t)length, now_ns());
        else if (advice == POSIX_FADV_DONTNEED)
            pages_drop_cached(state, entry->id, (uint64_t)offset, (uint64_t)length);
        else if (advice == POSIX_FADV_RANDOM)
            entry->reading.random = 1;
        else if (advice == POSIX_FADV_NORMAL || advice == POSIX_FADV_SEQUENTIAL)
            entry->reading.random = 0;
    });
    return result;
}

SHOWN int ftruncate64(int number, off64_t length)
{
    struct descriptor *entry = enter(number);
    int result;
    KEEPING(if (entry && length >= 0) keep_resize(number, entry, (uint64_t)length),
            result = REAL(ftruncate64)(number, length));
    if (entry && result == 0)
        IN_MODEL(pages_resize(state, entry->id, (uint64_t)length));
    return result;
}

SHOWN int truncate64(const char *path, off64_t length)
{
    struct file_identity identity;
    int result;
    KEEPING(if (length >= 0) keep_truncate(path, (uint64_t)length),
            result = REAL(truncate64)(path, length));
    if (state && !is_inside() && result == 0)
        IN_MODEL({
            if (path_is_emulated(AT_FDCWD, path) && path_identity(AT_FDCWD, path, &identity))
                pages_resize(state, files_find(state, &identity, now_ns()), (uint64_t)length);
        });
    return result;
}

/* Room is set aside, nothing is written: the file is longer, no page of it is dirty. */
static void after_allocation(int number, struct descriptor *entry)
{
    struct stat status;
    IN_MODEL({
        if (fstat(number, &status) == 0)
            pages_resize(state, entry->id, (uint64_t)status.st_size);
    });
}

SHOWN int fallocate64(int number, int mode, off64_t offset, off64_t length)
{
    struct descriptor *entry = enter(number);
    if (entry && is_full(entry, (uint64_t)(offset + length)))
        return -1;
    int result;
    KEEPING(if (entry) keep_allocation(number, entry, mode, (uint64_t)offset, (uint64_t)length),
            result = REAL(fallocate64)(number, mode, offset, length));
    if (entry && result == 0)
        after_allocation(number, entry);
    return result;
}

SHOWN int posix_fallocate64(int number, off64_t offset, off64_t length)
{
    struct descriptor *entry = enter(number);
    if (entry && is_full(entry, (uint64_t)(offset + length)))
        return ENOSPC;
    int result;
    KEEPING(if (entry) keep_allocation(number, entry, 0, (uint64_t)offset, (uint64_t)length),
            result = REAL(posix_fallocate64)(number, offset, length));
    if (entry && result == 0)
        after_allocation(number, entry);
    return result;
}

/* ---- descriptors that come and go */

static void opened(int number, bool direct, bool writes)
{
    if (number < 0)
        return;
    descriptor_changed(number);
    if (direct)
        descriptor_is_direct(number);
    /* Stdio and mappings write unseen: how long the file is now tells what is new when it is
     * synced. */
    if (writes)
        enter(number);
}

static bool makes_file(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

SHOWN int openat64(int directory, const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (makes_file(flags)) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    /* The emulated device serves what the program takes past the cache; really going past it would
     * only add the time of the real disk, and memory file systems refuse it. */
    bool direct = false;
    if (state && !is_inside() && (flags & O_DIRECT))
        IN_MODEL(direct = path_is_emulated(directory, path));
    if (direct)
        flags &= ~O_DIRECT;
    int number;
    if ((flags & (O_CREAT | O_TRUNC)) == 0)
        number = REAL(openat64)(directory, path, flags, mode);
    else
        NAMING(keep_opening(directory, path, flags), number,
               REAL(openat64)(directory, path, flags, mode));
    opened(number, direct, (flags & O_ACCMODE) != O_RDONLY);
    if (number >= 0 && (flags & O_TRUNC)) {
        struct descriptor *entry = enter(number);
        if (entry)
            IN_MODEL(pages_resize(state, entry->id, 0));
    }
    return number;
}

SHOWN int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (makes_file(flags)) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    return openat64(AT_FDCWD, path, flags, mode);
}

SHOWN int creat64(const char *path, mode_t mode)
{
    return openat64(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* The flags of open that a mode of stdio stands for. */
static int flags_of(const char *mode)
{
    int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
    return flags | (mode[0] != 'r' || strchr(mode, '+') ? O_RDWR : O_RDONLY);
}

/* Stdio writes without a call of ours. */
static void opened_stream(FILE *file, const char *mode)
{
    struct descriptor *entry = journal && flags_of(mode) != O_RDONLY ? enter(fileno(file)) : NULL;
    if (entry)
        KEEPING(keep_unseen(fileno(file), entry), );
}

#define OPEN_STREAM(path, mode, call)                                                              \
    FILE *file;                                                                                    \
    int naming_result __attribute__((unused));                                                     \
    NAMING((path) && flags_of(mode) & O_CREAT ? keep_opening(AT_FDCWD, path, flags_of(mode))       \
                                              : NULL,                                              \
           naming_result, (file = call) ? 0 : -1);                                                 \
    if (file) {                                                                                    \
        opened(fileno(file), false, true);                                                         \
        opened_stream(file, mode);                                                                 \
    }                                                                                              \
    return file

SHOWN FILE *fopen64(const char *path, const char *mode)
{
    OPEN_STREAM(path, mode, REAL(fopen64)(path, mode));
}

SHOWN FILE *freopen64(const char *path, const char *mode, FILE *old)
{
    descriptor_changed(fileno(old));
    OPEN_STREAM(path, mode, REAL(freopen64)(path, mode, old));
}

SHOWN FILE *fdopen(int number, const char *mode)
{
    FILE *file = REAL(fdopen)(number, mode);
    if (file)
        opened_stream(file, mode);
    return file;
}

static void closes(int number)
{
    if (state && !is_inside())
        IN_MODEL(descriptor_closes(number));
    descriptor_changed(number);
}

SHOWN int fclose(FILE *file)
{
    closes(fileno(file));
    return REAL(fclose)(file);
}

SHOWN int close(int number)
{
    closes(number);
    return REAL(close)(number);
}

SHOWN int close_range(unsigned first, unsigned last, int flags)
{
    descriptors_changed(first, last);
    if (REAL(close_range))
        return real_close_range(first, last, flags);
    return (int)REAL(syscall)(SYS_close_range, first, last, flags);
}

SHOWN void closefrom(int first)
{
    close_range((unsigned)(first < 0 ? 0 : first), ~0U, 0);
}

static int doubled(int from, int to)
{
    if (to < 0)
        return to;
    descriptor_changed(to);
    struct descriptor *entry = enter(from);
    if (entry && (entry->flags & DIRECT))
        descriptor_is_direct(to);
    return to;
}

SHOWN int dup(int number)
{
    return doubled(number, REAL(dup)(number));
}

SHOWN int dup2(int number, int other)
{
    return number == other ? REAL(dup2)(number, other) : doubled(number, REAL(dup2)(number, other));
}

SHOWN int dup3(int number, int other, int flags)
{
    return doubled(number, REAL(dup3)(number, other, flags));
}

SHOWN int fcntl64(int number, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    int result = REAL(fcntl64)(number, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        doubled(number, result);
    else if (command == F_SETFL)
        descriptor_changed(number);
    return result;
}

/* ---- ways past the shim: refused, not followed */

static int refuse_call(void)
{
    if (state)
        word_add(&counters_here(state)->refused, 1);
    errno = ENOSYS;
    return -1;
}

SHOWN long syscall(long number, ...)
{
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long),
         d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    if (number == SYS_io_uring_setup || number == SYS_io_setup)
        return refuse_call();
    if (number == SYS_close)
        descriptor_changed((int)a);
    return REAL(syscall)(number, a, b, c, d, e, f);
}

/* liburing and libaio enter the kernel themselves; programs call them through these names. They
 * give an error as a negative number. */
static int refuse_library(void)
{
    refuse_call();
    return -ENOSYS;
}

#define REFUSED(name, how)                                                                         \
    SHOWN int name(void)                                                                           \
    {                                                                                              \
        return how();                                                                              \
    }

REFUSED(io_uring_queue_init, refuse_library)
REFUSED(io_uring_queue_init_params, refuse_library)
REFUSED(io_uring_queue_init_mem, refuse_library)
REFUSED(io_setup, refuse_library)
REFUSED(io_queue_init, refuse_library)
REFUSED(aio_read64, refuse_call)
REFUSED(aio_write64, refuse_call)
REFUSED(lio_listio64, refuse_call)

/* ---- the other spellings: on 64-bit systems off_t is off64_t and the functions are the same */

_Static_assert(sizeof(off_t) == sizeof(off64_t), "the shim is for 64-bit systems");

#define SAME(name, of) extern __typeof__(of) name __attribute__((alias(#of), visibility("default")))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias"
#undef pread
#undef pwrite
SAME(pread, pread64);
SAME(__pread_chk, __pread64_chk);
SAME(preadv, preadv64);
SAME(preadv2, preadv64v2);
SAME(pwrite, pwrite64);
SAME(pwritev, pwritev64);
SAME(pwritev2, pwritev64v2);
SAME(posix_fadvise, posix_fadvise64);
SAME(ftruncate, ftruncate64);
SAME(truncate, truncate64);
SAME(fallocate, fallocate64);
SAME(posix_fallocate, posix_fallocate64);
SAME(sendfile, sendfile64);
SAME(mmap, mmap64);
SAME(open, open64);
SAME(openat, openat64);
SAME(creat, creat64);
SAME(fopen, fopen64);
SAME(freopen, freopen64);
SAME(fcntl, fcntl64);
SAME(__fcntl64, fcntl64);
SAME(aio_read, aio_read64);
SAME(aio_write, aio_write64);
SAME(lio_listio, lio_listio64);
#pragma GCC diagnostic pop

SHOWN int __open64_2(const char *path, int flags)
{
    return openat64(AT_FDCWD, path, flags);
}

SHOWN int __openat64_2(int directory, const char *path, int flags)
{
    return openat64(directory, path, flags);
}

SAME(__open_2, __open64_2);
SAME(__openat_2, __openat64_2);
