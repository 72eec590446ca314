/* Asks the model what a call owes, and waits. See storage_charge.h. */
#define _GNU_SOURCE
#include "storage_charge.h"

#include <sys/stat.h>

#include "storage_device.h"
#include "storage_journal.h"
#include "storage_keep.h"
#include "storage_pages.h"
#include "storage_wait.h"
#include "storage_writeback.h"

struct state *state;
_Thread_local volatile uintptr_t inside;

bool is_inside(void)
{
    if (inside == 0)
        return false;
    /* Stacks grow downwards: a frame further up means that the one in the model was left. */
    if ((uintptr_t)__builtin_frame_address(0) < inside)
        return true;
    inside = 0;
    return false;
}

int io_error(void)
{
    errno = EIO;
    return -1;
}

struct descriptor *enter(int number)
{
    if (__builtin_expect(!state || is_inside(), 0))
        return NULL;
    return descriptor_of(number);
}

void pay(atomic_word *waited_ns, enum kind kind, uint64_t began_ns, uint64_t done_ns)
{
    /* A call that returns has its work behind it, whenever the power goes. */
    if (done_ns <= began_ns) {
        journal_alive(began_ns);
        return;
    }
    word_add(waited_ns, done_ns - began_ns);
    uint64_t now = now_ns();
    if (now > done_ns) {
        struct counters *counters = counters_here(state);
        word_add(&counters->late_count, 1);
        word_add(&counters->late_ns, now - done_ns);
    } else {
        wait_working(done_ns, state->settings.work_ns[kind]);
    }
    journal_alive(done_ns);
}

/* ---- what a sync means for a power cut */

static void note_synced(struct file_id id, uint64_t offset, uint64_t length, uint64_t done_ns)
{
    struct file *file = file_at(state, id.place);
    uint64_t device = word_load(&file->device), inode = word_load(&file->inode);
    uint64_t birth_ns = word_load(&file->birth_ns);
    bool metadata;
    if (length) {
        metadata = names_wait(inode, done_ns);
        journal_sent(device, inode, birth_ns, offset >> PAGE_SHIFT, end_page(offset, length),
                     done_ns, true);
    } else {
        metadata = journal_synced(device, inode, birth_ns, done_ns);
    }
    /* Data alone needs a commit only where the file itself is new or longer. */
    if (metadata)
        names_commit(done_ns);
}

/* One try at syncing; what it settles, it settles at the same moment for all. */
static struct owed try_sync(struct file_id id, uint64_t offset, uint64_t length, uint64_t at_ns)
{
    if (!journal)
        return writeback_sync(state, id, offset, length, at_ns);
    state_lock(state);
    struct owed owed = writeback_sync(state, id, offset, length, at_ns);
    if (!owed.again_ns && !owed.failed)
        note_synced(id, offset, length, owed.done_ns);
    state_unlock(state);
    return owed;
}

static void note_direct(struct descriptor *entry, uint64_t offset, uint64_t length,
                        const struct owed *owed)
{
    if (!journal || owed->failed)
        return;
    struct file *file = file_at(state, entry->id.place);
    state_lock(state);
    journal_sent(word_load(&file->device), word_load(&file->inode), word_load(&file->birth_ns),
                 offset >> PAGE_SHIFT, end_page(offset, length), owed->done_ns,
                 entry->flags & SYNCED);
    state_unlock(state);
}

bool after_read(struct descriptor *entry, uint64_t offset, size_t length, uint64_t began_ns)
{
    bool failed = false;
    IN_MODEL({
        struct counters *counters = counters_here(state);
        struct owed owed =
            entry->flags & DIRECT
                ? pages_read_direct(state, entry->id, offset, length, began_ns)
                : pages_read(state, entry->id, &entry->reading, offset, length, began_ns);
        word_add(&counters->read_calls, 1);
        word_add(&counters->read_bytes, length);
        word_add(&counters->hit_pages, owed.hit_pages);
        if (owed.miss_pages)
            word_add(&counters->miss_pages, owed.miss_pages);
        pay(&counters->read_waited_ns, KIND_READ, began_ns, owed.done_ns);
        failed = owed.failed;
    });
    return !failed;
}

