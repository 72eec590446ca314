/* Takes back what was not on the device when its power went. See storage_cut.h, storage_journal.h.
 *
 * Names first, latest first, each forgotten when it is undone; then every file below the roots that
 * the journal knows gets its pages and its length. All of it may be done twice: who is killed here
 * is started again.
 */
#define _GNU_SOURCE
#include "storage_cut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage_identity.h"
#include "storage_writeback.h"

#define PLAYED_EVERY_NS UINT64_C(1000000000)
#define SECTOR_BYTES 512 /* what a disk writes whole */

static const struct power_cut *asked;
static struct taken_back *taken;
static char failed_path[ROOT_BYTES];
static const char *failure;

static int give_up(const char *path)
{
    failure = strerror(errno);
    snprintf(failed_path, sizeof failed_path, "%.4000s", path);
    return 1;
}

/* By the seed: whether something not synced reached the device all the same. */
static bool got_there(uint64_t what)
{
    return asked->random && (mix(asked->seed ^ mix(what)) & 1);
}

/* ---- who still lives */

static bool maps(const char *process, const struct stat *state_file)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%.20s/maps", process);
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned high, low;
        unsigned long long inode;
        if (sscanf(line, "%*s %*s %*s %x:%x %llu", &high, &low, &inode) == 3)
            found = inode == state_file->st_ino && makedev(high, low) == state_file->st_dev;
    }
    if (file)
        fclose(file);
    return found;
}

/* A process that has the state mapped, by its number; 0: none. */
static long alive(const char *state_path)
{
    struct stat state_file;
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    long found = 0;
    if (stat(state_path, &state_file) != 0 || !processes)
        return 0;
    while (!found && (entry = readdir(processes)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && atol(entry->d_name) != getpid() &&
            maps(entry->d_name, &state_file))
            found = atol(entry->d_name);
    closedir(processes);
    return found;
}

/* ---- names */

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* Undo one change; what is undone already, or never happened, stays. */
static int undo(const struct name_change *change)
{
    char kept[ROOT_BYTES + 32];
    kept_path(kept, sizeof kept, change->kept);
    switch ((enum changed)change->operation) {
    case MADE:
    case DIRECTORY_MADE:
        if (!exists(change->from))
            return 0;
        /* A directory in which something durable is, stays. */
        if (remove(change->from) != 0 && errno != ENOTEMPTY && errno != EEXIST)
            return give_up(change->from);
        taken->removed_count++;
        return 0;
    case REMOVED:
        if (!change->kept || exists(change->from))
            return 0;
        if (link(kept, change->from) != 0)
            return give_up(change->from);
        taken->restored_count++;
        return 0;
    case MOVED:
        if (exists(change->to) && !exists(change->from)) {
            if (rename(change->to, change->from) != 0)
                return give_up(change->from);
            taken->renamed_count++;
        }
        if (change->kept && !exists(change->to) && link(kept, change->to) != 0)
            return give_up(change->to);
        return 0;
    case DIRECTORY_REMOVED:
        if (exists(change->from))
            return 0;
        if (mkdir(change->from, 0700) != 0 || chmod(change->from, change->mode) != 0 ||
            chown(change->from, change->owner, change->group) != 0)
            return give_up(change->from);
        taken->restored_count++;
        return 0;
    }
    return 0;
}

static int undo_names(void)
{
    uint64_t first = word_load(&journal->names_first), next;
    while ((next = word_load(&journal->names_next)) > first) {
        const struct name_change *change = &journal->names[(next - 1) % NAMES_KEPT];
        /* They commit in order, so what did get there is all that came before one. */
        if (change->done_ns <= taken->cut_ns || got_there(next))
            return 0;
        if (undo(change))
            return 1;
        char kept[ROOT_BYTES + 32];
        kept_path(kept, sizeof kept, change->kept);
        if (change->kept)
            unlink(kept);
        word_store(&journal->names_next, next - 1);
    }
    return 0;
}

static void let_all_go(void)
{
    for (uint64_t i = word_load(&journal->names_first); i < word_load(&journal->names_next); i++) {
        char kept[ROOT_BYTES + 32];
        kept_path(kept, sizeof kept, journal->names[i % NAMES_KEPT].kept);
        if (journal->names[i % NAMES_KEPT].kept)
            unlink(kept);
    }
    word_store(&journal->names_first, word_load(&journal->names_next));
}

/* ---- pages */

/* The record that holds what a page was on the device at the cut; NO_RECORD: what it is now. */
static uint32_t to_put_back(uint32_t head)
{
    uint64_t since_ns = word_load(&record_at(head)->done_ns);
    if (since_ns && since_ns <= taken->cut_ns)
        return NO_RECORD;
    for (uint32_t number = head;; number = journal_older(number)) {
        uint32_t older = journal_older(number);
        uint64_t done_ns = older == NO_RECORD ? 0 : word_load(&record_at(older)->done_ns);
        if (older == NO_RECORD || (done_ns && done_ns <= taken->cut_ns))
            return number;
    }
}

static int put_back(int number, uint32_t record_number, uint64_t size, const char *path)
{
    struct record *record = record_at(record_number);
    bool content = atomic_load(&record->kind) == KEPT_CONTENT;
    static const char nothing[PAGE_BYTES];
    bool any = false;
    for (uint64_t at = 0; at < PAGE_BYTES; at += SECTOR_BYTES) {
        uint64_t from = at, to = at + SECTOR_BYTES, start = (uint64_t)record->page << PAGE_SHIFT;
        if (!content && from < record->value)
            from = record->value < to ? record->value : to;
        if (start + to > size)
            to = size > start ? size - start : 0;
        if (from >= to || got_there((uint64_t)record_number << 8 | at / SECTOR_BYTES))
            continue;
        const char *was = content ? slot_at(record_number) + from : nothing;
        if (pwrite(number, was, to - from, (off_t)(start + from)) != (ssize_t)(to - from))
            return give_up(path);
        taken->bytes += to - from;
        any = true;
    }
    taken->pages_count += any;
    return 0;
}

static uint64_t size_at_the_cut(uint32_t file, uint64_t size)
{
    uint32_t head = journal_head(file, SIZE_PAGE);
    uint32_t number = head == NO_RECORD ? NO_RECORD : to_put_back(head);
    if (number == NO_RECORD)
        return size;
    uint64_t was = record_at(number)->value;
    if (asked->random && was < size)
        return was + mix(asked->seed ^ file) % (size - was + 1);
    return was;
}

static int take_back(int number, uint32_t file, uint64_t size, const char *path)
{
    uint64_t then = size_at_the_cut(file, size), pages = taken->pages_count;
    for (uint32_t i = 0; i < journal->records_limit_count; i++) {
        struct record *record = record_at(i);
        if (!word_load(&record->used) || record->file != file || record->page == SIZE_PAGE ||
            journal_head(file, record->page) != i)
            continue;
        uint32_t chosen = to_put_back(i);
        if (chosen != NO_RECORD && put_back(number, chosen, then, path))
            return 1;
    }
    if (then != size && ftruncate(number, (off_t)then) != 0)
        return give_up(path);
    taken->shortened_count += then < size;
    taken->bytes += then < size ? size - then : 0;
    taken->files_count += then != size || taken->pages_count != pages;
    return 0;
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    struct file_identity identity;
    (void)where;
    if (kind != FTW_F || !S_ISREG(status->st_mode) ||
        !identity_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &identity))
        return 0;
    uint32_t file = journal_find(identity.device, identity.inode, identity.birth_ns, false);
    if (file == NO_RECORD || journal_file_at(file)->records_count == 0)
        return 0;
    int number = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (number < 0)
        return give_up(path);
    int result = take_back(number, file, identity.size_bytes, path);
    close(number);
    return result;
}

