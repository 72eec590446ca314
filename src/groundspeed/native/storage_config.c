/* Reads a device's configuration (one `key value` a line) and makes and opens its state.
 *
 * groundspeed writes the configuration itself from a profile it has checked with better words than
 * these; what is refused here would make the model divide by zero or leave its tables.
 */
#define _GNU_SOURCE
#include "storage_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_device.h"
#include "storage_journal.h"

#define MOST_CHUNKS (UINT64_C(1) << 20)
#define LEAST_CHUNKS (UINT64_C(1) << 12)
#define MOST_FILES (UINT64_C(1) << 20)
#define LEAST_RECORDS 64
#define MOST_RECORDS (UINT64_C(1) << 26)
/* One call may write so much more than what may be dirty; there may be several. */
#define SPARE_RECORDS 16384

struct number {
    const char *name;
    size_t at;
    unsigned size; /* of the field: 4 or 8 bytes */
    uint64_t least, most;
};

#define NUMBER(key, field, low, high)                                                              \
    {key, offsetof(struct settings, field), sizeof(((struct settings *)0)->field), low, high}

static const struct number NUMBERS[] = {
    NUMBER("cache_bytes", cache_bytes, 0, UINT64_C(1) << 46),
    NUMBER("dirty_limit_bytes", dirty_limit_pages, 0, UINT64_C(1) << 46),
    NUMBER("dirty_background_bytes", dirty_background_pages, 0, UINT64_C(1) << 46),
    NUMBER("dirty_expire_ns", dirty_expire_ns, 0, UINT64_MAX >> 1),
    NUMBER("writeback_depth", writeback_depth_count, 1, RING_LENGTH / 2),
    NUMBER("readahead_bytes", readahead_pages, 0, UINT64_C(1) << 30),
    NUMBER("request_bytes", request_pages, PAGE_BYTES, CHUNK_PAGES * PAGE_BYTES),
    NUMBER("files", files_limit_count, 16, MOST_FILES),
    NUMBER("replicas", replicas_count, 1, MAX_REPLICAS),
    NUMBER("acknowledge", acknowledge_count, 1, MAX_REPLICAS),
    NUMBER("local_replicas", local_replicas_count, 0, MAX_REPLICAS),
    NUMBER("link_bytes_per_s", link_bytes_per_s, 0, UINT64_C(1) << 50),
    NUMBER("front_parallel", front_parallel_count, 0, MAX_SLOTS),
    NUMBER("device_parallel", device_parallel_count, 1, MAX_SLOTS),
    NUMBER("seed", seed, 0, UINT64_MAX),
    NUMBER("stall_after_ns", stall_after_ns, 0, UINT64_MAX >> 2),
    NUMBER("stall_ns", stall_ns, 0, UINT64_MAX >> 2),
    NUMBER("read_work_ns", work_ns[KIND_READ], 0, UINT64_C(1000000000)),
    NUMBER("write_work_ns", work_ns[KIND_WRITE], 0, UINT64_C(1000000000)),
    NUMBER("sync_work_ns", work_ns[KIND_SYNC], 0, UINT64_C(1000000000)),
    NUMBER("device_bytes", device_bytes, 0, UINT64_MAX >> 1),
};

struct table {
    const char *name;
    size_t at;
};

static const struct table TABLES[] = {
    {"front_read", offsetof(struct settings, front[KIND_READ])},
    {"front_write", offsetof(struct settings, front[KIND_WRITE])},
    {"front_sync", offsetof(struct settings, front[KIND_SYNC])},
    {"device_read", offsetof(struct settings, device[KIND_READ])},
    {"device_write", offsetof(struct settings, device[KIND_WRITE])},
    {"device_sync", offsetof(struct settings, device[KIND_SYNC])},
    {"round_trip", offsetof(struct settings, round_trip)},
};

static char complaint[256];

static const char *complain(const char *what, const char *about)
{
    snprintf(complaint, sizeof complaint, "%.100s: %.100s", about, what);
    return complaint;
}

static bool read_number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *text != '-';
}

static const char *read_table(struct settings *settings, char *rest)
{
    char *name = strtok(rest, " ");
    for (size_t i = 0; name && i < sizeof TABLES / sizeof *TABLES; i++) {
        if (strcmp(name, TABLES[i].name) != 0)
            continue;
        struct latency_table *table =
            (struct latency_table *)((char *)settings + TABLES[i].at);
        table->costs = 0;
        for (int n = 0; n < TABLE_LENGTH; n++) {
            char *word = strtok(NULL, " ");
            if (!word || !read_number(word, &table->ns[n]))
                return complain("needs 1024 whole numbers", name);
            if (table->ns[n] > UINT64_C(3600000000000) || (n && table->ns[n] < table->ns[n - 1]))
                return complain("values must ascend and stay below an hour", name);
            table->costs |= table->ns[n] > 0;
        }
        return strtok(NULL, " ") ? complain("needs 1024 whole numbers", name) : NULL;
    }
    return complain("no such table", name ? name : "table");
}

