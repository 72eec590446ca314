/* Files, page cache, dirty pages and write-back of an emulated device. See storage_pages.h.
 *
 * The page cache needs no lock. Everything about dirty pages is behind one robust mutex, held for
 * microseconds; the background write-back is played by whoever comes by, up to the present, in the
 * order in which it would have happened.
 */
#define _GNU_SOURCE
#include "storage_pages.h"

#include <errno.h>

#include "storage_device.h"

#define GENERATION_MASK UINT32_C(0xfff)
#define FILE_WAYS 16
#define PERIOD_NS UINT64_C(5000000000) /* dirty_writeback_centisecs */
#define SWEEP_AT_ONCE 65536
#define SENT_AT_ONCE 4096
/* A page's stamp is renewed only when it is older: most hits then write nothing. */
#define STAMP_NS UINT64_C(10000000)
/* So many pages of one read are looked up at once on the short way. */
#define SHORT_PAGES 4

/* ---- keys: place of the file (20 bits), generation (12), page or chunk (32) */

static uint64_t key_of(struct file_id id, uint64_t number)
{
    return (uint64_t)id.place << 44 | (uint64_t)(id.generation & GENERATION_MASK) << 32 |
           (number & UINT32_MAX);
}

static uint64_t end_page(uint64_t offset, uint64_t length)
{
    return (offset + length + PAGE_BYTES - 1) >> PAGE_SHIFT;
}

/* ---- the lock */

static void recover(struct state *state);

static void lock(struct state *state)
{
    if (pthread_mutex_lock(&state->lock) == EOWNERDEAD) {
        recover(state);
        pthread_mutex_consistent(&state->lock);
    }
}

static void unlock(struct state *state)
{
    pthread_mutex_unlock(&state->lock);
}

/* ---- page cache */

/* A page may be in either of two sets: with one, sets overflow long before the cache is full, and a
 * data set of nine tenths of the memory would miss where a true cache holds all of it (the power of
 * two choices; Azar, Broder, Karlin, Upfal 1999). */
struct places {
    struct page_set *set[2];
};

struct place {
    struct page_set *set; /* NULL: not cached */
    int way;
};

static struct places places_of(struct state *state, uint64_t key)
{
    /* Eight neighbours hash together and then go to eight sets side by side: a database's page of
     * several of ours is found in memory that is near, and each set is filled as by a hash a page. */
    uint64_t hash = mix(key >> 3), sets = state->cache_sets, low = key & 7;
    struct page_set *all = page_sets_of(state);
    return (struct places){{all + (((hash & UINT32_MAX) * sets >> 32) ^ low),
                            all + (((hash >> 32) * sets >> 32) ^ low)}};
}

static struct place find_in(struct places places, uint64_t key)
{
    for (int half = 0; half < 2; half++)
        for (int way = 0; way < CACHE_WAYS; way++)
            if (word_load(&places.set[half]->keys[way]) == key)
                return (struct place){places.set[half], way};
    return (struct place){NULL, 0};
}

static struct place find(struct state *state, uint64_t key)
{
    if (state->cache_sets == 0)
        return (struct place){NULL, 0};
    return find_in(places_of(state, key), key);
}

static bool is_cached(struct state *state, uint64_t key)
{
    return find(state, key).set != NULL;
}

/* The way of a set used least recently, and how many have never been used. */
static int oldest_of(struct page_set *set, int *empty)
{
    int oldest = 0;
    *empty = 0;
    for (int way = 0; way < CACHE_WAYS; way++) {
        uint64_t stamp_ns = word_load(&set->stamps_ns[way]);
        *empty += stamp_ns == 0;
        if (stamp_ns < word_load(&set->stamps_ns[oldest]))
            oldest = way;
    }
    return oldest;
}

/* Put a page in, in the place of the one used least recently. Two processes may put the same page
 * in twice: it then takes the room of two until the older copy leaves. */
static void put(struct state *state, uint64_t key, uint64_t stamp_ns)
{
    if (state->cache_sets == 0)
        return;
    struct places places = places_of(state, key);
    struct place place = find_in(places, key);
    if (!place.set) {
        int empty[2];
        int oldest[2] = {oldest_of(places.set[0], &empty[0]), oldest_of(places.set[1], &empty[1])};
        /* The first set while it has much room: what is found in it was found at once. */
        bool second = empty[0] > CACHE_WAYS / 4 ? false
                      : empty[0] != empty[1]
                          ? empty[1] > empty[0]
                          : word_load(&places.set[1]->stamps_ns[oldest[1]]) <
                                word_load(&places.set[0]->stamps_ns[oldest[0]]);
        place = (struct place){places.set[second], oldest[second]};
    }
    word_store(&place.set->stamps_ns[place.way], stamp_ns);
    word_store(&place.set->keys[place.way], key);
}