/* ---- the device after it */

/* A machine that starts again has nothing cached and nothing dirty. */
static void start_afresh(struct state *state)
{
    memset((char *)state + state->files_at, 0,
           state->settings.files_limit_count * sizeof(struct file));
    memset((char *)state + state->pages_at, 0, state->cache_sets * sizeof(struct page_set));
    memset((char *)state + state->chunk_keys_at, 0, state->total_bytes - state->chunk_keys_at);
    word_store(&state->files_count, 0);
    word_store(&state->used_bytes, 0);
    word_store(&state->dirty_pages, 0);
    word_store(&state->in_flight_pages, 0);
    state->ring_head = state->ring_tail = 0;
    for (uint32_t i = 0; i < journal->records_limit_count; i++)
        word_store(&record_at(i)->used, 0);
    journal_recover();
}

const char *cut_power(struct state *state, const char *state_path, const struct power_cut *how,
                      struct taken_back *result, const char **about)
{
    static char words[128];
    asked = how;
    taken = result;
    long process = alive(state_path);
    if (process) {
        snprintf(words, sizeof words, "process %ld still uses it: end it first", process);
        return words;
    }
    state_lock(state);
    journal_recover();
    uint64_t last_ns = word_load(&journal->last_ns);
    taken->cut_ns = asked->at_ns > last_ns ? asked->at_ns : last_ns;
    /* Nobody came by since then to play it: as often as the kernel looks. */
    for (uint64_t at_ns = last_ns; at_ns < taken->cut_ns; at_ns += PLAYED_EVERY_NS)
        writeback_play(state, at_ns);
    writeback_play(state, taken->cut_ns);
    if (word_load(&journal->unkept_count)) {
        state_unlock(state);
        return "not all could be kept of what a power cut takes back (power_cut_pages too few, or "
               "a call that is not followed): what it leaves cannot be told";
    }
    int wrong = undo_names();
    for (uint32_t i = 0; !wrong && i < state->settings.roots_count; i++)
        wrong = nftw(state->settings.roots[i], visit, 32, FTW_PHYS);
    if (wrong < 0)
        wrong = give_up("a root of the device");
    if (!wrong) {
        let_all_go();
        start_afresh(state);
    }
    state_unlock(state);
    if (wrong)
        *about = failed_path;
    return wrong ? failure : NULL;
}
