/* The undo journal: records, their index, and what settles them. See storage_journal.h. */
#define _GNU_SOURCE
#include "storage_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_WINDOW 32

struct journal *journal;

/* ---- making and opening */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static uint32_t *buckets(void)
{
    return (uint32_t *)((char *)journal + journal->buckets_at);
}

static void lay_out(struct journal *made, uint64_t records_count, uint64_t files_count)
{
    made->records_limit_count = records_count;
    made->files_limit_count = files_count;
    made->buckets_count = 1;
    while (made->buckets_count < records_count)
        made->buckets_count <<= 1;
    made->files_at = aligned(sizeof(struct journal));
    made->buckets_at = aligned(made->files_at + files_count * sizeof(struct journal_file));
    made->records_at = aligned(made->buckets_at + made->buckets_count * sizeof(uint32_t));
    made->slots_at = aligned(made->records_at + records_count * sizeof(struct record));
    made->total_bytes = made->slots_at + records_count * PAGE_BYTES;
}

const char *journal_create(const char *state_path, const char *directory, uint64_t records_count,
                           uint64_t files_count)
{
    static struct journal measure;
    char path[ROOT_BYTES + sizeof JOURNAL_SUFFIX];
    snprintf(path, sizeof path, "%.4095s%s", state_path, JOURNAL_SUFFIX);
    lay_out(&measure, records_count, files_count);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return strerror(errno);
    /* Reserved, as the state is: later there is nobody who could be told. */
    int error = posix_fallocate(descriptor, 0, (off_t)measure.total_bytes);
    if (error == 0) {
        journal = mmap(NULL, measure.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       descriptor, 0);
        error = journal == MAP_FAILED ? errno : 0;
    }
    close(descriptor);
    if (error) {
        unlink(path);
        journal = NULL;
        return strerror(error);
    }
    lay_out(journal, records_count, files_count);
    journal->header_bytes = sizeof(struct journal);
    strcpy(journal->directory, directory);
    journal->names_first = journal->names_next = 1;
    journal_recover();
    journal->magic = JOURNAL_MAGIC;
    return NULL;
}

bool journal_open(const char *state_path, const char **why)
{
    char path[ROOT_BYTES + sizeof JOURNAL_SUFFIX];
    snprintf(path, sizeof path, "%.4095s%s", state_path, JOURNAL_SUFFIX);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        *why = strerror(errno);
        return errno == ENOENT;
    }
    struct stat status;
    struct journal *found = MAP_FAILED;
    *why = "its journal of power cuts is of another version";
    if (fstat(descriptor, &status) == 0 && (uint64_t)status.st_size >= sizeof(struct journal))
        found = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                     descriptor, 0);
    close(descriptor);
    if (found == MAP_FAILED)
        return false;
    if (found->magic == JOURNAL_MAGIC && found->header_bytes == sizeof(struct journal) &&
        found->total_bytes <= (uint64_t)status.st_size) {
        journal = found;
        return true;
    }
    munmap(found, (size_t)status.st_size);
    return false;
}

/* ---- the index */

static uint32_t *bucket_of(uint32_t file, uint32_t page)
{
    uint64_t key = (uint64_t)file << 32 | page;
    return &buckets()[mix(key) & (journal->buckets_count - 1)];
}

static void list(uint32_t number)
{
    struct record *record = record_at(number);
    struct journal_file *file = journal_file_at(record->file);
    record->file_before = NO_RECORD;
    record->file_after = file->first;
    if (file->first != NO_RECORD)
        record_at(file->first)->file_before = number;
    file->first = number;
    record->listed = 1;
}

static void unlist(uint32_t number)
{
    struct record *record = record_at(number);
    if (!record->listed)
        return;
    if (record->file_before == NO_RECORD)
        journal_file_at(record->file)->first = record->file_after;
    else
        record_at(record->file_before)->file_after = record->file_after;
    if (record->file_after != NO_RECORD)
        record_at(record->file_after)->file_before = record->file_before;
    record->listed = 0;
}