static void drop(struct state *state, uint64_t key)
{
    struct place place = find(state, key);
    if (place.set) {
        word_store(&place.set->keys[place.way], 0);
        word_store(&place.set->stamps_ns[place.way], 0);
    }
}

/* Renew the stamp of a page that is used; gives the stamp it had. */
static uint64_t use(struct place place, uint64_t now_ns)
{
    atomic_word *word = &place.set->stamps_ns[place.way];
    uint64_t stamp_ns = word_load(word);
    if (stamp_ns + STAMP_NS < now_ns)
        word_store(word, now_ns);
    return stamp_ns;
}

/* ---- dirty chunks (behind the lock) */

static uint64_t *chunk_bits(struct state *state, uint64_t chunk)
{
    return chunk_bits_of(state, chunk);
}

static bool chunk_is_clean(struct state *state, uint64_t chunk)
{
    const uint64_t *bits = chunk_bits(state, chunk);
    for (int i = 0; i < CHUNK_WORDS; i++)
        if (bits[i])
            return false;
    return true;
}

/* A chunk's place; with `make`, a clean one is taken. UINT64_MAX: none. */
static uint64_t chunk_place(struct state *state, uint64_t key, bool make)
{
    uint64_t *keys = chunk_keys_of(state);
    uint64_t mask = state->chunks_limit_count - 1, from = mix(key), clean = UINT64_MAX;
    for (uint64_t i = 0; i < CHUNK_WINDOW; i++) {
        uint64_t place = (from + i) & mask;
        if (keys[place] == key)
            return place;
        if (make && clean == UINT64_MAX && (keys[place] == 0 || chunk_is_clean(state, place)))
            clean = place;
    }
    if (clean != UINT64_MAX) {
        keys[clean] = key;
        chunk_since_of(state)[clean] = 0;
    }
    return clean;
}

static struct file *file_at(struct state *state, uint32_t place)
{
    return &files_of(state)[place];
}

static void count_dirty(struct state *state, struct file *file, uint64_t pages)
{
    word_add(&state->dirty_pages, pages);
    word_add(&file->dirty_pages, pages);
    word_raise(&state->dirty_peak_pages,
               word_load(&state->dirty_pages) + word_load(&state->in_flight_pages));
}

static void count_clean(struct state *state, struct file *file, uint64_t pages)
{
    word_add(&state->dirty_pages, -pages);
    word_add(&file->dirty_pages, -pages);
}

static void recover(struct state *state)
{
    uint64_t total = 0;
    struct file *files = files_of(state);
    for (uint64_t i = 0; i < state->settings.files_limit_count; i++) {
        word_store(&files[i].dirty_pages, 0);
        word_store(&files[i].first_chunk, 0);
        word_store(&files[i].last_chunk, UINT32_MAX);
    }
    for (uint64_t chunk = 0; chunk < state->chunks_limit_count; chunk++) {
        uint64_t key = chunk_keys_of(state)[chunk];
        uint64_t pages = 0, *bits = chunk_bits(state, chunk);
        for (int i = 0; i < CHUNK_WORDS; i++)
            pages += (uint64_t)__builtin_popcountll(bits[i]);
        if (pages == 0)
            continue;
        struct file *file = file_at(state, (uint32_t)(key >> 44));
        if ((word_load(&file->generation) & GENERATION_MASK) != ((key >> 32) & GENERATION_MASK)) {
            for (int i = 0; i < CHUNK_WORDS; i++)
                bits[i] = 0;
            continue;
        }
        word_add(&file->dirty_pages, pages);
        total += pages;
    }
    word_store(&state->dirty_pages, total);
    if (state->ring_tail - state->ring_head > RING_LENGTH)
        state->ring_head = state->ring_tail;
    uint64_t in_flight = 0;
    for (uint64_t i = state->ring_head; i != state->ring_tail; i++)
        in_flight += state->ring[i % RING_LENGTH].pages;
    word_store(&state->in_flight_pages, in_flight);
}

/* ---- write-back (behind the lock) */

static void land(struct state *state, uint64_t now_ns)
{
    while (state->ring_head != state->ring_tail) {
        struct in_flight *oldest = &state->ring[state->ring_head % RING_LENGTH];
        if (oldest->done_ns > now_ns)
            break;
        word_add(&state->in_flight_pages, -oldest->pages);
        state->ring_head++;
    }
}

