/*
 * log_reader: reads the per-transaction logs of pgbench (-l), versions 13 to 18, into a histogram.
 *
 *   log_reader [--has-lag] [--has-retries] [--start-us EPOCH_US] [--seconds N] [--second-buckets] FILE...
 *   log_reader [the same] --follow DIR --prefix PREFIX [--tick-ms 200] [--await-start]
 *
 * What it does. Every line is
 *     client_id transaction_no time script_no time_epoch time_us [schedule_lag] [retries]
 * where `time` is microseconds, or one of the words failed, serialization, deadlock, skipped. The
 * latencies go into a log-linear histogram (the layout of HdrHistogram: exact below 2^7 us, then 128
 * buckets an octave, so a bucket's midpoint is within 1/256 of each value in it), one for each second
 * and one for all; count, sum, sum of squares, min and max are exact. The answer is NDJSON on stdout:
 * one "second" line for each second, in order, none left out (a stall is a zero, not a hole), a "so_far"
 * line once a second while following, and one "total" at the end.
 *
 * With --follow it reads DIR/PREFIX.* while pgbench writes them and gives the pages it has read back to
 * the file system by punching holes, so that a log on /dev/shm never grows, however long the run. It
 * ends when its standard input does: a parent that dies closes it too.
 *
 * Logs of several pgbenches, read by one reader each, are to add up to what one reader makes of all.
 * For that --second-buckets puts the histogram of each second into its line, with the exact sum and
 * minimum. And all have to count from the same moment, which nobody knows before all have begun: with
 * --await-start it says only when the log begins (a line "first"), and reads on once a line with the
 * EPOCH_US of second 0 came on its standard input. A line "?" there says that the log is complete: then
 * the answer is null where it is empty. Where the input ends before, second 0 is the first line's.
 *
 * What it refuses to do. It deletes no file, and punches none it was given by name. It does not guess:
 * a line which is not as pgbench writes it, a torn last one included, is counted as malformed and
 * otherwise ignored. It keeps no transaction: memory is bounded, and a second that must be closed early
 * for that turns its stragglers into `late` ones, which are in the totals and in no second. It follows
 * no symbolic link and reads nothing but regular files.
 *
 * Exit codes: 0 all was read; 1 something could not be read (said on stderr, totals are still given);
 * 2 wrong usage.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* LOG_READER_PORTABLE exists for the tests, which must reach the fallback on a machine with SSE2. */
#if defined(__SSE2__) && !defined(LOG_READER_PORTABLE)
#include <emmintrin.h>
#define HAVE_SSE2 1
#else
#define HAVE_SSE2 0
#endif

typedef unsigned __int128 u128;

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    SUB_BUCKET_BITS = 7,
    LARGEST_BITS = 40,
    BUCKETS = (LARGEST_BITS - SUB_BUCKET_BITS + 1) << SUB_BUCKET_BITS,
    /* Small enough to stay in the second-level cache between read() and the parser. */
    CHUNK_BYTES = 256 * 1024,
    /* The parser loads 64 bytes wherever a line starts, and the last may start near the end. */
    PADDING_BYTES = 128,
    /* Two hours of open seconds: pgbench flushes 4 KiB at a time, which a thread doing one
     * transaction in a minute fills in as much. A power of two, for the ring. */
    WINDOW_SECONDS = 8192,
    /* Files that are read, not followed, are kept within this of each other. */
    READ_AHEAD_SECONDS = 1024,
    SPARSE_FIRST = 32,
    SPARSE_LARGEST = 2048,
    PAGE_BYTES = 4096,
    /* Beyond the end of the run by more than this is a clock that jumped. */
    SLACK_SECONDS = 60,
    US_PER_SECOND = 1000000,
};

static const int64_t LATEST_START_US = 1000000000000000000;
static const uint64_t LARGEST_US = ((uint64_t)1 << LARGEST_BITS) - 1;
/* With the rest (buffers, the window's ring) this stays under half of the promised 64 MB. */
static const size_t OPEN_SECONDS_BYTES = 24u << 20;
/* Without --seconds: a week. Bounds the empty rows that one corrupt time can cause. */
static const int64_t DEFAULT_SECONDS = 7 * 86400;

/* ------------------------------------------------------------------ state -- */

struct tally {
    uint64_t count, failed, serialization, deadlock, skipped;
    uint64_t retried, retries, clamped;
    uint64_t min_us, max_us;
    u128 sum_us, sum_squares_us2;
};

/* A second keeps bucket numbers in a list until there are so many that counters are cheaper. */
struct second {
    struct tally tally;
    uint32_t *dense;
    uint16_t *sparse;
    uint32_t sparse_used, sparse_room;
};

struct log_file {
    char *name;
    int fd;
    bool punches; /* still worth trying */
    bool skipping; /* inside a line longer than a chunk */
    bool finished; /* nothing more will come: holds no second open */
    bool broken; /* read error */
    off_t offset, size, punched;
    int64_t reached; /* every later line is of this second or a later one */
};

struct reader {
    bool has_lag, has_retries, has_start, tells_buckets, is_asked;
    int64_t start_us, last_index_allowed;
    struct log_file *files;
    size_t file_count, file_room;

    struct tally total;
    uint64_t total_buckets[BUCKETS];
    struct second window[WINDOW_SECONDS]; /* a ring by index; `oldest` is the first still open */
    int64_t oldest, newest;
    size_t held_bytes;
    /* Where lines go which belong to no open second; poured into the totals after each chunk. */
    struct second late_second, outside_second;
    uint64_t late, out_of_range, malformed, punch_failures, bytes;
    int64_t first_us, last_us;

    uint64_t lag_buckets[BUCKETS];
    uint64_t lag_count, lag_max_us;
    u128 lag_sum_us;