uint64_t sync_range(struct file_id id, uint64_t offset, uint64_t length, uint64_t began_ns,
                           bool *failed)
{
    uint64_t at = began_ns;
    for (;;) {
        struct owed owed = try_sync(id, offset, length, at);
        if (!owed.again_ns) {
            *failed = owed.failed;
            return owed.done_ns;
        }
        wait_until(owed.again_ns);
        at = now_ns();
    }
}

bool after_write(struct descriptor *entry, uint64_t offset, size_t length, uint64_t began_ns)
{
    bool failed = false;
    enum kind kind = entry->flags & SYNCED ? KIND_SYNC : KIND_WRITE;
    IN_MODEL({
        struct counters *counters = counters_here(state);
        struct owed owed;
        word_add(&counters->write_calls, 1);
        word_add(&counters->write_bytes, length);
        if (entry->flags & DIRECT) {
            owed = pages_write_direct(state, entry->id, offset, length, began_ns);
            if (entry->flags & SYNCED)
                owed.done_ns = device_sync(state, owed.done_ns);
            note_direct(entry, offset, length, &owed);
        } else {
            owed = pages_write(state, entry->id, offset, length, began_ns);
            if (entry->flags & SYNCED) {
                owed.done_ns = sync_range(entry->id, offset, length, began_ns, &owed.failed);
            } else {
                struct owed held = writeback_throttle(state, began_ns);
                while (held.again_ns) {
                    wait_until(held.again_ns);
                    owed.done_ns = now_ns();
                    held = writeback_throttle(state, owed.done_ns);
                }
            }
        }
        pay(&counters->write_waited_ns, kind, began_ns, owed.done_ns);
        failed = owed.failed;
    });
    return !failed;
}

/* All metadata so far is durable with an fsync. And stdio may go on writing. */
static void note_committed(int number, struct descriptor *entry, uint64_t done_ns, bool data_only)
{
    state_lock(state);
    if (!data_only)
        names_commit(done_ns);
    if (entry->flags & UNSEEN)
        keep_unseen(number, entry);
    state_unlock(state);
}

int after_sync(int number, struct descriptor *entry, uint64_t began_ns, bool data_only)
{
    bool failed = false;
    IN_MODEL({
        struct counters *counters = counters_here(state);
        /* Written by means the shim does not see, such as stdio: longer than was known. */
        struct stat status;
        if (fstat(number, &status) == 0)
            pages_grew(state, entry->id, (uint64_t)status.st_size, began_ns);
        word_add(&counters->sync_calls, 1);
        uint64_t done_ns = sync_range(entry->id, 0, 0, began_ns, &failed);
        if (journal && !failed)
            note_committed(number, entry, done_ns, data_only);
        pay(&counters->sync_waited_ns, KIND_SYNC, began_ns, done_ns);
    });
    return failed ? io_error() : 0;
}

static struct owed try_sync_all(uint64_t at_ns)
{
    if (!journal)
        return writeback_sync_all(state, at_ns);
    state_lock(state);
    struct owed owed = writeback_sync_all(state, at_ns);
    if (!owed.again_ns)
        journal_synced_all(owed.done_ns);
    state_unlock(state);
    return owed;
}

void after_sync_all(uint64_t began_ns)
{
    IN_MODEL({
        struct owed owed = try_sync_all(began_ns);
        while (owed.again_ns) {
            wait_until(owed.again_ns);
            owed = try_sync_all(now_ns());
        }
        word_add(&counters_here(state)->sync_calls, 1);
        pay(&counters_here(state)->sync_waited_ns, KIND_SYNC, began_ns, owed.done_ns);
    });
}

bool read_owes_nothing(struct descriptor *entry, uint64_t offset, size_t length)
{
    if ((entry->flags & DIRECT) || length == 0)
        return false;
    inside = (uintptr_t)__builtin_frame_address(0);
    bool nothing = pages_read_owes_nothing(state, entry->id, &entry->reading, offset, length,
                                           about_now_ns());
    inside = 0;
    return nothing;
}

ssize_t count_hits(uint64_t offset, ssize_t got)
{
    if (got <= 0)
        return got;
    struct counters *counters = counters_here(state);
    uint64_t end = offset + (uint64_t)got;
    word_add(&counters->read_calls, 1);
    word_add(&counters->read_bytes, (uint64_t)got);
    word_add(&counters->hit_pages,
             ((end + PAGE_BYTES - 1) >> PAGE_SHIFT) - (offset >> PAGE_SHIFT));
    return got;
}