/* The moment from which one more request may be in flight, 0 when one may be at `at_ns`. */
static uint64_t window_opens(struct state *state, uint64_t at_ns)
{
    land(state, at_ns);
    uint64_t in_flight = state->ring_tail - state->ring_head;
    uint64_t depth = state->settings.writeback_depth_count;
    return in_flight < depth ? 0 : state->ring[(state->ring_tail - depth) % RING_LENGTH].done_ns;
}

static void fly(struct state *state, uint64_t done_ns, uint64_t pages)
{
    /* In order of their ends as far as the window needs it: a request that ends before an earlier
     * one counts until that one has ended. */
    if (state->ring_tail != state->ring_head) {
        uint64_t before = state->ring[(state->ring_tail - 1) % RING_LENGTH].done_ns;
        if (done_ns < before)
            done_ns = before;
    }
    state->ring[state->ring_tail % RING_LENGTH] =
        (struct in_flight){.done_ns = done_ns, .pages = pages};
    state->ring_tail++;
    word_add(&state->in_flight_pages, pages);
}

/* The first run of dirty pages of a chunk in [from, to), at most one request long; false: none. */
static bool first_run(struct state *state, uint64_t chunk, uint32_t from, uint32_t to,
                      uint32_t *first, uint32_t *length)
{
    const uint64_t *bits = chunk_bits(state, chunk);
    uint32_t at = from;
    while (at < to) {
        uint64_t word = bits[at / 64] >> (at % 64);
        if (word) {
            at += (uint32_t)__builtin_ctzll(word);
            break;
        }
        at = (at / 64 + 1) * 64;
    }
    if (at >= to)
        return false;
    *first = at;
    uint64_t most = state->settings.request_pages;
    while (at < to && at - *first < most && (bits[at / 64] >> (at % 64) & 1))
        at++;
    *length = at - *first;
    return true;
}

static uint64_t send_run(struct state *state, struct file *file, uint64_t chunk, uint32_t first,
                         uint32_t length, uint64_t at_ns)
{
    struct answer answer =
        device_request(state, KIND_WRITE, (uint64_t)length << PAGE_SHIFT, at_ns);
    uint64_t *bits = chunk_bits(state, chunk);
    for (uint32_t page = first; page < first + length; page++)
        bits[page / 64] &= ~(UINT64_C(1) << (page % 64));
    count_clean(state, file, length);
    fly(state, answer.done_ns, length);
    word_raise(&file->written_until_ns, answer.done_ns);
    if (answer.failed)
        word_store(&file->failed, 1);
    return answer.done_ns;
}

static bool is_current(struct state *state, uint64_t key)
{
    struct file *file = file_at(state, (uint32_t)(key >> 44));
    return (word_load(&file->generation) & GENERATION_MASK) == ((key >> 32) & GENERATION_MASK);
}

static bool over_background(struct state *state)
{
    return word_load(&state->dirty_pages) > state->settings.dirty_background_pages;
}

static void forget_bits(struct state *state, uint64_t chunk)
{
    uint64_t *bits = chunk_bits(state, chunk);
    for (int i = 0; i < CHUNK_WORDS; i++)
        bits[i] = 0;
}

/* Send one run of any file that has to go; false: nothing has to. */
static bool send_one(struct state *state, uint64_t at_ns)
{
    for (uint32_t looked = 0; looked < SWEEP_AT_ONCE; looked++) {
        bool amount = over_background(state);
        if (!amount && state->sweep_left == 0)
            return false;
        uint64_t chunk = state->sweep_at;
        uint64_t key = chunk_keys_of(state)[chunk];
        uint32_t first, length;
        if (key && (amount || chunk_since_of(state)[chunk] <= state->sweep_before_ns) &&
            first_run(state, chunk, 0, CHUNK_PAGES, &first, &length)) {
            if (is_current(state, key)) {
                send_run(state, file_at(state, (uint32_t)(key >> 44)), chunk, first, length,
                         at_ns);
                return true;
            }
            forget_bits(state, chunk);
        }
        state->sweep_at = (chunk + 1) & (state->chunks_limit_count - 1);
        if (state->sweep_left)
            state->sweep_left--;
    }
    return false;
}