/* Newer before older, wherever in time it is put in. */
static void put_in(uint32_t number)
{
    struct record *record = record_at(number);
    uint32_t *link = bucket_of(record->file, record->page);
    while (*link != NO_RECORD && record_at(*link)->sequence > record->sequence)
        link = &record_at(*link)->next;
    record->next = *link;
    *link = number;
    list(number);
    journal_file_at(record->file)->records_count++;
}

static void release(uint32_t number)
{
    struct record *record = record_at(number);
    uint32_t *link = bucket_of(record->file, record->page);
    word_store(&record->used, 0);
    while (*link != NO_RECORD && *link != number)
        link = &record_at(*link)->next;
    if (*link == number)
        *link = record->next;
    unlist(number);
    journal_file_at(record->file)->records_count--;
}

void journal_recover(void)
{
    memset(buckets(), 0xff, journal->buckets_count * sizeof(uint32_t));
    for (uint64_t i = 0; i < journal->files_limit_count; i++) {
        journal_file_at((uint32_t)i)->first = NO_RECORD;
        journal_file_at((uint32_t)i)->records_count = 0;
    }
    for (uint64_t i = 0; i < journal->records_limit_count; i++) {
        record_at((uint32_t)i)->listed = 0;
        if (word_load(&record_at((uint32_t)i)->used))
            put_in((uint32_t)i);
    }
}

uint32_t journal_find(uint64_t device, uint64_t inode, uint64_t birth_ns, bool make)
{
    uint64_t mask = journal->files_limit_count - 1, from = mix(inode ^ mix(device));
    uint32_t unused = NO_RECORD;
    for (uint64_t i = 0; i < FILE_WINDOW; i++) {
        uint32_t number = (uint32_t)((from + i) & mask);
        struct journal_file *file = journal_file_at(number);
        if (file->inode == inode && file->device == device && file->birth_ns == birth_ns)
            return number;
        if (unused == NO_RECORD && file->records_count == 0)
            unused = number;
    }
    if (!make)
        return NO_RECORD;
    if (unused == NO_RECORD) {
        word_add(&journal->unkept_count, 1);
        return NO_RECORD;
    }
    /* No record names it, so one who dies here leaves a file without records. */
    struct journal_file *file = journal_file_at(unused);
    *file = (struct journal_file){
        .device = device, .inode = inode, .birth_ns = birth_ns, .first = NO_RECORD};
    return unused;
}

static uint32_t next_of(uint32_t number, uint32_t file, uint32_t page)
{
    while (number != NO_RECORD &&
           (record_at(number)->file != file || record_at(number)->page != page))
        number = record_at(number)->next;
    return number;
}

uint32_t journal_head(uint32_t file, uint32_t page)
{
    return next_of(*bucket_of(file, page), file, page);
}

uint32_t journal_older(uint32_t number)
{
    struct record *record = record_at(number);
    return next_of(record->next, record->file, record->page);
}

/* ---- keeping */

uint32_t journal_reserve(uint64_t now_ns)
{
    for (uint64_t i = 0; i < journal->records_limit_count; i++) {
        uint32_t number = (uint32_t)(journal->cursor++ % journal->records_limit_count);
        struct record *record = record_at(number);
        uint64_t done_ns = word_load(&record->done_ns);
        /* What came after it is on the device, and so is what came after all older ones of the
         * page: it only says that nothing is to be put back, as having none does. */
        if (word_load(&record->used) && done_ns && done_ns <= now_ns)
            release(number);
        if (!word_load(&record->used))
            return number;
    }
    word_add(&journal->unkept_count, 1);
    return NO_RECORD;
}

void journal_publish(uint32_t number, uint32_t file, uint32_t page, enum kept kind, uint64_t value)
{
    struct record *record = record_at(number);
    record->sequence = ++journal->sequence;
    word_store(&record->done_ns, 0);
    record->value = value;
    record->file = file;
    record->page = page;
    atomic_store(&record->kind, kind);
    atomic_store(&record->used, 1);
    put_in(number);
}

void journal_settle(uint32_t number, uint64_t done_ns)
{
    struct record *record = record_at(number);
    uint32_t older = journal_older(number);
    /* Two write-backs of a page never overtake each other. */
    if (older != NO_RECORD && word_load(&record_at(older)->done_ns) > done_ns)
        done_ns = word_load(&record_at(older)->done_ns);
    word_store(&record->done_ns, done_ns);
}