    int exit_code;
    uint64_t scratch[BUCKETS];
    char chunk[CHUNK_BYTES + PADDING_BYTES];
};

static const struct tally EMPTY_TALLY = {.min_us = UINT64_MAX};

static void die(const char *what, const char *which)
{
    fprintf(stderr, "log_reader: %s%s%s\n", what, which ? ": " : "", which ? which : "");
    exit(2);
}

static int64_t number_argument(const char *option, const char *text, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        die("bad number for", option);
    }
    return value;
}

static void complain(struct reader *reader, const char *name)
{
    fprintf(stderr, "log_reader: cannot read %s: %s\n", name, strerror(errno));
    reader->exit_code = 1;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("log_reader: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* -------------------------------------------------------------- histogram -- */

static inline uint32_t bucket_index(uint64_t value_us)
{
    unsigned highest_bit = 63 - (unsigned)__builtin_clzll(value_us | (1u << SUB_BUCKET_BITS));
    unsigned shift = highest_bit - SUB_BUCKET_BITS;
    return (shift << SUB_BUCKET_BITS) + (uint32_t)(value_us >> shift);
}

static double bucket_midpoint_us(uint32_t index)
{
    if (index < 2u << SUB_BUCKET_BITS) {
        return index;
    }
    unsigned shift = (index >> SUB_BUCKET_BITS) - 1;
    uint64_t lowest = (uint64_t)(index - (shift << SUB_BUCKET_BITS)) << shift;
    return (double)lowest + (double)(((uint64_t)1 << shift) - 1) / 2;
}

/* Nearest rank, for ascending percents in one walk. Clamped to the exact extremes, lest a p99 be
 * printed that is above the maximum. */
static void percentiles(const uint64_t *buckets, const struct tally *tally, size_t many,
                        const unsigned *percents, double *values_us)
{
    uint64_t below = 0;
    size_t done = 0;
    for (uint32_t index = 0; index < BUCKETS && done < many; index++) {
        below += buckets[index];
        while (done < many && below * (u128)100 >= (u128)tally->count * percents[done] && below) {
            double value = bucket_midpoint_us(index);
            value = value > (double)tally->max_us ? (double)tally->max_us : value;
            values_us[done++] = value < (double)tally->min_us ? (double)tally->min_us : value;
        }
    }
}

static void pour(const struct second *second, uint64_t *into)
{
    for (uint32_t at = 0; at < second->sparse_used; at++) {
        into[second->sparse[at]]++;
    }
    if (second->dense != NULL) {
        for (uint32_t index = 0; index < BUCKETS; index++) {
            into[index] += second->dense[index];
        }
    }
}

static void add_tally(struct tally *into, const struct tally *more)
{
    into->count += more->count;
    into->failed += more->failed;
    into->serialization += more->serialization;
    into->deadlock += more->deadlock;
    into->skipped += more->skipped;
    into->retried += more->retried;
    into->retries += more->retries;
    into->clamped += more->clamped;
    into->min_us = more->min_us < into->min_us ? more->min_us : into->min_us;
    into->max_us = more->max_us > into->max_us ? more->max_us : into->max_us;
    into->sum_us += more->sum_us;
    into->sum_squares_us2 += more->sum_squares_us2;
}

static uint64_t lines_of(const struct tally *tally)
{
    return tally->count + tally->failed + tally->skipped;
}

static void make_dense(struct reader *reader, struct second *second)
{
    second->dense = must(calloc(BUCKETS, sizeof *second->dense));
    for (uint32_t at = 0; at < second->sparse_used; at++) {
        second->dense[second->sparse[at]]++;
    }
    free(second->sparse);
    reader->held_bytes += BUCKETS * sizeof *second->dense;
    reader->held_bytes -= second->sparse_room * sizeof *second->sparse;
    second->sparse = NULL;
    second->sparse_used = second->sparse_room = 0;
}

static __attribute__((noinline)) void add_sparse(struct reader *reader, struct second *second,
                                                 uint32_t index)
{
    if (second->sparse_used == second->sparse_room) {
        if (second->sparse_room == SPARSE_LARGEST) {
            make_dense(reader, second);
            second->dense[index]++;
            return;
        }
        uint32_t room = second->sparse_room ? second->sparse_room * 2 : SPARSE_FIRST;
        second->sparse = must(realloc(second->sparse, room * sizeof *second->sparse));
        reader->held_bytes += (room - second->sparse_room) * sizeof *second->sparse;
        second->sparse_room = room;
    }
    second->sparse[second->sparse_used++] = (uint16_t)index;
}

static inline void add_bucket(struct reader *reader, struct second *second, uint32_t index)
{
    if (LIKELY(second->dense != NULL)) {
        second->dense[index]++;
    } else {
        add_sparse(reader, second, index);
    }
}

static void empty_second(struct reader *reader, struct second *second)
{
    if (second->dense != NULL) {
        reader->held_bytes -= BUCKETS * sizeof *second->dense;
    }
    reader->held_bytes -= second->sparse_room * sizeof *second->sparse;
    free(second->dense);
    free(second->sparse);
    *second = (struct second){.tally = EMPTY_TALLY};
}

/* Into the totals, and as good as new. Returns how many lines it held. */
static uint64_t settle(struct reader *reader, struct second *second)
{
    uint64_t lines = lines_of(&second->tally);
    if (lines != 0) {
        pour(second, reader->total_buckets);
        add_tally(&reader->total, &second->tally);
        empty_second(reader, second);
    }
    return lines;
}

/* ----------------------------------------------------------------- output -- */

static void print_u128(const char *key, u128 value)
{
    char digits[40];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value != 0);
    printf("\"%s\":%s,", key, digits + at);
}

static void print_count(const char *key, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", key, value);
}

static void print_or_null(const char *key, bool known, int64_t value)
{
    if (known) {
        printf("\"%s\":%" PRId64 ",", key, value);
    } else {
        printf("\"%s\":null,", key);
    }
}

static void print_buckets(const uint64_t *buckets)
{
    const char *comma = "";
    fputs("\"buckets\":[", stdout);
    for (uint32_t index = 0; index < BUCKETS; index++) {
        if (buckets[index] != 0) {
            printf("%s[%" PRIu32 ",%" PRIu64 "]", comma, index, buckets[index]);
            comma = ",";
        }
    }
    fputs("]", stdout);
}

/* Nobody is left to tell when stdout is gone, but a full disk is worth an exit code. */
static void end_line(struct reader *reader)
{
    if (putchar('\n') == EOF || fflush(stdout) == EOF) {
        reader->exit_code = 1;
    }
}

/* `buckets` are those of the second; of an empty one they are not looked at. */
static void print_second_buckets(const struct tally *tally, const uint64_t *buckets)
{
    bool any = tally->count != 0;
    putchar(',');
    print_u128("sum_us", tally->sum_us);
    print_or_null("min_us", any, (int64_t)tally->min_us);
    printf("\"sub_bucket_bits\":%d,", SUB_BUCKET_BITS);
    if (any) {
        print_buckets(buckets);
    } else {
        fputs("\"buckets\":[]", stdout);
    }
}

static void print_second(struct reader *reader, int64_t index, const struct second *second)
{
    static const unsigned PERCENTS[] = {50, 95, 99};
    const struct tally *tally = &second->tally;
    printf("{\"type\":\"second\",\"index\":%" PRId64 ",\"count\":%" PRIu64 ",\"failed\":%" PRIu64
           ",\"skipped\":%" PRIu64,
           index, tally->count, tally->failed, tally->skipped);
    if (tally->count == 0) {
        fputs(",\"mean_us\":null,\"p50_us\":null,\"p95_us\":null,\"p99_us\":null,\"max_us\":null",
              stdout);
    } else {
        double values[3] = {0};
        memset(reader->scratch, 0, sizeof reader->scratch);
        pour(second, reader->scratch);
        percentiles(reader->scratch, tally, 3, PERCENTS, values);
        printf(",\"mean_us\":%.3f,\"p50_us\":%.1f,\"p95_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%" PRIu64,
               (double)tally->sum_us / (double)tally->count, values[0], values[1], values[2],
               tally->max_us);
    }
    if (reader->tells_buckets) {
        print_second_buckets(tally, reader->scratch);
    }
    putchar('}');
    end_line(reader);
}

static void print_so_far(struct reader *reader)
{
    static const unsigned PERCENTS[] = {50, 99};
    struct tally tally = reader->total;
    memcpy(reader->scratch, reader->total_buckets, sizeof reader->scratch);
    for (int64_t index = reader->oldest; index <= reader->newest; index++) {
        const struct second *second = &reader->window[index & (WINDOW_SECONDS - 1)];
        pour(second, reader->scratch);
        add_tally(&tally, &second->tally);
    }
    printf("{\"type\":\"so_far\",\"count\":%" PRIu64, tally.count);
    if (tally.count == 0) {
        fputs(",\"p50_us\":null,\"p99_us\":null}", stdout);
    } else {
        double values[2] = {0};
        percentiles(reader->scratch, &tally, 2, PERCENTS, values);
        printf(",\"p50_us\":%.1f,\"p99_us\":%.1f}", values[0], values[1]);
    }
    end_line(reader);
}

static void print_total(struct reader *reader)
{
    const struct tally *total = &reader->total;
    bool any = total->count != 0;
    bool any_time = reader->first_us != INT64_MAX;
    fputs("{\"type\":\"total\",", stdout);
    print_count("count", total->count);
    print_count("failed", total->failed);
    print_count("serialization", total->serialization);
    print_count("deadlock", total->deadlock);
    print_count("skipped", total->skipped);
    print_count("retried", total->retried);
    print_count("retries", total->retries);
    print_u128("sum_us", total->sum_us);
    print_u128("sum_squares_us2", total->sum_squares_us2);
    print_or_null("min_us", any, (int64_t)total->min_us);
    print_or_null("max_us", any, (int64_t)total->max_us);
    print_count("clamped", total->clamped);
    print_count("malformed", reader->malformed);
    print_count("out_of_range", reader->out_of_range);
    print_count("late", reader->late);
    print_count("punch_failures", reader->punch_failures);
    print_count("files", reader->file_count);
    print_count("bytes", reader->bytes);
    print_or_null("start_us", reader->has_start, reader->start_us);
    print_or_null("first_us", any_time, reader->first_us);
    print_or_null("last_us", any_time, reader->last_us);
    printf("\"sub_bucket_bits\":%d,", SUB_BUCKET_BITS);
    print_buckets(reader->total_buckets);
    if (reader->has_lag) {
        fputs(",\"lag\":{", stdout);
        print_count("count", reader->lag_count);
        print_u128("sum_us", reader->lag_sum_us);
        print_or_null("max_us", reader->lag_count != 0, (int64_t)reader->lag_max_us);
        print_buckets(reader->lag_buckets);
        fputs("}}", stdout);
    } else {
        fputs(",\"lag\":null}", stdout);
    }
    end_line(reader);
}

/* ---------------------------------------------------------------- seconds -- */

static void close_oldest(struct reader *reader)
{
    struct second *second = &reader->window[reader->oldest & (WINDOW_SECONDS - 1)];
    /* Second -1 is there for clocks read a little apart: it is told only when it happened. */
    if (reader->oldest >= 0 || lines_of(&second->tally) != 0) {
        print_second(reader, reader->oldest, second);
    }
    settle(reader, second);
    reader->oldest++;
}

static void close_before(struct reader *reader, int64_t index)
{
    while (reader->oldest < index) {
        close_oldest(reader);
    }
}

/* A second is finished when every file has passed it; a file that was not heard of yet holds all. */
static void close_passed(struct reader *reader)
{
    int64_t reached = INT64_MAX;
    for (size_t at = 0; at < reader->file_count; at++) {
        const struct log_file *file = &reader->files[at];
        if (!file->finished && file->reached < reached) {
            reached = file->reached;
        }
    }
    if (reached != INT64_MAX) {
        close_before(reader, reached);
    }
}

static int64_t second_index(const struct reader *reader, int64_t time_us)
{
    int64_t since = time_us - reader->start_us;
    int64_t index = since / US_PER_SECOND;
    return index - (since % US_PER_SECOND < 0);
}

static struct second *find_second(struct reader *reader, struct log_file *file, int64_t index)
{
    if (index < -1 || index > reader->last_index_allowed) {
        return &reader->outside_second;
    }
    if (index > file->reached) {
        file->reached = index;
    }
    if (index > reader->newest) {
        reader->newest = index;
    }
    if (index < reader->oldest) {
        return &reader->late_second;
    }
    close_before(reader, index - WINDOW_SECONDS + 1);
    while (reader->held_bytes > OPEN_SECONDS_BYTES && reader->oldest < index) {
        close_oldest(reader);
    }
    return &reader->window[index & (WINDOW_SECONDS - 1)];
}

/* ---------------------------------------------------------------- parsing -- */

enum fate { MEASURED, FAILED, SERIALIZATION, DEADLOCK, SKIPPED };

struct line {
    enum fate fate;
    uint64_t latency_us, lag_us, retries;
    int64_t time_us;
};

/* Where the parser is: the second it adds to, and sums not yet brought there. Local to a chunk. */
struct cursor {
    struct second *second;
    int64_t second_start_us, first_us, last_us;
    uint64_t count, min_us, max_us, sum_us;
    u128 sum_squares_us2;
};

static const struct cursor EMPTY_CURSOR = {
    .second_start_us = INT64_MAX / 2, /* so that the first line looks for its second */
    .first_us = INT64_MAX,
    .last_us = INT64_MIN,
    .min_us = UINT64_MAX,
};

static inline uint64_t load64(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The value of 1 to 8 digits: three multiplications instead of a loop whose end is mispredicted.
 * The trick is Daniel Lemire's, "Quickly parsing eight digits" (2018); reads 8 bytes. */
static inline uint64_t digits8(const char *at, unsigned length)
{
    uint64_t word = (load64(at) & 0x0f0f0f0f0f0f0f0fu) << (64 - 8 * length);
    word = (word * 2561) >> 8;
    word = ((word & 0x00ff00ff00ff00ffu) * 6553601) >> 16;
    return ((word & 0x0000ffff0000ffffu) * 42949672960001u) >> 32;
}

/* Bit i is set when byte i of the 64 at `at` is no digit. */
static inline uint64_t nondigits64(const char *at)
{
    uint64_t mask = 0;
#if HAVE_SSE2
    const __m128i offset = _mm_set1_epi8((char)('0' + 128));
    const __m128i nine = _mm_set1_epi8((char)(9 - 128));
    for (int part = 0; part < 4; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * part));
        /* SSE2 compares signed only: move '0' to the lowest signed byte. */
        __m128i above = _mm_cmpgt_epi8(_mm_sub_epi8(bytes, offset), nine);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(above) << (16 * part);
    }
#else
    for (int part = 0; part < 8; part++) {
        uint64_t word = load64(at + 8 * part) ^ 0x3030303030303030u;
        uint64_t above = ((word & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | word;
        above = (above & 0x8080808080808080u) >> 7;
        mask |= ((above * 0x0102040810204080u) >> 56) << (8 * part);
    }
#endif
    return mask;
}

/* Reads an unsigned number of at most 18 digits and steps over it; false when there is none. */
static bool read_number(const char **at, const char *end, uint64_t *value)
{
    const char *begin = *at;
    uint64_t number = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - begin <= 18) {
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    }
    *value = number;
    return *at > begin && *at - begin <= 18;
}

/* Steps over a number that is not needed, of whatever length, as the fast path does. */
static bool skip_number(const char **at, const char *end)
{
    const char *begin = *at;
    while (*at < end && **at >= '0' && **at <= '9') {
        (*at)++;
    }
    return *at > begin;
}

static bool read_space(const char **at, const char *end)
{
    return *at < end && *(*at)++ == ' ';
}

static bool read_result(const char **at, const char *end, struct line *line)
{
    static const struct {
        const char *word;
        enum fate fate;
    } WORDS[] = {
        {"failed ", FAILED},
        {"serialization ", SERIALIZATION},
        {"deadlock ", DEADLOCK},
        {"skipped ", SKIPPED},
    };
    line->fate = MEASURED;
    for (size_t which = 0; which < sizeof WORDS / sizeof *WORDS; which++) {
        size_t length = strlen(WORDS[which].word);
        if ((size_t)(end - *at) >= length && memcmp(*at, WORDS[which].word, length) == 0) {
            line->fate = WORDS[which].fate;
            *at += length - 1; /* the space is read as any other */
            return true;
        }
    }
    return read_number(at, end, &line->latency_us);
}

/* The whole grammar, byte by byte. `end` is where the newline is. */
static bool read_line(const struct reader *reader, const char *at, const char *end,
                      struct line *line)
{
    uint64_t epoch_s, epoch_us;
    *line = (struct line){0};
    bool good = skip_number(&at, end) && read_space(&at, end) &&
                skip_number(&at, end) && read_space(&at, end) &&
                read_result(&at, end, line) && read_space(&at, end) &&
                skip_number(&at, end) && read_space(&at, end) &&
                read_number(&at, end, &epoch_s) && read_space(&at, end) &&
                read_number(&at, end, &epoch_us);
    if (good && reader->has_lag) {
        good = read_space(&at, end) && read_number(&at, end, &line->lag_us);
    }
    if (good && reader->has_retries) {
        good = read_space(&at, end) && read_number(&at, end, &line->retries);
    }
    /* The bound keeps microseconds since 1970 inside 64 bits. */
    if (!good || at != end || epoch_s >= 1000000000000u || epoch_us >= US_PER_SECOND) {
        return false;
    }
    line->time_us = (int64_t)(epoch_s * US_PER_SECOND + epoch_us);
    return true;
}

static inline void bring_home(struct reader *reader, struct cursor *cursor)
{
    /* Times of a clock that jumped would make the first and the last useless. */
    if (cursor->second != NULL && cursor->second != &reader->outside_second) {
        reader->first_us = cursor->first_us < reader->first_us ? cursor->first_us : reader->first_us;
        reader->last_us = cursor->last_us > reader->last_us ? cursor->last_us : reader->last_us;
    }
    if (cursor->count != 0) {
        struct tally *tally = &cursor->second->tally;
        tally->count += cursor->count;
        tally->sum_us += cursor->sum_us;
        tally->sum_squares_us2 += cursor->sum_squares_us2;
        tally->min_us = cursor->min_us < tally->min_us ? cursor->min_us : tally->min_us;
        tally->max_us = cursor->max_us > tally->max_us ? cursor->max_us : tally->max_us;
    }
    *cursor = EMPTY_CURSOR;
}

/* Makes the cursor's second the one of `time_us`. False: it lies beyond `limit`, stop before it. */
static __attribute__((noinline)) bool move_cursor(struct reader *reader, struct log_file *file,
                                                  struct cursor *cursor, int64_t time_us,
                                                  int64_t limit)
{
    if (!reader->has_start) {
        reader->has_start = true;
        reader->start_us = time_us;
    }
    int64_t index = second_index(reader, time_us);
    bool in_range = index >= -1 && index <= reader->last_index_allowed;
    if (in_range && index > limit) {
        file->reached = index;
        return false;
    }
    bring_home(reader, cursor);
    cursor->second = find_second(reader, file, index);
    cursor->second_start_us = reader->start_us + index * US_PER_SECOND;
    return true;
}

static inline void note_time(struct cursor *cursor, int64_t time_us)
{
    cursor->first_us = time_us < cursor->first_us ? time_us : cursor->first_us;
    cursor->last_us = time_us > cursor->last_us ? time_us : cursor->last_us;
}

static inline void add_lag(struct reader *reader, uint64_t lag_us)
{
    reader->lag_buckets[bucket_index(lag_us)]++;
    reader->lag_count++;
    reader->lag_sum_us += lag_us;
    reader->lag_max_us = lag_us > reader->lag_max_us ? lag_us : reader->lag_max_us;
}

static uint64_t clamp(struct tally *tally, uint64_t value_us)
{
    if (value_us <= LARGEST_US) {
        return value_us;
    }
    tally->clamped++;
    return LARGEST_US;
}

/* As accumStats() of pgbench: failed transactions count their retries, skipped ones nothing. */
static void add_slow_line(struct reader *reader, struct cursor *cursor, const struct line *line)
{
    struct tally *tally = &cursor->second->tally;
    if (line->fate == SKIPPED) {
        tally->skipped++;
        return;
    }
    tally->retried += line->retries != 0;
    tally->retries += line->retries;
    if (line->fate != MEASURED) {
        tally->failed++;
        tally->serialization += line->fate == SERIALIZATION;
        tally->deadlock += line->fate == DEADLOCK;
        return;
    }
    uint64_t latency_us = clamp(tally, line->latency_us);
    tally->count++;
    tally->sum_us += latency_us;
    tally->sum_squares_us2 += (u128)latency_us * latency_us;
    tally->min_us = latency_us < tally->min_us ? latency_us : tally->min_us;
    tally->max_us = latency_us > tally->max_us ? latency_us : tally->max_us;
    add_bucket(reader, cursor->second, bucket_index(latency_us));
    if (reader->has_lag) {
        add_lag(reader, clamp(tally, line->lag_us));
    }
}

/* Returns where the next line starts, or `at` itself when the line lies beyond the limit. */
static __attribute__((noinline)) const char *take_slowly(struct reader *reader,
                                                         struct log_file *file,
                                                         struct cursor *cursor, const char *at,
                                                         const char *end, int64_t limit)
{
    struct line line;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!read_line(reader, at, newline, &line)) {
        reader->malformed++;
        return newline + 1;
    }
    if ((uint64_t)(line.time_us - cursor->second_start_us) >= US_PER_SECOND &&
        !move_cursor(reader, file, cursor, line.time_us, limit)) {
        return at;
    }
    note_time(cursor, line.time_us);
    add_slow_line(reader, cursor, &line);
    return newline + 1;
}