/* Play what the background write-back has done since somebody last looked. */
static void play_background(struct state *state, uint64_t now_ns)
{
    if (state->next_periodic_ns == 0)
        state->next_periodic_ns = now_ns + PERIOD_NS;
    if (now_ns >= state->next_periodic_ns) {
        uint64_t expire_ns = state->settings.dirty_expire_ns;
        state->sweep_before_ns = now_ns > expire_ns ? now_ns - expire_ns : 0;
        state->sweep_left = state->chunks_limit_count;
        state->next_periodic_ns = now_ns + PERIOD_NS;
        if (state->background_ns < now_ns - PERIOD_NS)
            state->background_ns = now_ns;
    }
    if (!over_background(state) && state->sweep_left == 0) {
        state->background_ns = now_ns;
        land(state, now_ns);
        return;
    }
    for (uint32_t sent = 0; sent < SENT_AT_ONCE; sent++) {
        uint64_t at = state->background_ns, opens = window_opens(state, at);
        if (opens > at)
            at = opens;
        if (at > now_ns)
            break;
        land(state, at);
        if (!send_one(state, at)) {
            state->background_ns = now_ns;
            break;
        }
        state->background_ns = at;
    }
    land(state, now_ns);
}

/* Send the dirty pages of a range of a file, as many as the window lets through now. */
static struct owed send_range(struct state *state, struct file_id id, uint64_t from_page,
                              uint64_t to_page, uint64_t now_ns)
{
    struct owed owed = {0};
    struct file *file = file_at(state, id.place);
    if (word_load(&file->dirty_pages) == 0)
        return owed;
    uint64_t first_chunk = from_page >> CHUNK_SHIFT, last_chunk = (to_page - 1) >> CHUNK_SHIFT;
    if (first_chunk < word_load(&file->first_chunk))
        first_chunk = word_load(&file->first_chunk);
    if (last_chunk > word_load(&file->last_chunk))
        last_chunk = word_load(&file->last_chunk);
    for (uint64_t number = first_chunk; number <= last_chunk; number++) {
        uint64_t chunk = chunk_place(state, key_of(id, number), false);
        if (chunk == UINT64_MAX)
            continue;
        uint64_t base = number << CHUNK_SHIFT;
        uint32_t from = from_page > base ? (uint32_t)(from_page - base) : 0;
        uint32_t to = to_page - base < CHUNK_PAGES ? (uint32_t)(to_page - base) : CHUNK_PAGES;
        uint32_t first, length;
        while (first_run(state, chunk, from, to, &first, &length)) {
            uint64_t opens = window_opens(state, now_ns);
            if (opens > now_ns) {
                owed.again_ns = opens;
                return owed;
            }
            uint64_t done_ns = send_run(state, file, chunk, first, length, now_ns);
            if (done_ns > owed.done_ns)
                owed.done_ns = done_ns;
            if (word_load(&file->dirty_pages) == 0)
                return owed;
        }
    }
    return owed;
}

/* ---- files */

bool pages_is(struct state *state, struct file_id id)
{
    return id.generation && word_load(&file_at(state, id.place)->generation) == id.generation;
}

static bool is_file(struct file *file, const struct file_identity *identity)
{
    return word_load(&file->inode) == identity->inode &&
           word_load(&file->device) == identity->device &&
           word_load(&file->birth_ns) == identity->birth_ns && identity->inode != 0;
}

static uint32_t first_place(struct state *state, const struct file_identity *identity)
{
    uint64_t sets = state->settings.files_limit_count / FILE_WAYS;
    return (uint32_t)(mix(identity->inode ^ mix(identity->device)) % sets) * FILE_WAYS;
}

static void forget_range(struct state *state, struct file_id id, uint64_t from_page)
{
    struct file *file = file_at(state, id.place);
    if (word_load(&file->dirty_pages) == 0)
        return;
    for (uint64_t number = word_load(&file->first_chunk); number <= word_load(&file->last_chunk);
         number++) {
        uint64_t base = number << CHUNK_SHIFT;
        if (base + CHUNK_PAGES <= from_page)
            continue;
        uint64_t chunk = chunk_place(state, key_of(id, number), false);
        if (chunk == UINT64_MAX)
            continue;
        uint64_t *bits = chunk_bits(state, chunk), pages = 0;
        for (uint64_t page = from_page > base ? from_page - base : 0; page < CHUNK_PAGES; page++) {
            uint64_t bit = UINT64_C(1) << (page % 64);
            pages += (bits[page / 64] & bit) != 0;
            bits[page / 64] &= ~bit;
        }
        count_clean(state, file, pages);
        if (word_load(&file->dirty_pages) == 0)
            return;
    }
}