uint64_t journal_sent_size(uint32_t file, uint64_t size)
{
    uint32_t head = journal_head(file, SIZE_PAGE);
    if (head == NO_RECORD || word_load(&record_at(head)->done_ns))
        return size;
    return record_at(head)->value;
}

/* ---- settling */

/* Nothing of a chain is later than a sync that covers it. */
static void hasten(uint32_t number, uint64_t done_ns)
{
    for (; number != NO_RECORD; number = journal_older(number))
        if (word_load(&record_at(number)->done_ns) > done_ns)
            word_store(&record_at(number)->done_ns, done_ns);
}

/* The file is `end` bytes long on the device, of `size` in all. */
static void size_sent(uint32_t file, uint64_t end, uint64_t size, uint64_t done_ns, bool synced)
{
    uint32_t head = journal_head(file, SIZE_PAGE);
    if (synced)
        hasten(head, done_ns);
    if (head == NO_RECORD || word_load(&record_at(head)->done_ns) || end <= record_at(head)->value)
        return;
    uint64_t commit_ns = synced ? done_ns : commit_after(done_ns);
    uint32_t older = journal_older(head);
    if (end < size && older != NO_RECORD && word_load(&record_at(older)->done_ns) == commit_ns) {
        /* In the same commit as what was sent before. */
        record_at(head)->value = end;
        return;
    }
    uint32_t rest = end < size ? journal_reserve(journal->last_ns) : NO_RECORD;
    journal_settle(head, commit_ns);
    if (rest != NO_RECORD)
        journal_publish(rest, file, SIZE_PAGE, KEPT_SIZE, end);
}

void journal_sent(uint64_t device, uint64_t inode, uint64_t birth_ns, uint64_t from, uint64_t to,
                  uint64_t done_ns, bool synced)
{
    uint32_t file = journal_find(device, inode, birth_ns, false);
    if (file == NO_RECORD || journal_file_at(file)->records_count == 0)
        return;
    for (uint64_t page = from; page < to; page++) {
        uint32_t head = journal_head(file, (uint32_t)page);
        if (head != NO_RECORD && word_load(&record_at(head)->done_ns) == 0)
            journal_settle(head, done_ns);
        if (synced)
            hasten(head, done_ns);
    }
    uint64_t end = to << PAGE_SHIFT, size = journal_file_at(file)->size_bytes;
    size_sent(file, end < size ? end : size, size, done_ns, synced);
}

bool journal_synced(uint64_t device, uint64_t inode, uint64_t birth_ns, uint64_t done_ns)
{
    bool metadata = names_wait(inode, done_ns);
    uint32_t file = journal_find(device, inode, birth_ns, false);
    if (file == NO_RECORD)
        return metadata;
    for (uint32_t number; (number = journal_file_at(file)->first) != NO_RECORD;) {
        struct record *record = record_at(number);
        uint64_t before_ns = word_load(&record->done_ns);
        if (before_ns == 0 || before_ns > done_ns) {
            word_store(&record->done_ns, done_ns);
            metadata = metadata || record->page == SIZE_PAGE;
        }
        unlist(number);
    }
    return metadata;
}

void journal_synced_all(uint64_t done_ns)
{
    for (uint64_t i = 0; i < journal->records_limit_count; i++) {
        struct record *record = record_at((uint32_t)i);
        uint64_t before_ns = word_load(&record->done_ns);
        if (word_load(&record->used) && (before_ns == 0 || before_ns > done_ns))
            word_store(&record->done_ns, done_ns);
    }
    names_commit(done_ns);
}

void journal_drop(uint64_t device, uint64_t inode, uint64_t birth_ns)
{
    uint32_t file = journal_find(device, inode, birth_ns, false);
    if (file == NO_RECORD || journal_file_at(file)->records_count == 0)
        return;
    for (uint64_t i = 0; i < journal->records_limit_count; i++)
        if (word_load(&record_at((uint32_t)i)->used) && record_at((uint32_t)i)->file == file)
            release((uint32_t)i);
}