/*
 * The lines from `at` to `end`, which is just behind a newline. The common line, all digits and not
 * longer than 64 bytes, is cut at its separators with one mask and has no branch that depends on the
 * lengths of its numbers; every other goes through take_slowly(). Returns where it stopped.
 * Always inlined, so that each of the four line shapes gets a loop of its own.
 */
static inline __attribute__((always_inline)) const char *
take_lines(struct reader *reader, struct log_file *file, const char *at, const char *end,
           int64_t limit, const bool has_lag, const bool has_retries)
{
    enum { AFTER_TRANSACTION = 1, AFTER_LATENCY, AFTER_SCRIPT, AFTER_EPOCH, AFTER_US };
    const int fields = 6 + has_lag + has_retries;
    struct cursor cursor = EMPTY_CURSOR;
    uint64_t epoch_head = 0;
    uint16_t epoch_tail = 0;
    int64_t epoch_base_us = 0;

    while (at < end) {
        const uint64_t mask = nondigits64(at);
        uint64_t left = mask;
        unsigned cut[8];
        for (int field = 0; field < fields - 1; field++) {
            cut[field] = (unsigned)__builtin_ctzll(left | (uint64_t)1 << 63);
            left &= left - 1;
        }
        cut[fields - 1] = (unsigned)__builtin_ctzll(left | (uint64_t)1 << 63);
        /* The separators of this line: two neighbours, or one in front, are an empty field. */
        const uint64_t cuts = mask ^ (left & (left - 1));
        unsigned wrong = (unsigned)(at[cut[fields - 1]] ^ '\n');
        for (int field = 0; field < fields - 1; field++) {
            wrong |= (unsigned)(at[cut[field]] ^ ' ');
        }
        const unsigned latency_digits = cut[AFTER_LATENCY] - cut[AFTER_TRANSACTION] - 1;
        const unsigned us_digits = cut[AFTER_US] - cut[AFTER_EPOCH] - 1;
        wrong |= (left == 0) | ((cuts & (cuts << 1 | 1)) != 0);
        wrong |= (latency_digits > 8) | (us_digits > 6);
        wrong |= cut[AFTER_EPOCH] - cut[AFTER_SCRIPT] != 11;
        if (has_lag) {
            wrong |= cut[AFTER_US + 1] - cut[AFTER_US] > 9;
        }
        if (has_retries) {
            wrong |= cut[fields - 1] - cut[fields - 2] > 9;
        }
        if (UNLIKELY(wrong)) {
            const char *next = take_slowly(reader, file, &cursor, at, end, limit);
            if (next == at) {
                break;
            }
            at = next;
            continue;
        }

        const char *epoch = at + cut[AFTER_SCRIPT] + 1;
        uint16_t tail;
        memcpy(&tail, epoch + 8, sizeof tail);
        if (UNLIKELY(load64(epoch) != epoch_head || tail != epoch_tail)) {
            epoch_head = load64(epoch);
            epoch_tail = tail;
            epoch_base_us =
                (int64_t)(digits8(epoch, 8) * 100 + digits8(epoch + 8, 2)) * US_PER_SECOND;
        }
        const int64_t time_us = epoch_base_us + (int64_t)digits8(at + cut[AFTER_EPOCH] + 1, us_digits);
        if (UNLIKELY((uint64_t)(time_us - cursor.second_start_us) >= US_PER_SECOND) &&
            !move_cursor(reader, file, &cursor, time_us, limit)) {
            break;
        }
        note_time(&cursor, time_us);
        const uint64_t latency_us = digits8(at + cut[AFTER_TRANSACTION] + 1, latency_digits);
        cursor.count++;
        cursor.sum_us += latency_us; /* at most a chunk of eight digits each: no overflow */
        cursor.sum_squares_us2 += latency_us * latency_us;
        cursor.min_us = latency_us < cursor.min_us ? latency_us : cursor.min_us;
        cursor.max_us = latency_us > cursor.max_us ? latency_us : cursor.max_us;
        add_bucket(reader, cursor.second, bucket_index(latency_us));
        if (has_lag) {
            add_lag(reader, digits8(at + cut[AFTER_US] + 1, cut[AFTER_US + 1] - cut[AFTER_US] - 1));
        }
        if (has_retries) {
            const uint64_t retries = digits8(at + cut[fields - 2] + 1,
                                             cut[fields - 1] - cut[fields - 2] - 1);
            cursor.second->tally.retried += retries != 0;
            cursor.second->tally.retries += retries;
        }
        at += cut[fields - 1] + 1;
    }
    bring_home(reader, &cursor);
    return at;
}