/* Give a place up: the next generation makes all that is known of the file unreachable. */
static void vacate(struct state *state, uint32_t place)
{
    struct file *file = file_at(state, place);
    uint64_t generation = word_load(&file->generation);
    if (word_load(&file->inode) == 0)
        return;
    struct file_id id = {.place = place, .generation = (uint32_t)generation};
    forget_range(state, id, 0);
    word_store(&file->inode, 0);
    word_store(&file->generation, generation + 1);
    word_add(&state->used_bytes, -word_load(&file->size_bytes));
    word_add(&state->files_count, (uint64_t)-1);
}

static uint32_t place_for(struct state *state, uint32_t from)
{
    uint32_t oldest = from;
    uint64_t oldest_ns = UINT64_MAX;
    for (uint32_t place = from; place < from + FILE_WAYS; place++) {
        struct file *file = file_at(state, place);
        if (word_load(&file->inode) == 0)
            return place;
        /* What is dirty still has to reach the device, so it is given up last. */
        uint64_t used_ns = word_load(&file->used_ns) >> 1;
        if (word_load(&file->dirty_pages))
            used_ns |= UINT64_C(1) << 63;
        if (used_ns < oldest_ns) {
            oldest = place;
            oldest_ns = used_ns;
        }
    }
    word_add(&state->files_forgotten_count, 1);
    vacate(state, oldest);
    return oldest;
}

struct file_id pages_find(struct state *state, const struct file_identity *identity,
                          uint64_t now_ns)
{
    uint32_t from = first_place(state, identity);
    lock(state);
    uint32_t place = from;
    while (place < from + FILE_WAYS && !is_file(file_at(state, place), identity))
        place++;
    if (place == from + FILE_WAYS) {
        place = place_for(state, from);
        struct file *file = file_at(state, place);
        uint64_t generation = word_load(&file->generation);
        /* Never 0 in the bits that keys carry: 0 is no file. */
        while ((generation & GENERATION_MASK) == 0)
            generation++;
        word_store(&file->generation, generation);
        word_store(&file->device, identity->device);
        word_store(&file->birth_ns, identity->birth_ns);
        word_store(&file->size_bytes, identity->size_bytes);
        word_store(&file->written_until_ns, 0);
        word_store(&file->failed, 0);
        word_store(&file->dirty_pages, 0);
        word_store(&file->first_chunk, UINT64_MAX);
        word_store(&file->last_chunk, 0);
        word_store(&file->inode, identity->inode);
        word_add(&state->used_bytes, identity->size_bytes);
        word_add(&state->files_count, 1);
    }
    struct file *file = file_at(state, place);
    word_store(&file->used_ns, now_ns);
    struct file_id id = {.place = place, .generation = (uint32_t)word_load(&file->generation)};
    unlock(state);
    return id;
}

void pages_forget(struct state *state, const struct file_identity *identity)
{
    uint32_t from = first_place(state, identity);
    lock(state);
    for (uint32_t place = from; place < from + FILE_WAYS; place++)
        if (is_file(file_at(state, place), identity))
            vacate(state, place);
    unlock(state);
}

/* ---- reading */

/* Ask the device for pages [from, to), in requests of at most the profile's size. */
static uint64_t fetch(struct state *state, struct file_id id, uint64_t from, uint64_t to,
                      uint64_t now_ns, bool keep, bool *failed)
{
    uint64_t last = now_ns, most = state->settings.request_pages;
    while (from < to) {
        uint64_t length = to - from < most ? to - from : most;
        struct answer answer = device_request(state, KIND_READ, length << PAGE_SHIFT, now_ns);
        *failed = *failed || answer.failed;
        if (answer.done_ns > last)
            last = answer.done_ns;
        for (uint64_t page = from; keep && !answer.failed && page < from + length; page++)
            put(state, key_of(id, page), answer.done_ns);
        from += length;
    }
    return last;
}

/* How far a read that goes on where the last one ended should look ahead; the kernel's way: the
 * window doubles with each, and is asked for again when half of it has been used. */
static uint64_t look_ahead(struct state *state, struct file_id id, struct reading *reading,
                           uint64_t from, uint64_t to)
{
    uint64_t most = state->settings.readahead_pages;
    bool goes_on = from == reading->next_page || from + 1 == reading->next_page;
    if (!goes_on || reading->random || most == 0) {
        reading->window_pages = 0;
        reading->ahead_page = 0;
        reading->next_page = to;
        return to;
    }
    uint64_t window = reading->window_pages ? 2 * (uint64_t)reading->window_pages : 4 * (to - from);
    reading->window_pages = (uint32_t)(window < most ? window : most);
    reading->next_page = to;
    if (reading->ahead_page >= to + reading->window_pages / 2)
        return to;
    uint64_t end = (word_load(&file_at(state, id.place)->size_bytes) + PAGE_BYTES - 1) >> PAGE_SHIFT;
    uint64_t ahead = to + reading->window_pages;
    reading->ahead_page = ahead;
    if (ahead > end)
        ahead = end;
    return ahead > to ? ahead : to;
}

