/* Tells by descriptor whether a file is on the emulated device. See storage_descriptors.h.
 *
 * A descriptor is looked at when it is first used for input or output, not when it is opened: it
 * may come from anywhere (fopen, another process, before an exec). The table is this process's own
 * and is copied by fork with everything else.
 */
#define _GNU_SOURCE
#include "storage_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage_identity.h"
#include "storage_wait.h"

#define MOST_DESCRIPTORS (UINT32_C(1) << 20)

static struct state *state;
static struct descriptor *table;
static uint32_t table_length;
static pid_t begun_by;
/* Above the highest number of a file of the device so far: a search ends there. */
static _Atomic uint32_t table_used;

bool descriptors_begin(struct state *of)
{
    struct rlimit limit;
    table_length = 65536;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        table_length = limit.rlim_max < MOST_DESCRIPTORS ? (uint32_t)limit.rlim_max : MOST_DESCRIPTORS;
    /* Only what is touched takes memory. */
    void *memory = mmap(NULL, table_length * sizeof *table, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    table = memory;
    begun_by = getpid();
    state = of;
    return true;
}

static bool below_a_root(const char *path)
{
    for (uint32_t i = 0; i < state->settings.roots_count; i++) {
        const char *root = state->settings.roots[i];
        size_t length = strlen(root);
        if (strncmp(path, root, length) == 0 && (path[length] == '/' || length == 1))
            return true;
    }
    return false;
}

/* The real path of a descriptor, as the kernel tells it. Without /proc nothing can be told apart,
 * and going on would be a silent run at native speed. */
static bool real_path(int number, char *path)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) {
        if (access("/proc/self/fd", F_OK) == 0)
            return false;
        static const char words[] =
            "groundspeed: emulated storage needs /proc: it is not mounted here\n";
        if (write(STDERR_FILENO, words, sizeof words - 1) < 0) {
            /* Nobody can be told. */
        }
        _exit(125);
    }
    path[length] = '\0';
    return true;
}

static void look_at(int number, struct descriptor *entry)
{
    struct stat status;
    char path[PATH_MAX];
    entry->kind = FOREIGN;
    if (fstat(number, &status) != 0 || !S_ISREG(status.st_mode) || !real_path(number, path) ||
        !below_a_root(path))
        return;
    struct file_identity identity = {.device = status.st_dev,
                                     .inode = status.st_ino,
                                     .birth_ns = birth_ns(number, "", AT_EMPTY_PATH),
                                     .size_bytes = (uint64_t)status.st_size};
    int flags = fcntl(number, F_GETFL);
    if (flags & O_DIRECT)
        entry->flags |= DIRECT;
    if (flags & O_DSYNC) /* O_SYNC holds it */
        entry->flags |= SYNCED;
    if (flags & O_APPEND)
        entry->flags |= APPENDS;
    entry->id = files_find(state, &identity, now_ns());
    entry->reading = (struct reading){0};
    entry->kind = EMULATED;
    uint32_t used = atomic_load(&table_used);
    while (used <= (uint32_t)number && (uint32_t)number < table_length &&
           !atomic_compare_exchange_weak(&table_used, &used, (uint32_t)number + 1))
        ;
}

struct descriptor *descriptor_of(int number)
{
    if (!state || number < 0)
        return NULL;
    if ((uint32_t)number >= table_length) {
        static _Thread_local struct descriptor beyond;
        beyond = (struct descriptor){0};
        int saved = errno;
        look_at(number, &beyond);
        errno = saved;
        return beyond.kind == EMULATED ? &beyond : NULL;
    }
    struct descriptor *entry = &table[number];
    if (entry->kind == FOREIGN)
        return NULL;
    if (entry->kind == UNKNOWN || !files_is(state, entry->id)) {
        int saved = errno;
        look_at(number, entry);
        errno = saved;
    }
    return entry->kind == EMULATED ? entry : NULL;
}

static bool is_same(struct file_id left, struct file_id right)
{
    return left.place == right.place && left.generation == right.generation;
}

/* Whether a number other than `apart` is the file. */
static bool is_open(struct file_id id, int apart)
{
    uint32_t used = atomic_load(&table_used);
    for (uint32_t number = 0; number < used; number++)
        if (table[number].kind == EMULATED && is_same(table[number].id, id) &&
            (int)number != apart)
            return true;
    return false;
}

