/* storage_state: makes the state of an emulated device, reads what it did, plays it in virtual time.
 *
 *   storage_state create CONFIG STATE   make STATE, with all its room reserved
 *   storage_state read STATE            print its counters as JSON, also while servers use it
 *   storage_state refill STATE          fill the buckets of its limits to where they start
 *   storage_state drain STATE           empty them: from now on only what comes back can be spent
 *   storage_state power_cut STATE [AT_NS [SEED]]
 *                                       take back what was not on the device when the power went:
 *                                       storage_cut.c
 *   storage_state replay CONFIG         play operations from standard input in virtual time
 *
 * It refuses to emulate anything itself: that is storage_shim.so's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_config.h"
#include "storage_cut.h"
#include "storage_device.h"
#include "storage_files.h"
#include "storage_pages.h"
#include "storage_wait.h"
#include "storage_writeback.h"

static int fail(const char *about, const char *what)
{
    fprintf(stderr, "storage_state: %s: %s\n", about, what);
    return 1;
}

static struct settings settings;
static struct power_cuts cuts;

static const char *read_configuration(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return strerror(errno);
    const char *wrong = config_read(file, &settings, &cuts);
    fclose(file);
    return wrong;
}

static int create(const char *config, const char *path)
{
    const char *wrong = read_configuration(config);
    if (wrong)
        return fail(config, wrong);
    uint64_t bytes = config_state_bytes(&settings);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return fail(path, strerror(errno));
    /* Reserved, not only promised: a full file system would kill every server with SIGBUS later. */
    int error = posix_fallocate(descriptor, 0, (off_t)bytes);
    struct state *state = MAP_FAILED;
    if (error == 0) {
        state = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        error = state == MAP_FAILED ? errno : 0;
    }
    close(descriptor);
    if (error) {
        unlink(path);
        return fail(path, strerror(error));
    }
    if (cuts.directory[0] && (wrong = config_journal(path, &settings, &cuts))) {
        unlink(path);
        return fail(path, wrong);
    }
    config_initialise(state, &settings, now_ns());
    return 0;
}

#define TOTAL(state, field)                                                                        \
    ({                                                                                             \
        uint64_t total = 0;                                                                        \
        for (int shard = 0; shard < COUNTER_SHARDS; shard++)                                       \
            total += word_load(&(state)->counters[shard].field);                                   \
        total;                                                                                     \
    })

static void print_credits(const char *tier, const struct limit *limits,
                          uint32_t count, struct tier *words, uint64_t now, bool *first)
{
    static const char *const ON[] = {"", "read", "write", "both"};
    for (uint32_t i = 0; i < count; i++) {
        if (limits[i].credits_count == 0)
            continue;
        printf("%s{\"tier\":\"%s\",\"of\":\"%s\",\"on\":\"%s\",\"left\":%.0f,\"capacity\":%.0f}",
               *first ? "" : ",", tier, limits[i].of == OF_BYTES ? "bytes" : "requests",
               ON[limits[i].on],
               device_credits_left(&limits[i], word_load(&words->limit_free_ns[i]), now),
               limits[i].credits_count);
        *first = false;
    }
}