bool pages_read_owes_nothing(struct state *state, struct file_id id, struct reading *reading,
                             uint64_t offset, uint64_t length, uint64_t about_now_ns)
{
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    if (to - from > SHORT_PAGES || state->cache_sets == 0)
        return false;
    bool goes_on = from == reading->next_page || from + 1 == reading->next_page;
    if (goes_on && !reading->random && reading->ahead_page < to + reading->window_pages / 2)
        return false;
    struct places places[SHORT_PAGES];
    for (uint64_t page = from; page < to; page++) {
        struct places *both = &places[page - from];
        *both = places_of(state, key_of(id, page));
        /* All likely lines are asked for before the first is looked at. */
        __builtin_prefetch(&both->set[0]->keys[0]);
        __builtin_prefetch(&both->set[0]->stamps_ns[0]);
    }
    struct place found[SHORT_PAGES];
    for (uint64_t page = from; page < to; page++) {
        found[page - from] = find_in(places[page - from], key_of(id, page));
        if (!found[page - from].set)
            return false;
    }
    for (uint64_t page = from; page < to; page++)
        if (use(found[page - from], about_now_ns) > about_now_ns)
            return false;
    if (!goes_on) {
        reading->window_pages = 0;
        reading->ahead_page = 0;
    }
    reading->next_page = to;
    return true;
}

struct owed pages_read(struct state *state, struct file_id id, struct reading *reading,
                       uint64_t offset, uint64_t length, uint64_t now_ns)
{
    struct owed owed = {0};
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    uint64_t ahead = look_ahead(state, id, reading, from, to);
    for (uint64_t page = from; page < ahead;) {
        struct place found = find(state, key_of(id, page));
        if (found.set) {
            uint64_t stamp_ns = use(found, now_ns);
            if (page < to) {
                owed.hit_pages++;
                if (stamp_ns > now_ns && stamp_ns > owed.done_ns)
                    owed.done_ns = stamp_ns; /* on its way already */
            }
            page++;
            continue;
        }
        uint64_t end = page + 1;
        while (end < ahead && end - page < state->settings.request_pages &&
               !is_cached(state, key_of(id, end)))
            end++;
        uint64_t done_ns = fetch(state, id, page, end, now_ns, true, &owed.failed);
        if (page < to) {
            owed.miss_pages += (uint32_t)((end < to ? end : to) - page);
            if (done_ns > owed.done_ns)
                owed.done_ns = done_ns;
        }
        if (end > to)
            word_add(&counters_here(state)->readahead_pages, end - (page > to ? page : to));
        page = end;
    }
    return owed;
}

struct owed pages_read_direct(struct state *state, struct file_id id, uint64_t offset,
                              uint64_t length, uint64_t now_ns)
{
    struct owed owed = {0};
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    owed.done_ns = fetch(state, id, from, to, now_ns, false, &owed.failed);
    owed.miss_pages = (uint32_t)(to - from);
    return owed;
}

void pages_prefetch(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                    uint64_t now_ns)
{
    uint64_t end = word_load(&file_at(state, id.place)->size_bytes);
    if (length == 0 || offset + length > end)
        length = end > offset ? end - offset : 0;
    bool failed = false;
    uint64_t to = end_page(offset, length);
    for (uint64_t page = offset >> PAGE_SHIFT; page < to;) {
        uint64_t until = page;
        while (until < to && !is_cached(state, key_of(id, until)))
            until++;
        if (until > page) {
            word_add(&counters_here(state)->readahead_pages, until - page);
            fetch(state, id, page, until, now_ns, true, &failed);
        }
        page = until + 1;
    }
}

void pages_drop_cached(struct state *state, struct file_id id, uint64_t offset, uint64_t length)
{
    if (state->cache_sets == 0)
        return;
    uint64_t size = word_load(&file_at(state, id.place)->size_bytes);
    if (length == 0 || offset + length > size)
        length = size > offset ? size - offset : 0;
    /* Dirty pages stay in the kernel's cache, too; here they lose their place and stay dirty. */
    for (uint64_t page = offset >> PAGE_SHIFT; page < end_page(offset, length); page++)
        drop(state, key_of(id, page));
}

/* ---- writing */

