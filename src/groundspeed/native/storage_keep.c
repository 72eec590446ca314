/* Keeps what a call is about to change. See storage_keep.h. */
#define _GNU_SOURCE
#include "storage_keep.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_identity.h"
#include "storage_wait.h"
#include "storage_writeback.h"

/* A file that loses more than this part of the journal at once loses it for good: to keep a large
 * table that is dropped would take as long as copying it. */
#define LARGEST_PART 4

void keep_lock(sigset_t *signals)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, signals);
    state_lock(state);
    uint64_t now = now_ns();
    journal_alive(now);
    /* What has been written back by now is not taken back by what comes next. */
    writeback_play(state, now);
}

void keep_unlock(const sigset_t *signals)
{
    int saved_errno = errno;
    state_unlock(state);
    pthread_sigmask(SIG_SETMASK, signals, NULL);
    errno = saved_errno;
}

/* ---- pages */

/* A file and how to read it: not every descriptor that may write may read. */
struct source {
    uint32_t file;
    int number, own;
    uint64_t size;
};

static bool source_of(int number, const struct file_identity *identity, struct source *source)
{
    struct stat status;
    if (fstat(number, &status) != 0)
        return false;
    source->file = journal_find(identity->device, identity->inode, identity->birth_ns, true);
    source->number = number;
    source->own = -1;
    source->size = (uint64_t)status.st_size;
    return source->file != NO_RECORD;
}

static void done_with(struct source *source)
{
    if (source->own >= 0)
        close(source->own);
}

static bool is_readable(struct source *source)
{
    if (source->own >= 0 || (fcntl(source->number, F_GETFL) & O_ACCMODE) != O_WRONLY)
        return true;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", source->number);
    source->own = open(path, O_RDONLY | O_CLOEXEC);
    if (source->own < 0)
        return false;
    source->number = source->own;
    return true;
}

/* Read a page into a record's room; what lies beyond `end` in it is not there yet. */
static bool read_page(struct source *source, uint64_t page, uint64_t end, uint32_t number)
{
    char *slot = slot_at(number);
    if (!is_readable(source))
        return false;
    ssize_t got = pread(source->number, slot, PAGE_BYTES, (off_t)(page << PAGE_SHIFT));
    if (got < 0)
        return false;
    uint64_t start = page << PAGE_SHIFT, whole = (uint64_t)got;
    if (end < start + whole)
        whole = end > start ? end - start : 0;
    memset(slot + whole, 0, PAGE_BYTES - whole);
    return true;
}

static void keep_content(struct source *source, uint64_t page, uint64_t sent)
{
    uint32_t number = journal_reserve(journal->last_ns);
    if (number == NO_RECORD)
        return;
    if (read_page(source, page, sent, number))
        journal_publish(number, source->file, (uint32_t)page, KEPT_CONTENT, 0);
    else
        word_add(&journal->unkept_count, 1);
}

/* The part of a page that was there is about to change, too. */
static void keep_beginning(struct source *source, uint64_t page, uint32_t number)
{
    struct record *record = record_at(number);
    if (read_page(source, page, (page << PAGE_SHIFT) + record->value, number))
        atomic_store(&record->kind, KEPT_CONTENT);
    else
        word_add(&journal->unkept_count, 1);
}

static void keep_page(struct source *source, uint64_t page, uint64_t sent, uint64_t offset)
{
    uint64_t start = page << PAGE_SHIFT;
    uint32_t head = journal_head(source->file, (uint32_t)page);
    if (head != NO_RECORD && word_load(&record_at(head)->done_ns) == 0) {
        if (atomic_load(&record_at(head)->kind) == KEPT_END &&
            offset < start + record_at(head)->value)
            keep_beginning(source, page, head);
        return;
    }
    if (start < sent && offset < sent) {
        keep_content(source, page, sent);
        return;
    }
    uint32_t number = journal_reserve(journal->last_ns);
    if (number != NO_RECORD)
        journal_publish(number, source->file, (uint32_t)page, KEPT_END,
                        start < sent ? sent - start : 0);
}

static void keep_size(struct source *source)
{
    uint32_t head = journal_head(source->file, SIZE_PAGE);
    if (head != NO_RECORD && word_load(&record_at(head)->done_ns) == 0)
        return;
    uint32_t number = journal_reserve(journal->last_ns);
    if (number != NO_RECORD)
        journal_publish(number, source->file, SIZE_PAGE, KEPT_SIZE, source->size);
}