static int by_second(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_seconds(struct state *state)
{
    static uint64_t rows[SECONDS_KEPT][6];
    size_t count = 0;
    for (int i = 0; i < SECONDS_KEPT; i++) {
        struct second *second = &state->seconds[i];
        uint64_t number = word_load(&second->second);
        if (number == 0)
            continue;
        uint64_t row[6] = {number - 1,
                           word_load(&second->read_requests),
                           word_load(&second->write_requests),
                           word_load(&second->bytes),
                           word_load(&second->depth_sum_ns),
                           word_load(&second->throttled_ns)};
        memcpy(rows[count++], row, sizeof row);
    }
    qsort(rows, count, sizeof *rows, by_second);
    printf("\"seconds\":[");
    for (size_t i = 0; i < count; i++) {
        printf("%s[", i ? "," : "");
        for (int column = 0; column < 6; column++)
            printf("%s%" PRIu64, column ? "," : "", rows[i][column]);
        printf("]");
    }
    printf("]");
}

static void print_counter(const char *name, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", name, value);
}

static void print_work(struct state *state)
{
    printf("\"reads\":{");
    print_counter("calls_count", TOTAL(state, read_calls));
    print_counter("bytes", TOTAL(state, read_bytes));
    print_counter("hit_pages_count", TOTAL(state, hit_pages));
    print_counter("miss_pages_count", TOTAL(state, miss_pages));
    print_counter("requests_count", TOTAL(state, read_requests));
    print_counter("request_bytes", TOTAL(state, read_request_bytes));
    printf("\"waited_ns\":%" PRIu64 "},\"writes\":{", TOTAL(state, read_waited_ns));
    print_counter("calls_count", TOTAL(state, write_calls));
    print_counter("bytes", TOTAL(state, write_bytes));
    print_counter("requests_count", TOTAL(state, write_requests));
    print_counter("request_bytes", TOTAL(state, write_request_bytes));
    printf("\"waited_ns\":%" PRIu64 "},\"syncs\":{", TOTAL(state, write_waited_ns));
    print_counter("calls_count", TOTAL(state, sync_calls));
    printf("\"waited_ns\":%" PRIu64 "},", TOTAL(state, sync_waited_ns));
    print_counter("readahead_pages_count", TOTAL(state, readahead_pages));
    print_counter("late_count", TOTAL(state, late_count));
    print_counter("late_ns", TOTAL(state, late_ns));
    print_counter("throttled_ns", TOTAL(state, throttled_ns));
    print_counter("errors_count", TOTAL(state, errors));
    print_counter("full_count", TOTAL(state, full));
    print_counter("refused_count", TOTAL(state, refused));
}

/* Pages that wait to be sent or are on their way. Landed requests stay in the ring until somebody
 * writes; a look from outside must not take the lock to clear them away. */
static uint64_t dirty_pages(struct state *state, uint64_t now)
{
    uint64_t pages = word_load(&state->dirty_pages);
    uint64_t from = state->ring_head, to = state->ring_tail;
    for (uint64_t i = from; i != to && to - from <= RING_LENGTH; i++)
        if (state->ring[i % RING_LENGTH].done_ns > now)
            pages += state->ring[i % RING_LENGTH].pages;
    return pages;
}

static int read_state(const char *path)
{
    const char *why;
    struct state *state = config_open(path, &why);
    if (!state)
        return fail(path, why);
    uint64_t now = now_ns(), attached = word_load(&state->attached_count);
    printf("{\"format\":1,");
    print_counter("now_ns", now);
    print_counter("attached_count", attached);
    printf("\"attached_pids\":[");
    for (uint64_t i = attached > PIDS_KEPT ? attached - PIDS_KEPT : 0; i < attached; i++)
        printf("%" PRIu64 "%s", word_load(&state->pids[i % PIDS_KEPT]),
               i + 1 < attached ? "," : "");
    printf("],");
    print_counter("files_count", word_load(&state->files_count));
    print_counter("files_forgotten_count", word_load(&state->files_forgotten_count));
    print_work(state);
    print_counter("dirty_bytes", dirty_pages(state, now) << PAGE_SHIFT);
    print_counter("dirty_peak_bytes", word_load(&state->dirty_peak_pages) << PAGE_SHIFT);
    printf("\"credits\":[");
    bool first = true;
    print_credits("front", state->settings.front_limits, state->settings.front_limits_count,
                  &state->front, now, &first);
    print_credits("device", state->settings.device_limits,
                  state->settings.device_limits_count, &state->replicas[0], now, &first);
    printf("],");
    print_seconds(state);
    printf("}\n");
    return fflush(stdout) ? fail("standard output", strerror(errno)) : 0;
}

static int refill(const char *path)
{
    const char *why;
    struct state *state = config_open(path, &why);
    if (!state)
        return fail(path, why);
    device_refill(state, now_ns());
    return 0;
}

static void drain_tier(const struct limit *limits, uint32_t count, struct tier *tier,
                       uint64_t at_ns)
{
    for (uint32_t i = 0; i < count; i++)
        word_store(&tier->limit_free_ns[i], at_ns + limits[i].tolerance_ns);
}

/* A bucket is kept as the moment at which it is full again: all its credits away, it is empty. */
static int drain(const char *path)
{
    const char *why;
    struct state *state = config_open(path, &why);
    if (!state)
        return fail(path, why);
    const struct settings *made = &state->settings;
    uint64_t now = now_ns();
    drain_tier(made->front_limits, made->front_limits_count, &state->front, now);
    for (uint32_t i = 0; i < made->replicas_count; i++)
        drain_tier(made->device_limits, made->device_limits_count, &state->replicas[i], now);
    return 0;
}

static int cut(const char *path, const char *at, const char *seed)
{
    struct power_cut asked = {.random = seed != NULL};
    char *end = NULL, *seed_end = NULL;
    asked.at_ns = strtoull(at, &end, 10);
    asked.seed = seed ? strtoull(seed, &seed_end, 10) : 0;
    if (*end || (seed_end && *seed_end))
        return fail(at, "the moment and the seed are whole numbers");
    const char *why, *about = path;
    struct state *state = config_open(path, &why);
    if (!state || !journal_open(path, &why))
        return fail(path, why);
    if (!journal)
        return fail(path, "this device was not made for power cuts");
    struct taken_back taken = {0};
    why = cut_power(state, path, &asked, &taken, &about);
    if (why)
        return fail(about, why);
    printf("{\"format\":1,");
    print_counter("cut_ns", taken.cut_ns);
    print_counter("files_count", taken.files_count);
    print_counter("pages_count", taken.pages_count);
    print_counter("bytes", taken.bytes);
    print_counter("shortened_count", taken.shortened_count);
    print_counter("removed_count", taken.removed_count);
    print_counter("restored_count", taken.restored_count);
    printf("\"renamed_count\":%" PRIu64 "}\n", taken.renamed_count);
    return fflush(stdout) ? fail("standard output", strerror(errno)) : 0;
}

/* ---- replay: one operation after another, each at its own moment, none waits in reality */

struct operation {
    uint64_t at_ns, file, offset, length;
    char what[16];
};

static struct owed play(struct state *state, const struct operation *operation,
                        struct reading *reading)
{
    struct file_identity identity = {
        .device = 1, .inode = operation->file + 1, .size_bytes = UINT64_C(1) << 40};
    struct file_id id = files_find(state, &identity, operation->at_ns);
    uint64_t at = operation->at_ns;
    struct owed owed;
    for (;;) {
        if (!strcmp(operation->what, "read"))
            return pages_read(state, id, reading, operation->offset, operation->length, at);
        if (!strcmp(operation->what, "direct_read"))
            return pages_read_direct(state, id, operation->offset, operation->length, at);
        if (!strcmp(operation->what, "direct_write"))
            return pages_write_direct(state, id, operation->offset, operation->length, at);
        if (!strcmp(operation->what, "write")) {
            owed = pages_write(state, id, operation->offset, operation->length, at);
            struct owed held;
            while ((held = writeback_throttle(state, at)).again_ns)
                at = held.again_ns;
            if (owed.done_ns < at && at > operation->at_ns)
                owed.done_ns = at;
            return owed;
        }
        owed = writeback_sync(state, id, operation->offset, operation->length, at);
        if (!owed.again_ns)
            return owed;
        at = owed.again_ns;
    }
}

static int replay(const char *config)
{
    const char *wrong = read_configuration(config);
    if (wrong)
        return fail(config, wrong);
    size_t bytes = config_state_bytes(&settings);
    struct state *state =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED)
        return fail(config, strerror(errno));
    config_initialise(state, &settings, 1);
    static struct reading readings[1024];
    struct operation one;
    uint64_t last_ns = 1;
    int fields;
    while ((fields = scanf("%" SCNu64 " %15s %" SCNu64 " %" SCNu64 " %" SCNu64, &one.at_ns,
                           one.what, &one.file, &one.offset, &one.length)) == 5) {
        if (one.at_ns == 0) /* by the same client: when the one before is done */
            one.at_ns = last_ns;
        struct owed owed = play(state, &one, &readings[one.file % 1024]);
        uint64_t done = owed.done_ns > one.at_ns ? owed.done_ns : one.at_ns;
        last_ns = done;
        printf("%" PRIu64 " %" PRIu64 " %u %u\n", one.at_ns, done, owed.hit_pages,
               owed.miss_pages);
    }
    return fields == EOF ? 0 : fail("operation", "needs time, what, file, offset, length");
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "create"))
        return create(argv[2], argv[3]);
    if (argc == 3 && !strcmp(argv[1], "read"))
        return read_state(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "refill"))
        return refill(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "drain"))
        return drain(argv[2]);
    if (argc >= 3 && argc <= 5 && !strcmp(argv[1], "power_cut"))
        return cut(argv[2], argc > 3 ? argv[3] : "0", argc > 4 ? argv[4] : NULL);
    if (argc == 3 && !strcmp(argv[1], "replay"))
        return replay(argv[2]);
    fprintf(stderr, "usage: storage_state create CONFIG STATE | read STATE | refill STATE | "
                    "drain STATE | power_cut STATE [AT_NS [SEED]] | replay CONFIG\n");
    return 2;
}