static const char *take(struct reader *reader, struct log_file *file, const char *at,
                        const char *end, int64_t limit)
{
    if (reader->has_lag && reader->has_retries) {
        return take_lines(reader, file, at, end, limit, true, true);
    }
    if (reader->has_lag) {
        return take_lines(reader, file, at, end, limit, true, false);
    }
    if (reader->has_retries) {
        return take_lines(reader, file, at, end, limit, false, true);
    }
    return take_lines(reader, file, at, end, limit, false, false);
}

/* ---------------------------------------------------------------- reading -- */

static ssize_t read_chunk(struct reader *reader, struct log_file *file)
{
    off_t wanted = file->size - file->offset;
    if (wanted > CHUNK_BYTES) {
        wanted = CHUNK_BYTES;
    }
    ssize_t got;
    do {
        got = pread(file->fd, reader->chunk, (size_t)wanted, file->offset);
    } while (got < 0 && errno == EINTR);
    return got;
}

static void advance(struct reader *reader, struct log_file *file, size_t bytes)
{
    file->offset += (off_t)bytes;
    reader->bytes += bytes;
    off_t whole = file->offset / PAGE_BYTES * PAGE_BYTES;
    if (!file->punches || whole <= file->punched) {
        return;
    }
    if (fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, file->punched,
                  whole - file->punched) == 0) {
        file->punched = whole;
    } else if (errno != EINTR) {
        /* A file system that cannot will not learn it: one failure a file, not one a tick. */
        file->punches = false;
        reader->punch_failures++;
    }
}