bool pages_have_room(struct state *state, struct file_id id, uint64_t end_bytes)
{
    uint64_t most = state->settings.device_bytes;
    uint64_t size = word_load(&file_at(state, id.place)->size_bytes);
    if (most == 0 || end_bytes <= size)
        return true;
    if (word_load(&state->used_bytes) + (end_bytes - size) <= most)
        return true;
    word_add(&counters_here(state)->full, 1);
    return false;
}

static void grow(struct state *state, struct file *file, uint64_t end_bytes)
{
    uint64_t size = word_load(&file->size_bytes);
    while (size < end_bytes)
        if (atomic_compare_exchange_weak(&file->size_bytes, &size, end_bytes)) {
            word_add(&state->used_bytes, end_bytes - size);
            return;
        }
}

static uint64_t mark_chunk(struct state *state, struct file_id id, struct file *file,
                           uint64_t number, uint32_t from, uint32_t to, uint64_t now_ns)
{
    uint64_t chunk = chunk_place(state, key_of(id, number), true);
    if (chunk == UINT64_MAX)
        return UINT64_MAX;
    if (number < word_load(&file->first_chunk))
        word_store(&file->first_chunk, number);
    if (number > word_load(&file->last_chunk))
        word_store(&file->last_chunk, number);
    if (chunk_since_of(state)[chunk] == 0 || chunk_is_clean(state, chunk))
        chunk_since_of(state)[chunk] = now_ns;
    uint64_t *bits = chunk_bits(state, chunk), fresh = 0;
    for (uint32_t page = from; page < to; page++) {
        uint64_t bit = UINT64_C(1) << (page % 64);
        fresh += !(bits[page / 64] & bit);
        bits[page / 64] |= bit;
    }
    count_dirty(state, file, fresh);
    return fresh;
}

/* Mark pages dirty. Where the table has no place for a chunk its pages go to the device at once. */
static uint64_t mark(struct state *state, struct file_id id, uint64_t from, uint64_t to,
                     uint64_t now_ns)
{
    struct file *file = file_at(state, id.place);
    uint64_t last_ns = 0;
    lock(state);
    if (word_load(&file->dirty_pages) == 0) {
        word_store(&file->first_chunk, UINT64_MAX);
        word_store(&file->last_chunk, 0);
    }
    for (uint64_t page = from; page < to;) {
        uint64_t number = page >> CHUNK_SHIFT, base = number << CHUNK_SHIFT;
        uint64_t until = to < base + CHUNK_PAGES ? to : base + CHUNK_PAGES;
        if (mark_chunk(state, id, file, number, (uint32_t)(page - base), (uint32_t)(until - base),
                       now_ns) == UINT64_MAX) {
            struct answer answer =
                device_request(state, KIND_WRITE, (until - page) << PAGE_SHIFT, now_ns);
            word_raise(&file->written_until_ns, answer.done_ns);
            if (answer.failed)
                word_store(&file->failed, 1);
            last_ns = answer.done_ns;
        }
        page = until;
    }
    play_background(state, now_ns);
    unlock(state);
    return last_ns;
}

/* A page that is written in part has to be read first, unless it is cached or past the end. */
static uint64_t complete_page(struct state *state, struct file_id id, uint64_t page, uint64_t now_ns,
                              struct owed *owed)
{
    uint64_t size = word_load(&file_at(state, id.place)->size_bytes);
    if (page << PAGE_SHIFT >= size || is_cached(state, key_of(id, page)))
        return 0;
    owed->miss_pages++;
    return fetch(state, id, page, page + 1, now_ns, true, &owed->failed);
}

struct owed pages_write(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                        uint64_t now_ns)
{
    struct owed owed = {0};
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    struct file *file = file_at(state, id.place);
    if (offset % PAGE_BYTES)
        owed.done_ns = complete_page(state, id, from, now_ns, &owed);
    uint64_t end = offset + length;
    if (end % PAGE_BYTES && end < word_load(&file->size_bytes) && (to - 1 != from || !(offset % PAGE_BYTES))) {
        uint64_t done_ns = complete_page(state, id, to - 1, now_ns, &owed);
        if (done_ns > owed.done_ns)
            owed.done_ns = done_ns;
    }
    for (uint64_t page = from; page < to; page++)
        put(state, key_of(id, page), now_ns);
    grow(state, file, end);
    uint64_t done_ns = mark(state, id, from, to, now_ns);
    if (done_ns > owed.done_ns)
        owed.done_ns = done_ns;
    return owed;
}