static const char *read_limit(struct settings *settings, char *rest)
{
    char tier[16], on[16], of[16];
    struct limit limit = {0};
    double slice_ns = 0; /* the last word may be left out */
    if (sscanf(rest, "%15s %15s %15s %lf %lf %lf %lf", tier, on, of, &limit.rate_per_s,
               &limit.credits_count, &limit.start_credits_count, &slice_ns) < 6)
        return complain("needs tier, direction, what, rate, credits, start", "limit");
    if (!(slice_ns >= 0 && slice_ns <= 1e12))
        return complain("a slice is at most 1,000 s", "limit");
    limit.slice_ns = (uint64_t)slice_ns;
    limit.on = !strcmp(on, "read") ? ON_READ : !strcmp(on, "write") ? ON_WRITE : ON_BOTH;
    limit.of = !strcmp(of, "bytes") ? OF_BYTES : OF_REQUESTS;
    if (!(limit.rate_per_s > 0) || limit.rate_per_s > 1e15 || !(limit.credits_count >= 0) ||
        !(limit.start_credits_count >= 0) || limit.start_credits_count > limit.credits_count)
        return complain("needs a rate above 0 and a start within its credits", "limit");
    limit.unit_ns = 1e9 / limit.rate_per_s;
    double tolerance_ns = limit.credits_count * limit.unit_ns;
    limit.tolerance_ns = tolerance_ns < 1e18 ? (uint64_t)tolerance_ns : UINT64_C(1000000000000000000);
    bool front = strcmp(tier, "front") == 0;
    uint32_t *count = front ? &settings->front_limits_count : &settings->device_limits_count;
    if (*count == MAX_LIMITS)
        return complain("more than 8 on one tier", "limit");
    (front ? settings->front_limits : settings->device_limits)[(*count)++] = limit;
    return NULL;
}

static const char *read_cuts(struct power_cuts *cuts, const char *key, const char *value)
{
    if (!strcmp(key, "power_cut_pages"))
        return read_number(value, &cuts->pages) && cuts->pages >= LEAST_RECORDS &&
                       cuts->pages <= MOST_RECORDS
                   ? NULL
                   : complain("out of range", key);
    if (strlen(value) >= ROOT_BYTES / 2 || value[0] != '/')
        return complain("needs an absolute path", key);
    strcpy(cuts->directory, value);
    return NULL;
}

static const char *read_word(struct settings *settings, struct power_cuts *cuts, const char *key,
                             char *value)
{
    if (!strncmp(key, "power_cut", 9))
        return read_cuts(cuts, key, value);
    if (!strcmp(key, "root")) {
        if (settings->roots_count == MAX_ROOTS || strlen(value) >= ROOT_BYTES || value[0] != '/')
            return complain("at most 4 absolute paths", "root");
        strcpy(settings->roots[settings->roots_count++], value);
        return NULL;
    }
    if (!strcmp(key, "reads")) {
        settings->reads_are_local = strcmp(value, "local") == 0;
        return NULL;
    }
    if (!strcmp(key, "table"))
        return read_table(settings, value);
    if (!strcmp(key, "limit"))
        return read_limit(settings, value);
    double *ratio = !strcmp(key, "read_error_ratio")    ? &settings->read_error_ratio
                    : !strcmp(key, "write_error_ratio") ? &settings->write_error_ratio
                                                        : NULL;
    if (ratio) {
        *ratio = strtod(value, NULL);
        return *ratio >= 0 && *ratio <= 1 ? NULL : complain("must be between 0 and 1", key);
    }
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        if (strcmp(key, NUMBERS[i].name) != 0)
            continue;
        uint64_t number;
        if (!read_number(value, &number) || number < NUMBERS[i].least || number > NUMBERS[i].most)
            return complain("out of range", key);
        char *at = (char *)settings + NUMBERS[i].at;
        if (NUMBERS[i].size == sizeof(uint32_t))
            *(uint32_t *)at = (uint32_t)number;
        else
            *(uint64_t *)at = number;
        return NULL;
    }
    return complain("no such key", key);
}

static uint64_t power_of_two(uint64_t least, uint64_t low, uint64_t high)
{
    uint64_t value = low;
    while (value < least && value < high)
        value <<= 1;
    return value;
}

static const char *settle(struct settings *settings)
{
    if (settings->roots_count == 0)
        return complain("missing", "root");
    if (settings->acknowledge_count > settings->replicas_count)
        return complain("more than there are replicas", "acknowledge");
    if (settings->dirty_background_pages > settings->dirty_limit_pages)
        return complain("above dirty_limit_bytes", "dirty_background_bytes");
    settings->dirty_limit_pages >>= PAGE_SHIFT;
    settings->dirty_background_pages >>= PAGE_SHIFT;
    settings->readahead_pages >>= PAGE_SHIFT;
    settings->request_pages >>= PAGE_SHIFT;
    settings->files_limit_count = power_of_two(settings->files_limit_count, 16, MOST_FILES);
    return NULL;
}