/* Nothing whole is left in what is there now: the rest, if any, is the begin of a line. */
static bool take_oversized(struct reader *reader, struct log_file *file, size_t got)
{
    if (got < CHUNK_BYTES) {
        return false;
    }
    reader->malformed += !file->skipping;
    file->skipping = true;
    advance(reader, file, got);
    return true;
}

/* Reads one chunk of `file`, up to lines beyond second `limit`. False: nothing more there for now. */
static bool take_chunk(struct reader *reader, struct log_file *file, int64_t limit)
{
    if (file->broken || file->offset >= file->size) {
        return false;
    }
    ssize_t got = read_chunk(reader, file);
    if (got < 0) {
        complain(reader, file->name);
        file->broken = true;
        return false;
    }
    const char *at = reader->chunk;
    const char *last = memrchr(at, '\n', (size_t)got);
    if (last == NULL) {
        return take_oversized(reader, file, (size_t)got);
    }
    if (file->skipping) {
        at = (const char *)memchr(at, '\n', (size_t)got) + 1;
        file->skipping = false;
    }
    at = take(reader, file, at, last + 1, limit);
    reader->late += settle(reader, &reader->late_second);
    reader->out_of_range += settle(reader, &reader->outside_second);
    advance(reader, file, (size_t)(at - reader->chunk));
    return true;
}