static struct file_identity identity_in(struct descriptor *entry)
{
    struct file *file = file_at(state, entry->id.place);
    return (struct file_identity){.device = word_load(&file->device),
                                  .inode = word_load(&file->inode),
                                  .birth_ns = word_load(&file->birth_ns)};
}

void keep_write(int number, struct descriptor *entry, uint64_t offset, uint64_t length)
{
    struct source source;
    struct file_identity identity = identity_in(entry);
    if (length == 0 || !source_of(number, &identity, &source))
        return;
    off64_t at = offset == AT_OFFSET ? lseek64(number, 0, SEEK_CUR) : (off64_t)offset;
    /* Linux appends whatever the offset. */
    offset = entry->flags & APPENDS ? source.size : (uint64_t)at;
    uint64_t end = offset + length;
    if (at >= 0) {
        uint64_t sent = journal_sent_size(source.file, source.size);
        if (end > source.size)
            keep_size(&source);
        journal_file_at(source.file)->size_bytes = end > source.size ? end : source.size;
        for (uint64_t page = offset >> PAGE_SHIFT; page < end_page(offset, length); page++)
            keep_page(&source, page, sent, offset);
    }
    done_with(&source);
}

/* Pages at the end go; that commits as metadata does, with no write-back of theirs. */
static void keep_cut_off(struct source *source, uint64_t size_bytes)
{
    uint64_t sent = journal_sent_size(source->file, source->size);
    uint64_t from = size_bytes >> PAGE_SHIFT, to = end_page(0, source->size);
    bool keeps = to - from <= journal->records_limit_count / LARGEST_PART;
    uint64_t done_ns = keeps ? commit_after(journal->last_ns) : journal->last_ns;
    if (keeps) {
        for (uint64_t page = from; page < to; page++) {
            keep_page(source, page, sent, size_bytes);
            uint32_t head = journal_head(source->file, (uint32_t)page);
            if (head != NO_RECORD && word_load(&record_at(head)->done_ns) == 0)
                journal_settle(head, done_ns);
        }
    }
    keep_size(source);
    uint32_t head = journal_head(source->file, SIZE_PAGE);
    if (head != NO_RECORD && word_load(&record_at(head)->done_ns) == 0)
        journal_settle(head, done_ns);
    if (!keeps)
        journal_synced(journal_file_at(source->file)->device,
                       journal_file_at(source->file)->inode,
                       journal_file_at(source->file)->birth_ns, done_ns);
}

static void keep_resizing(struct source *source, uint64_t size_bytes)
{
    if (size_bytes > source->size)
        keep_size(source);
    else if (size_bytes < source->size)
        keep_cut_off(source, size_bytes);
    journal_file_at(source->file)->size_bytes = size_bytes;
    done_with(source);
}

void keep_resize(int number, struct descriptor *entry, uint64_t size_bytes)
{
    struct source source;
    struct file_identity identity = identity_in(entry);
    if (source_of(number, &identity, &source))
        keep_resizing(&source, size_bytes);
}

void keep_truncate(const char *path, uint64_t size_bytes)
{
    struct source source;
    struct file_identity identity;
    int number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (number < 0) {
        /* It may be written but not read. */
        if (errno == EACCES && access(path, W_OK) == 0 && path_is_emulated(AT_FDCWD, path))
            word_add(&journal->unkept_count, 1);
        return;
    }
    if (path_is_emulated(AT_FDCWD, path) && identity_of(number, "", AT_EMPTY_PATH, &identity) &&
        source_of(number, &identity, &source))
        keep_resizing(&source, size_bytes);
    close(number);
}

void keep_allocation(int number, struct descriptor *entry, int mode, uint64_t offset,
                     uint64_t length)
{
    struct stat status;
    if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
        word_add(&journal->unkept_count, 1);
        return;
    }
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        keep_write(number, entry, offset, length);
    bool longer = !(mode & FALLOC_FL_KEEP_SIZE) && fstat(number, &status) == 0 &&
                  offset + length > (uint64_t)status.st_size;
    if (longer)
        keep_resize(number, entry, offset + length);
}