struct owed pages_throttle(struct state *state, uint64_t now_ns)
{
    struct owed owed = {0};
    uint64_t most = state->settings.dirty_limit_pages;
    if (word_load(&state->dirty_pages) + word_load(&state->in_flight_pages) <= most)
        return owed;
    lock(state);
    play_background(state, now_ns);
    if (word_load(&state->dirty_pages) + word_load(&state->in_flight_pages) > most &&
        state->ring_head != state->ring_tail) {
        uint64_t in_flight = state->ring_tail - state->ring_head;
        /* The middle of what is under way: waking for each request would be a storm. */
        owed.again_ns = state->ring[(state->ring_head + in_flight / 2) % RING_LENGTH].done_ns;
        if (owed.again_ns <= now_ns)
            owed.again_ns = now_ns + 1000;
    }
    unlock(state);
    return owed;
}

struct owed pages_write_direct(struct state *state, struct file_id id, uint64_t offset,
                               uint64_t length, uint64_t now_ns)
{
    struct owed owed = {.done_ns = now_ns};
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    for (uint64_t page = from; page < to; page++)
        drop(state, key_of(id, page));
    grow(state, file_at(state, id.place), offset + length);
    uint64_t most = state->settings.request_pages;
    while (from < to) {
        uint64_t pages = to - from < most ? to - from : most;
        struct answer answer = device_request(state, KIND_WRITE, pages << PAGE_SHIFT, now_ns);
        owed.failed = owed.failed || answer.failed;
        if (answer.done_ns > owed.done_ns)
            owed.done_ns = answer.done_ns;
        from += pages;
    }
    return owed;
}

void pages_resize(struct state *state, struct file_id id, uint64_t size_bytes)
{
    struct file *file = file_at(state, id.place);
    lock(state);
    uint64_t size = atomic_exchange(&file->size_bytes, size_bytes);
    word_add(&state->used_bytes, size_bytes - size);
    if (size_bytes < size)
        forget_range(state, id, (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT);
    unlock(state);
    uint64_t end = (size + PAGE_BYTES - 1) >> PAGE_SHIFT;
    for (uint64_t page = (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT; page < end; page++)
        drop(state, key_of(id, page));
}

void pages_grew(struct state *state, struct file_id id, uint64_t size_bytes, uint64_t now_ns)
{
    uint64_t known = word_load(&file_at(state, id.place)->size_bytes);
    if (size_bytes <= known)
        return;
    uint64_t from = known >> PAGE_SHIFT, to = (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
    for (uint64_t page = from; page < to; page++)
        put(state, key_of(id, page), now_ns);
    grow(state, file_at(state, id.place), size_bytes);
    mark(state, id, from, to, now_ns);
}

struct owed pages_send(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns)
{
    uint64_t to = length ? end_page(offset, length) : UINT32_MAX;
    lock(state);
    play_background(state, now_ns);
    struct owed owed = send_range(state, id, offset >> PAGE_SHIFT, to, now_ns);
    unlock(state);
    return owed;
}

struct owed pages_sync(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns)
{
    struct file *file = file_at(state, id.place);
    struct owed owed = pages_send(state, id, offset, length, now_ns);
    if (owed.again_ns)
        return owed;
    uint64_t written_ns = word_load(&file->written_until_ns);
    if (written_ns < now_ns)
        written_ns = now_ns;
    owed.failed = word_load(&file->failed) && atomic_exchange(&file->failed, 0);
    owed.done_ns = device_sync(state, written_ns);
    return owed;
}

struct owed pages_sync_all(struct state *state, uint64_t now_ns)
{
    struct owed owed = {.done_ns = now_ns};
    lock(state);
    play_background(state, now_ns);
    uint64_t *keys = chunk_keys_of(state);
    for (uint64_t chunk = 0; chunk < state->chunks_limit_count && !owed.again_ns; chunk++) {
        uint32_t first, length;
        while (keys[chunk] && is_current(state, keys[chunk]) &&
               first_run(state, chunk, 0, CHUNK_PAGES, &first, &length)) {
            owed.again_ns = window_opens(state, now_ns);
            if (owed.again_ns > now_ns)
                break;
            owed.again_ns = 0;
            uint64_t done_ns = send_run(state, file_at(state, (uint32_t)(keys[chunk] >> 44)),
                                        chunk, first, length, now_ns);
            if (done_ns > owed.done_ns)
                owed.done_ns = done_ns;
        }
    }
    if (!owed.again_ns && state->ring_head != state->ring_tail) {
        uint64_t last = state->ring[(state->ring_tail - 1) % RING_LENGTH].done_ns;
        if (last > owed.done_ns)
            owed.done_ns = last;
    }
    unlock(state);
    if (!owed.again_ns)
        owed.done_ns = device_sync(state, owed.done_ns);
    return owed;
}
