/* What a power cut would take back: an undo journal, kept only where that was asked for.
 *
 * The real calls write at once; only time is emulated. So before a page that is on the device is
 * changed, what it held is kept here as a record, and when the model has written the page back the
 * record gets the moment from which it is not needed. A power cut at a moment C puts back what was
 * not on the device by then (storage_cut.c). Records of one page are a chain, newest first: a page
 * may be written again while its write-back or fsync is under way, and then both earlier states
 * count. It is an undo log as of a database, and ends like one: a record is filled first and declared
 * used last, so one of a process that was killed in the middle is no record; the real write comes
 * after it.
 *
 * The journal is a file beside the state, mapped by all, and changed behind the state's lock only,
 * which is held over "keep, then write" too. Whoever finds the lock's owner dead makes the index
 * again from the records.
 *
 * Metadata has the journal of a file system: what was created, renamed, removed or made longer is
 * durable when it commits. A sync commits, and COMMIT_NS after the first change since it commits by
 * itself.
 */
#ifndef GROUNDSPEED_STORAGE_JOURNAL_H
#define GROUNDSPEED_STORAGE_JOURNAL_H

#include "storage_files.h"

#define JOURNAL_MAGIC UINT64_C(0x6773756e646f6a31) /* "gsundoj1" */
#define JOURNAL_SUFFIX ".power-cut"
#define COMMIT_NS UINT64_C(5000000000) /* commit= of ext4: 5 s */
#define NAMES_KEPT 4096
#define NAME_BYTES 1024
#define SIZE_PAGE UINT32_MAX /* the "page" whose content is how long the file is */
#define NO_RECORD UINT32_MAX

enum kept {
    KEPT_CONTENT, /* the page as it was is in the record's slot */
    KEPT_END,     /* the page ended after `value` bytes: from there on it was not */
    KEPT_SIZE,    /* the file was `value` bytes long */
};

struct record {
    atomic_word used;     /* written last; 0: nothing of this record is true */
    uint64_t sequence;    /* later ones of a page are newer */
    atomic_word done_ns;  /* since when what came after is on the device; 0: not sent to it */
    uint64_t value;
    uint32_t file, page;
    atomic_uint kind;
    /* The index; made again from the words above when its writer died. */
    uint32_t next;                  /* of this bucket, newer before older */
    uint32_t file_before, file_after; /* of what is not settled of a file */
    uint32_t listed;
};

struct journal_file {
    uint64_t device, inode, birth_ns; /* inode 0: free */
    uint64_t size_bytes;              /* how long it is once the write under way has ended */
    uint32_t records_count;
    uint32_t first; /* of what is not settled of it */
};

enum changed { MADE, REMOVED, MOVED, DIRECTORY_MADE, DIRECTORY_REMOVED };

/* One change of a name that a power cut would take back, in the order of happening. */
struct name_change {
    uint64_t done_ns; /* when it commits */
    uint64_t inode;
    uint32_t operation;
    uint32_t mode, owner, group;
    uint64_t kept; /* name of the removed file in the journal's directory; 0: none */
    char from[NAME_BYTES], to[NAME_BYTES];
};

struct journal {
    uint64_t magic;
    uint32_t header_bytes, unused;
    uint64_t total_bytes;
    uint64_t files_at, buckets_at, records_at, slots_at; /* offsets */
    uint64_t files_limit_count;                           /* a power of two */
    uint64_t records_limit_count, buckets_count;          /* the latter a power of two */
    char directory[ROOT_BYTES]; /* where removed files are kept until their removal commits */
    atomic_word last_ns;        /* the last moment at which a process was seen alive */
    atomic_word unkept_count;   /* what could not be kept: nothing can be told any more */
    uint64_t sequence;
    uint64_t cursor;    /* where room is looked for next */
    uint64_t commit_ns; /* when the commit is that takes what changes now */
    /* Behind the lock: changes [first, next) are kept, each at its number % NAMES_KEPT. */
    atomic_word names_first, names_next;
    struct name_change names[NAMES_KEPT];
};

/* NULL: the mode is off, and nothing below is to be called. */
extern struct journal *journal;

/* Make the journal of a state; NULL or what is wrong. Open it where there is one; false with *why
 * where there is one that cannot be used. */
const char *journal_create(const char *state_path, const char *directory, uint64_t records_count,
                           uint64_t files_count);
bool journal_open(const char *state_path, const char **why);

/* ---- all of these behind the lock */

static inline struct record *record_at(uint32_t number)
{
    return (struct record *)((char *)journal + journal->records_at) + number;
}

static inline char *slot_at(uint32_t number)
{
    return (char *)journal + journal->slots_at + (uint64_t)number * PAGE_BYTES;
}

static inline struct journal_file *journal_file_at(uint32_t number)
{
    return (struct journal_file *)((char *)journal + journal->files_at) + number;
}

/* The index again, after a process died in the middle of a change. */
void journal_recover(void);
/* A file's number; NO_RECORD where it has none, and with `make`, where there was no room. */
uint32_t journal_find(uint64_t device, uint64_t inode, uint64_t birth_ns, bool make);
/* The newest record of a page and the one before a record; NO_RECORD: none. */
uint32_t journal_head(uint32_t file, uint32_t page);
uint32_t journal_older(uint32_t number);
/* A free record for a page, its slot to be filled; then it counts. NO_RECORD: no room, noted. */
uint32_t journal_reserve(uint64_t now_ns);
void journal_publish(uint32_t number, uint32_t file, uint32_t page, enum kept kind, uint64_t value);
/* What came after a record is on the device from a moment on. */
void journal_settle(uint32_t number, uint64_t done_ns);
/* How long the file is on the device or on its way there; `size` is how long it really is. */
uint64_t journal_sent_size(uint32_t file, uint64_t size);

/* The model sent pages [from, to) of a file; `synced` with its metadata. */
void journal_sent(uint64_t device, uint64_t inode, uint64_t birth_ns, uint64_t from, uint64_t to,
                  uint64_t done_ns, bool synced);
/* All of a file is durable at a moment. Tells whether its length or its name was not. */
bool journal_synced(uint64_t device, uint64_t inode, uint64_t birth_ns, uint64_t done_ns);
void journal_synced_all(uint64_t done_ns);
/* A file is gone for good, or its inode was given to a new one. */
void journal_drop(uint64_t device, uint64_t inode, uint64_t birth_ns);

/* When metadata that changes at a moment commits by itself. */
uint64_t commit_after(uint64_t at_ns);
/* Changes of names not yet committed become so at a moment. */
void names_commit(uint64_t done_ns);
/* Whether a file's own name waits for a commit. */
bool names_wait(uint64_t inode, uint64_t now_ns);
/* Room for one more; those committed by now are forgotten, with the files they removed. */
struct name_change *names_room(uint64_t now_ns);
void names_added(void);
/* The path of a removed file that is kept. */
void kept_path(char *path, size_t room, uint64_t kept);

static inline void journal_alive(uint64_t at_ns)
{
    if (journal)
        word_raise(&journal->last_ns, at_ns);
}

#endif
