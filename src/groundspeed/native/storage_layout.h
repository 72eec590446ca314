/* The shared memory of an emulated storage device: its layout, and nothing that acts.
 *
 * One file, mapped by every process of the server. Any of them may be killed at any instruction, so
 * there are two kinds of data only:
 *   - words that are changed by one atomic operation and are right after each (limits, slots, page
 *     cache, counters);
 *   - words behind `lock`, a robust mutex. What is counted there can be counted again from the
 *     bitmaps of dirty pages; the process that finds its owner dead does that (dirty_recover).
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
 */
#ifndef GROUNDSPEED_STORAGE_LAYOUT_H
#define GROUNDSPEED_STORAGE_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_MAGIC UINT64_C(0x6773746f72616765) /* "gstorage" */
#define STATE_FORMAT 1u

#define PAGE_SHIFT 12
#define PAGE_BYTES (UINT64_C(1) << PAGE_SHIFT)
#define MAX_ROOTS 4
#define ROOT_BYTES 4096
#define MAX_REPLICAS 8
#define MAX_SLOTS 256
#define MAX_LIMITS 8
#define TABLE_LENGTH 1024
#define COUNTER_SHARDS 32
#define SECONDS_KEPT 3600
#define PIDS_KEPT 64
#define RING_LENGTH 1024 /* requests of write-back in flight; a power of two */

/* The page cache is set-associative, 8 pages a set, and a page may be in either of two sets. True
 * recency over all pages would need a list that several words hold together; within a set, one word
 * a page says all. */
#define CACHE_WAYS 8

/* Dirty pages are bits of chunks of 512 pages (2 MiB). A chunk is looked for in a window of so many
 * places after its hash, never further: no chain that a dead process could leave broken. */
#define CHUNK_PAGES 512
#define CHUNK_SHIFT 9
#define CHUNK_WORDS (CHUNK_PAGES / 64)
#define CHUNK_WINDOW 16

typedef _Atomic uint64_t atomic_word;

enum direction { ON_READ = 1, ON_WRITE = 2, ON_BOTH = 3 };
enum counted { OF_REQUESTS, OF_BYTES };
enum kind { KIND_READ, KIND_WRITE, KIND_SYNC, KINDS };

struct limit {
    uint32_t on; /* enum direction */
    uint32_t of; /* enum counted */
    double rate_per_s;
    double credits_count;
    double start_credits_count;
    double unit_ns;        /* what one request or byte takes at the rate */
    uint64_t tolerance_ns; /* the credits, as time at the rate */
    uint64_t slice_ns;     /* credits of so much time come at once, 0: one by one */
};

struct latency_table {
    uint32_t costs; /* 0: every value is 0 */
    uint32_t unused;
    uint64_t ns[TABLE_LENGTH];
};

/* What does not change after the state was made. */
struct settings {
    char roots[MAX_ROOTS][ROOT_BYTES];
    uint32_t roots_count;
    uint32_t replicas_count;
    uint32_t acknowledge_count;
    uint32_t reads_are_local;
    uint32_t local_replicas_count;
    uint32_t front_parallel_count;
    uint32_t device_parallel_count;
    uint32_t front_limits_count;
    uint32_t device_limits_count;
    uint32_t writeback_depth_count;
    uint64_t cache_bytes;
    uint64_t dirty_limit_pages;
    uint64_t dirty_background_pages;
    uint64_t dirty_expire_ns;
    uint64_t readahead_pages;
    uint64_t request_pages;
    uint64_t files_limit_count; /* a power of two */
    uint64_t link_bytes_per_s;
    uint64_t seed;
    uint64_t stall_after_ns;
    uint64_t stall_ns;
    uint64_t device_bytes;
    uint64_t work_ns[KINDS]; /* what a call that waits keeps the processor busy */
    double read_error_ratio;
    double write_error_ratio;
    struct limit front_limits[MAX_LIMITS];
    struct limit device_limits[MAX_LIMITS];
    struct latency_table front[KINDS];
    struct latency_table device[KINDS];
    struct latency_table round_trip;
};

/* The moments at which servers, limits and the network are next free. */
struct tier {
    atomic_word limit_free_ns[MAX_LIMITS];
    atomic_word slot_free_ns[MAX_SLOTS];
    uint8_t apart[64];
};

struct counters {
    atomic_word read_calls, read_bytes, hit_pages, miss_pages, read_requests, read_request_bytes,
        read_waited_ns;
    atomic_word write_calls, write_bytes, write_requests, write_request_bytes, write_waited_ns;
    atomic_word sync_calls, sync_waited_ns;
    atomic_word readahead_pages, late_count, late_ns, throttled_ns, errors, full, refused;
    uint8_t apart[64];
};

