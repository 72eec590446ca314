/* Keeps what a call is about to change, for a power cut: the journal's half that looks at files.
 *
 * Only where the mode is on. Each of these comes before the real call, in one KEEPING with it.
 */
#ifndef GROUNDSPEED_STORAGE_KEEP_H
#define GROUNDSPEED_STORAGE_KEEP_H

#include <signal.h>

#include "storage_charge.h"
#include "storage_journal.h"

void keep_lock(sigset_t *signals);
void keep_unlock(const sigset_t *signals);

/* Keep, then do it, and nobody in between: what the model sends of a page must be what was there
 * before a change or after it. No signal either: a handler that jumps away would take the lock
 * along. */
#define KEEPING(keep, code)                                                                        \
    do {                                                                                           \
        if (__builtin_expect(journal && !is_inside(), 0)) {                                        \
            sigset_t keeping_signals;                                                              \
            keep_lock(&keeping_signals);                                                           \
            inside = (uintptr_t)__builtin_frame_address(0);                                        \
            keep;                                                                                  \
            code;                                                                                  \
            inside = 0;                                                                            \
            keep_unlock(&keeping_signals);                                                         \
        } else {                                                                                   \
            code;                                                                                  \
        }                                                                                          \
    } while (0)

/* A range is overwritten, or at the file offset of the descriptor (AT_OFFSET). */
#define AT_OFFSET UINT64_MAX
void keep_write(int number, struct descriptor *entry, uint64_t offset, uint64_t length);
void keep_resize(int number, struct descriptor *entry, uint64_t size_bytes);
void keep_truncate(const char *path, uint64_t size_bytes);
void keep_allocation(int number, struct descriptor *entry, int mode, uint64_t offset,
                     uint64_t length);
/* Stdio may make the file longer from now on, unseen. */
void keep_unseen(int number, struct descriptor *entry);

/* Names. Each gives what is to be told how the call went, or NULL where nothing is kept. */
struct name_change *keep_opening(int directory, const char *path, int flags);
struct name_change *keep_removal(int directory, const char *path);
struct name_change *keep_move(int from_directory, const char *from, int to_directory,
                              const char *to);
struct name_change *keep_new_name(int directory, const char *path, bool is_directory);
void keep_done(struct name_change *change, bool happened);

/* A call that changes a name: what it was is kept before, and how it went is told after. */
#define NAMING(keep, result, call)                                                                 \
    do {                                                                                           \
        struct name_change *change = NULL;                                                         \
        KEEPING(change = keep, NAMED(change, result, call));                                       \
    } while (0)
#define NAMED(change, result, call)                                                                \
    do {                                                                                           \
        result = call;                                                                             \
        int naming_errno = errno;                                                                  \
        keep_done(change, result >= 0);                                                            \
        errno = naming_errno;                                                                      \
    } while (0)

#endif