const char *config_read(FILE *file, struct settings *settings, struct power_cuts *cuts)
{
    *cuts = (struct power_cuts){0};
    *settings = (struct settings){.replicas_count = 1,
                                  .acknowledge_count = 1,
                                  .reads_are_local = 1,
                                  .local_replicas_count = MAX_REPLICAS,
                                  .device_parallel_count = 1,
                                  .writeback_depth_count = 64,
                                  .dirty_expire_ns = UINT64_C(30000000000),
                                  .request_pages = 262144,
                                  .readahead_pages = 131072,
                                  .files_limit_count = 65536};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    const char *wrong = NULL;
    bool first = true;
    while (!wrong && (length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        if (first) {
            if (strcmp(line, "groundspeed-storage 1") != 0)
                wrong = complain("this is no configuration of format 1", "configuration");
            first = false;
            continue;
        }
        if (line[0] == '\0' || line[0] == '#')
            continue;
        char *value = strchr(line, ' ');
        if (!value) {
            wrong = complain("has no value", line);
            break;
        }
        *value++ = '\0';
        wrong = read_word(settings, cuts, line, value);
    }
    free(line);
    if (!wrong && first)
        wrong = complain("is empty", "configuration");
    return wrong ? wrong : settle(settings);
}

static uint64_t cache_sets(const struct settings *settings)
{
    /* Whole groups of eight sets, which eight neighbouring pages share. */
    uint64_t sets = (settings->cache_bytes >> PAGE_SHIFT) / CACHE_WAYS;
    return sets < 8 ? (sets ? 8 : 0) : sets & ~UINT64_C(7);
}

/* Room for every dirty page being in a chunk of its own with one neighbour, at half load. */
static uint64_t chunks_limit(const struct settings *settings)
{
    return power_of_two(settings->dirty_limit_pages, LEAST_CHUNKS, MOST_CHUNKS);
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 4095) & ~UINT64_C(4095);
}

static uint64_t lay_out(struct state *state, const struct settings *settings)
{
    uint64_t chunks = chunks_limit(settings);
    uint64_t at = aligned(sizeof(struct state));
    state->files_at = at;
    at = aligned(at + settings->files_limit_count * sizeof(struct file));
    state->pages_at = at;
    at = aligned(at + cache_sets(settings) * sizeof(struct page_set));
    state->chunk_keys_at = at;
    at = aligned(at + chunks * sizeof(uint64_t));
    state->chunk_bits_at = at;
    at = aligned(at + chunks * CHUNK_WORDS * sizeof(uint64_t));
    state->chunk_since_at = at;
    return aligned(at + chunks * sizeof(uint64_t));
}

uint64_t config_state_bytes(const struct settings *settings)
{
    static struct state scratch;
    return lay_out(&scratch, settings);
}

void config_initialise(struct state *state, const struct settings *settings, uint64_t now_ns)
{
    state->settings = *settings;
    state->format = STATE_FORMAT;
    state->header_bytes = sizeof(struct state);
    state->cache_sets = cache_sets(settings);
    state->chunks_limit_count = chunks_limit(settings);
    state->total_bytes = lay_out(state, settings);
    state->background_ns = now_ns;

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    /* Held over what is kept and the call after it, which look into the model, too. */
    if (journal)
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&state->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    device_refill(state, now_ns);
    /* Last: a state without it is refused, so nobody uses a half-made one. */
    state->magic = STATE_MAGIC;
}

const char *config_journal(const char *state_path, const struct settings *settings,
                           const struct power_cuts *cuts)
{
    struct stat root, directory;
    if (stat(cuts->directory, &directory) != 0 || !S_ISDIR(directory.st_mode))
        return complain("is no directory", cuts->directory);
    /* A removed file is kept under another name, which no other file system can give it. */
    for (uint32_t i = 0; i < settings->roots_count; i++)
        if (stat(settings->roots[i], &root) != 0 || root.st_dev != directory.st_dev)
            return complain("must be on the file system of every root", cuts->directory);
    uint64_t dirty = settings->dirty_limit_pages;
    uint64_t pages = cuts->pages ? cuts->pages : dirty + dirty / 4 + SPARE_RECORDS;
    return journal_create(state_path, cuts->directory, pages < MOST_RECORDS ? pages : MOST_RECORDS,
                          settings->files_limit_count);
}

struct state *config_open(const char *path, const char **why)
{
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        *why = strerror(errno);
        return NULL;
    }
    struct stat status;
    struct state *state = MAP_FAILED;
    *why = "this is no state of an emulated device, or one of another version";
    if (fstat(descriptor, &status) == 0 && (uint64_t)status.st_size >= sizeof(struct state))
        state = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (state == MAP_FAILED)
        return NULL;
    if (state->magic == STATE_MAGIC && state->format == STATE_FORMAT &&
        state->header_bytes == sizeof(struct state) &&
        state->total_bytes <= (uint64_t)status.st_size)
        return state;
    munmap(state, (size_t)status.st_size);
    return NULL;
}