/* The file that is furthest behind goes first, so that few seconds are open at once. */
static struct log_file *furthest_behind(struct reader *reader, const bool *idle, int64_t *limit)
{
    struct log_file *first = NULL;
    int64_t second_best = INT64_MAX - READ_AHEAD_SECONDS;
    for (size_t at = 0; at < reader->file_count; at++) {
        struct log_file *file = &reader->files[at];
        if (idle[at]) {
            continue;
        }
        if (first == NULL) {
            first = file;
        } else if (file->reached < first->reached) {
            second_best = first->reached;
            first = file;
        } else if (file->reached < second_best) {
            second_best = file->reached;
        }
    }
    /* A file not heard of yet counts as at the start. */
    *limit = (second_best < 0 ? 0 : second_best) + READ_AHEAD_SECONDS;
    return first;
}

/* Reads all there is now, up to sizes taken at the begin lest a fast writer hold us for ever. */
static void drain(struct reader *reader, bool to_the_end)
{
    bool *idle = must(calloc(reader->file_count + 1, sizeof *idle));
    for (size_t at = 0; at < reader->file_count; at++) {
        struct stat status;
        if (fstat(reader->files[at].fd, &status) == 0) {
            reader->files[at].size = status.st_size;
        }
    }
    struct log_file *file;
    int64_t limit;
    while ((file = furthest_behind(reader, idle, &limit)) != NULL) {
        if (!take_chunk(reader, file, limit)) {
            idle[file - reader->files] = true;
            file->finished = to_the_end || file->broken;
        }
        close_passed(reader);
    }
    free(idle);
}