bool descriptors_have(struct file_id id)
{
    return id.generation && is_open(id, -1);
}

/* As in the kernel, what is dirty of a file without a name is written as long as it is open. Other
 * processes that have it open are not known: with them it goes too early. */
void descriptor_closes(int number)
{
    if (!state || number < 0 || (uint32_t)number >= table_length)
        return;
    struct descriptor entry = table[number];
    struct stat status;
    if (entry.kind != EMULATED || !files_is(state, entry.id) ||
        word_load(&file_at(state, entry.id.place)->dirty_pages) == 0)
        return;
    int saved = errno;
    if (fstat(number, &status) == 0 && status.st_nlink == 0 && !is_open(entry.id, number))
        files_forget(state, entry.id);
    errno = saved;
}

void descriptors_close(void)
{
    if (!state || getpid() != begun_by)
        return;
    uint32_t used = atomic_load(&table_used);
    for (uint32_t number = 0; number < used; number++) {
        descriptor_closes((int)number);
        table[number] = (struct descriptor){0};
    }
}

void descriptor_changed(int number)
{
    if (state && number >= 0 && (uint32_t)number < table_length)
        table[number] = (struct descriptor){0};
}

void descriptors_changed(unsigned first, unsigned last)
{
    if (!state)
        return;
    /* As far as the soft limit lets numbers reach; beyond, the table was never touched. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && last >= limit.rlim_cur)
        last = limit.rlim_cur ? (unsigned)limit.rlim_cur - 1 : 0;
    for (unsigned number = first; number <= last && number < table_length; number++)
        if (table[number].kind != UNKNOWN)
            table[number] = (struct descriptor){0};
}

void descriptor_is_direct(int number)
{
    if (state && number >= 0 && (uint32_t)number < table_length)
        table[number].flags |= DIRECT;
}

/* A path as seen from the current directory. */
static bool joined_path(int directory, const char *path, char *joined)
{
    char real[PATH_MAX];
    if (path[0] == '/' || directory == AT_FDCWD)
        return snprintf(joined, PATH_MAX, "%s", path) < PATH_MAX;
    return real_path(directory, real) &&
           snprintf(joined, PATH_MAX, "%.2000s/%.2000s", real, path) < PATH_MAX;
}

/* Where a name is, whether or not there is a file of it yet. */
static bool real_name(const char *path, char *real)
{
    char parent[PATH_MAX], found[PATH_MAX];
    snprintf(parent, sizeof parent, "%s", path);
    for (size_t length = strlen(parent); length > 1 && parent[length - 1] == '/';)
        parent[--length] = '\0';
    char *slash = strrchr(parent, '/');
    const char *name = slash ? slash + 1 : parent;
    if (slash)
        *slash = '\0';
    if (!realpath(!slash ? "." : parent[0] ? parent : "/", found))
        return false;
    return snprintf(real, PATH_MAX, "%.3000s/%.1000s", found, name) < PATH_MAX;
}

bool path_is_emulated(int directory, const char *path)
{
    char real[PATH_MAX], joined[PATH_MAX];
    if (!state || !joined_path(directory, path, joined))
        return false;
    if (realpath(joined, real))
        return below_a_root(real);
    /* It may be about to be made: then its directory decides. */
    return real_name(joined, real) && below_a_root(real);
}

bool name_is_emulated(int directory, const char *path, char *real)
{
    char joined[PATH_MAX];
    return state && joined_path(directory, path, joined) && real_name(joined, real) &&
           below_a_root(real);
}

bool directory_is_emulated(int number)
{
    struct stat status;
    char real[PATH_MAX];
    /* The root itself, too: its entries are on the device. */
    return state && fstat(number, &status) == 0 && S_ISDIR(status.st_mode) &&
           real_path(number, real) && strlen(real) + 2 < sizeof real &&
           below_a_root(strcat(real, "/"));
}

bool path_identity(int directory, const char *path, struct file_identity *identity)
{
    struct stat status;
    if (!state || fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_nlink != 1)
        return false;
    return identity_of(directory, path, AT_SYMLINK_NOFOLLOW, identity);
}