/* What one second of the device was like; `second` is its number, 0 for never. */
struct second {
    atomic_word second, read_requests, write_requests, bytes, depth_sum_ns, throttled_ns;
};

/* Keys of a set fill one cache line: what is cached is found without touching the stamps of what is
 * not. */
struct page_set {
    atomic_word keys[CACHE_WAYS];
    /* When each was last used; in the future while it is still on its way from the device. */
    atomic_word stamps_ns[CACHE_WAYS];
};

struct file {
    /* Changed behind the lock; read without it, so a number that counts its owners goes with it. */
    atomic_word device, inode, birth_ns;
    atomic_word generation;
    atomic_word size_bytes;
    atomic_word used_ns;
    atomic_word written_until_ns; /* when the last write-back of it ends */
    atomic_word failed;           /* a write-back failed and nobody was told yet */
    atomic_word dirty_pages;
    atomic_word first_chunk, last_chunk; /* where its dirty pages are */
};

struct in_flight {
    uint64_t done_ns;
    uint64_t pages;
};

struct state {
    uint64_t magic;
    uint32_t format;
    uint32_t header_bytes;
    uint64_t total_bytes;
    uint64_t files_at, pages_at, chunk_keys_at, chunk_bits_at, chunk_since_at; /* offsets */
    uint64_t cache_sets;
    uint64_t chunks_limit_count; /* a power of two */
    struct settings settings;

    atomic_word attached_count;
    atomic_word pids[PIDS_KEPT];
    atomic_word draws;
    atomic_word first_request_ns;
    atomic_word used_bytes;
    atomic_word files_count;
    atomic_word files_forgotten_count;
    atomic_word link_free_ns;
    struct tier front;
    struct tier replicas[MAX_REPLICAS];
    struct counters counters[COUNTER_SHARDS];
    struct second seconds[SECONDS_KEPT];

    pthread_mutex_t lock;
    /* Behind the lock; the counts are read without it. */
    atomic_word dirty_pages;
    atomic_word in_flight_pages;
    atomic_word dirty_peak_pages;
    uint64_t ring_head, ring_tail;
    struct in_flight ring[RING_LENGTH];
    uint64_t sweep_at;        /* the next chunk of the background write-back */
    uint64_t sweep_left;      /* chunks until this sweep ends */
    uint64_t sweep_before_ns; /* chunks dirtied before are written, whatever the amount */
    uint64_t background_ns;   /* how far the background write-back has been played */
    uint64_t next_periodic_ns;
};

static inline struct file *files_of(struct state *state)
{
    return (struct file *)((char *)state + state->files_at);
}

static inline struct page_set *page_sets_of(struct state *state)
{
    return (struct page_set *)((char *)state + state->pages_at);
}

static inline uint64_t *chunk_keys_of(struct state *state)
{
    return (uint64_t *)((char *)state + state->chunk_keys_at);
}

static inline uint64_t *chunk_bits_of(struct state *state, uint64_t chunk)
{
    return (uint64_t *)((char *)state + state->chunk_bits_at) + chunk * CHUNK_WORDS;
}

static inline uint64_t *chunk_since_of(struct state *state)
{
    return (uint64_t *)((char *)state + state->chunk_since_at);
}

/* A file as processes name it. The generation tells whether its place was given to another since. */
struct file_id {
    uint32_t place;
    uint32_t generation; /* 0: no file */
};

#define GENERATION_MASK UINT32_C(0xfff)

/* What names a page or a chunk of a file: place of the file (20 bits), generation (12), number (32). */
static inline uint64_t key_of(struct file_id id, uint64_t number)
{
    return (uint64_t)id.place << 44 | (uint64_t)(id.generation & GENERATION_MASK) << 32 |
           (number & UINT32_MAX);
}

static inline uint64_t end_page(uint64_t offset, uint64_t length)
{
    return (offset + length + PAGE_BYTES - 1) >> PAGE_SHIFT;
}

static inline struct file *file_at(struct state *state, uint32_t place)
{
    return &files_of(state)[place];
}

static inline uint64_t word_load(atomic_word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* What a call owes the device. */
struct owed {
    uint64_t done_ns;  /* 0: nothing is owed */
    uint64_t again_ns; /* not 0: not finished; call again then */
    bool failed;
    uint32_t hit_pages, miss_pages;
};

static inline void word_store(atomic_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline void word_add(atomic_word *word, uint64_t value)
{
    atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

/* Raise a word to a value; it never falls. */
static inline void word_raise(atomic_word *word, uint64_t value)
{
    uint64_t seen = word_load(word);
    while (seen < value &&
           !atomic_compare_exchange_weak_explicit(word, &seen, value, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

/* splitmix64 (Steele, Lea, Flood 2014): every bit of the input moves every bit of the output. */
static inline uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

#endif