static void finish(struct reader *reader)
{
    for (size_t at = 0; at < reader->file_count; at++) {
        struct log_file *file = &reader->files[at];
        if (file->offset < file->size && !file->broken) {
            /* Torn by the end of its writer. It may look whole, with half of its last number. */
            reader->malformed += !file->skipping;
            reader->bytes += (uint64_t)(file->size - file->offset);
        }
    }
    close_before(reader, reader->newest + 1);
    print_total(reader);
}

static void add_file(struct reader *reader, const char *name, int fd, bool punches)
{
    if (reader->file_count == reader->file_room) {
        reader->file_room = reader->file_room ? reader->file_room * 2 : 16;
        reader->files = must(realloc(reader->files, reader->file_room * sizeof *reader->files));
    }
    reader->files[reader->file_count++] = (struct log_file){
        .name = must(strdup(name)), .fd = fd, .punches = punches, .reached = INT64_MIN};
}

static bool is_regular(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* ------------------------------------------------------- finished files -- */

/* The earliest first line of all files: threads start apart, and any may be named first. INT64_MAX
 * when there is none yet. */
static int64_t earliest_us(struct reader *reader)
{
    int64_t earliest = INT64_MAX;
    for (size_t which = 0; which < reader->file_count; which++) {
        struct log_file *file = &reader->files[which];
        struct stat status;
        file->size = fstat(file->fd, &status) == 0 ? status.st_size : 0;
        ssize_t got = read_chunk(reader, file);
        const char *at = reader->chunk, *end = at + (got > 0 ? got : 0), *newline;
        struct line line;
        while (at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
            if (read_line(reader, at, newline, &line)) {
                earliest = line.time_us < earliest ? line.time_us : earliest;
                break;
            }
            at = newline + 1;
        }
    }
    return earliest;
}

static void set_start(struct reader *reader, int64_t start_us)
{
    if (start_us != INT64_MAX) {
        reader->has_start = true;
        reader->start_us = start_us;
    }
}

static void read_finished(struct reader *reader, char **names)
{
    for (; *names != NULL; names++) {
        int fd = open(*names, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 && is_regular(fd)) {
            add_file(reader, *names, fd, false);
        } else {
            errno = fd >= 0 ? EINVAL : errno;
            complain(reader, *names);
        }
    }
    if (!reader->has_start) {
        set_start(reader, earliest_us(reader));
    }
    drain(reader, true);
    finish(reader);
}

/* -------------------------------------------------------------- following -- */

static bool is_known(const struct reader *reader, const char *name)
{
    for (size_t at = 0; at < reader->file_count; at++) {
        if (strcmp(reader->files[at].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Not through links, and not waiting for a pipe's writer: /dev/shm is everybody's. Files that cannot
 * be written are still read, and the pages that stay are reported as a punch failure. */
static void discover(struct reader *reader, const char *directory, const char *prefix)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    size_t length = strlen(prefix);
    DIR *listing = opendir(directory);
    if (listing == NULL) {
        if (reader->exit_code == 0) { /* once, not every tick */
            complain(reader, directory);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        const char *name = entry->d_name;
        if (strncmp(name, prefix, length) != 0 || name[length] != '.' || is_known(reader, name)) {
            continue;
        }
        int fd = openat(dirfd(listing), name, O_RDWR | flags);
        if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
            fd = openat(dirfd(listing), name, O_RDONLY | flags);
        }
        if (fd >= 0 && is_regular(fd)) {
            add_file(reader, name, fd, true);
        } else if (fd >= 0) {
            close(fd);
        } else if (errno != ENOENT && errno != ELOOP && errno != EISDIR && reader->exit_code == 0) {
            complain(reader, name);
        }
    }
    closedir(listing);
}

/* Takes lines that are heard while a start is awaited: the time of second 0, or a question. */
static void hear_start(struct reader *reader, const char *heard, size_t length)
{
    static char line[32];
    static size_t used;
    for (size_t at = 0; at < length && !reader->has_start; at++) {
        if (heard[at] != '\n') {
            line[used] = heard[at];
            used += used < sizeof line - 1;
            continue;
        }
        line[used] = '\0';
        used = 0;
        if (strcmp(line, "?") == 0) {
            reader->is_asked = true;
        } else {
            set_start(reader, number_argument("the start", line, 0, LATEST_START_US));
        }
    }
}

/* Sleeps until the tick is over. True: standard input has ended. */
static bool parent_is_gone(struct reader *reader, int tick_ms, bool awaits_start)
{
    char heard[512];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&input, 1, tick_ms);
    if (ready <= 0) {
        return false;
    }
    ssize_t got = read(STDIN_FILENO, heard, sizeof heard);
    if (got > 0 && awaits_start) {
        hear_start(reader, heard, (size_t)got);
    }
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Says once when the log begins. True: it is known from when to count, or nobody will tell any more. */
static bool may_read(struct reader *reader, bool ended, bool *said_first)
{
    if (reader->has_start || (*said_first && !ended)) {
        return reader->has_start;
    }
    int64_t first_us = earliest_us(reader);
    bool known = first_us != INT64_MAX;
    if (!*said_first && (known || reader->is_asked)) {
        fputs("{", stdout);
        print_or_null("first_us", known, first_us);
        fputs("\"type\":\"first\"}", stdout);
        end_line(reader);
        *said_first = true;
    }
    if (ended) {
        set_start(reader, first_us);
    }
    return ended;
}

static void follow(struct reader *reader, const char *directory, const char *prefix, int tick_ms,
                   bool awaits_start)
{
    /* Ctrl-C reaches the whole foreground group; when this ends is for the parent to say. */
    signal(SIGINT, SIG_IGN);
    int64_t said_ms = monotonic_ms();
    bool ended = false, said_first = false;
    while (!ended) {
        ended = parent_is_gone(reader, tick_ms, awaits_start);
        discover(reader, directory, prefix);
        if (awaits_start && !may_read(reader, ended, &said_first)) {
            continue;
        }
        drain(reader, ended);
        if (!ended && monotonic_ms() - said_ms >= 1000) {
            said_ms = monotonic_ms();
            print_so_far(reader);
        }
    }
    finish(reader);
}

/* ------------------------------------------------------------------- main -- */

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* a file a thread: pgbench may have a thousand */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        {"has-lag", no_argument, NULL, 'l'},         {"has-retries", no_argument, NULL, 'r'},
        {"follow", required_argument, NULL, 'f'},    {"prefix", required_argument, NULL, 'p'},
        {"tick-ms", required_argument, NULL, 't'},   {"start-us", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 'n'},   {"second-buckets", no_argument, NULL, 'b'},
        {"await-start", no_argument, NULL, 'a'},     {NULL, 0, NULL, 0},
    };
    static struct reader reader; /* zeroed, and too large for a stack */
    const char *directory = NULL, *prefix = NULL;
    int tick_ms = 200, option;
    bool awaits_start = false;
    reader.last_index_allowed = DEFAULT_SECONDS + SLACK_SECONDS;
    reader.oldest = reader.newest = -1;
    reader.first_us = INT64_MAX;
    reader.last_us = INT64_MIN;
    reader.total = reader.late_second.tally = reader.outside_second.tally = EMPTY_TALLY;
    for (size_t at = 0; at < WINDOW_SECONDS; at++) {
        reader.window[at].tally = EMPTY_TALLY;
    }
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        switch (option) {
        case 'l': reader.has_lag = true; break;
        case 'r': reader.has_retries = true; break;
        case 'f': directory = optarg; break;
        case 'p': prefix = optarg; break;
        case 't': tick_ms = (int)number_argument("--tick-ms", optarg, 1, 60000); break;
        case 's':
            reader.start_us = number_argument("--start-us", optarg, 0, LATEST_START_US);
            reader.has_start = true;
            break;
        case 'b': reader.tells_buckets = true; break;
        case 'a': awaits_start = true; break;
        case 'n':
            reader.last_index_allowed =
                number_argument("--seconds", optarg, 0, 1000000000) + SLACK_SECONDS;
            break;
        default: return 2; /* getopt has said why */
        }
    }
    if ((directory == NULL) != (prefix == NULL) || (directory == NULL) == (optind == argc)) {
        die("give FILE..., or --follow DIR with --prefix PREFIX", NULL);
    }
    if (awaits_start && (directory == NULL || reader.has_start)) {
        die("--await-start is for --follow without --start-us", NULL);
    }
    raise_file_limit();
    if (directory == NULL) {
        read_finished(&reader, argv + optind);
    } else {
        follow(&reader, directory, prefix, tick_ms, awaits_start);
    }
    return reader.exit_code;
}