void keep_unseen(int number, struct descriptor *entry)
{
    struct source source;
    struct file_identity identity = identity_in(entry);
    entry->flags |= UNSEEN;
    if (!source_of(number, &identity, &source))
        return;
    keep_size(&source);
    journal_file_at(source.file)->size_bytes = source.size;
    done_with(&source);
}

/* ---- names */

/* Noted before it happens: what did not happen is found undone already. */
static struct name_change *note(enum changed operation, const char *from, const char *to)
{
    if (strlen(from) >= NAME_BYTES || strlen(to) >= NAME_BYTES)
        return NULL;
    struct name_change *change = names_room(journal->last_ns);
    change->operation = operation;
    strcpy(change->from, from);
    strcpy(change->to, to);
    return change;
}

/* Another name keeps a file that loses its own. */
static void keep_file(struct name_change *change, const char *path)
{
    struct stat status;
    char kept[ROOT_BYTES + 32];
    if (lstat(path, &status) != 0 || S_ISDIR(status.st_mode))
        return;
    uint64_t number = word_load(&journal->names_next);
    kept_path(kept, sizeof kept, number);
    unlink(kept);
    if (link(path, kept) == 0)
        change->kept = number;
    else
        word_add(&journal->unkept_count, 1);
}

struct name_change *keep_new_name(int directory, const char *path, bool is_directory)
{
    char real[PATH_MAX];
    struct stat status;
    if (!name_is_emulated(directory, path, real) || lstat(real, &status) == 0)
        return NULL;
    struct name_change *change = note(is_directory ? DIRECTORY_MADE : MADE, real, "");
    if (change)
        names_added();
    return change;
}

struct name_change *keep_opening(int directory, const char *path, int flags)
{
    char real[PATH_MAX];
    struct stat status;
    if (!name_is_emulated(directory, path, real))
        return NULL;
    if (stat(real, &status) != 0)
        return flags & O_CREAT ? keep_new_name(AT_FDCWD, real, false) : NULL;
    if ((flags & O_TRUNC) && S_ISREG(status.st_mode) && status.st_size > 0)
        keep_truncate(real, 0);
    return NULL;
}

struct name_change *keep_removal(int directory, const char *path)
{
    char real[PATH_MAX];
    struct stat status;
    if (!name_is_emulated(directory, path, real) || lstat(real, &status) != 0)
        return NULL;
    bool is_directory = S_ISDIR(status.st_mode);
    struct name_change *change = note(is_directory ? DIRECTORY_REMOVED : REMOVED, real, "");
    if (!change)
        return NULL;
    change->mode = status.st_mode & 07777;
    change->owner = status.st_uid;
    change->group = status.st_gid;
    if (!is_directory)
        keep_file(change, real);
    names_added();
    return change;
}

struct name_change *keep_move(int from_directory, const char *from, int to_directory,
                              const char *to)
{
    char real[PATH_MAX], target[PATH_MAX];
    struct stat old, new;
    if (!name_is_emulated(from_directory, from, real) ||
        !name_is_emulated(to_directory, to, target) || lstat(real, &old) != 0)
        return NULL;
    bool replaces = lstat(target, &new) == 0;
    /* Two names of one file: the call does nothing. */
    if (replaces && old.st_ino == new.st_ino && old.st_dev == new.st_dev)
        return NULL;
    struct name_change *change = note(MOVED, real, target);
    if (!change)
        return NULL;
    if (replaces)
        keep_file(change, target);
    names_added();
    return change;
}

void keep_done(struct name_change *change, bool happened)
{
    struct file_identity identity;
    if (!change)
        return;
    if (happened) {
        /* An inode's number may be that of a file long gone, of which records are left. */
        if (change->operation == MADE &&
            identity_of(AT_FDCWD, change->from, AT_SYMLINK_NOFOLLOW, &identity)) {
            change->inode = identity.inode;
            struct stat status;
            if (lstat(change->from, &status) == 0 && status.st_nlink == 1)
                journal_drop(identity.device, identity.inode, identity.birth_ns);
        }
        return;
    }
    if (change->kept) {
        char kept[ROOT_BYTES + 32];
        kept_path(kept, sizeof kept, change->kept);
        unlink(kept);
    }
    atomic_fetch_sub(&journal->names_next, 1);
}
