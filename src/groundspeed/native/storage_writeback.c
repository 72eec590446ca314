/* Dirty pages and write-back. See storage_writeback.h.
 *
 * Behind one robust mutex, held for microseconds. Nobody works in the background: whoever comes by
 * plays what the write-back has done since, up to the present, in the order in which it would have
 * happened.
 */
#define _GNU_SOURCE
#include "storage_writeback.h"

#include <errno.h>

#include "storage_device.h"
#include "storage_journal.h"

#define PERIOD_NS UINT64_C(5000000000) /* dirty_writeback_centisecs */
#define SWEEP_AT_ONCE 65536
#define SENT_AT_ONCE 4096

/* ---- the lock */

static void recover(struct state *state);

void state_lock(struct state *state)
{
    if (pthread_mutex_lock(&state->lock) == EOWNERDEAD) {
        recover(state);
        if (journal)
            journal_recover();
        pthread_mutex_consistent(&state->lock);
    }
}

void state_unlock(struct state *state)
{
    pthread_mutex_unlock(&state->lock);
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

/* Dirty pages of a file are between its first and its last chunk. */
static void widen(struct file *file, uint64_t number)
{
    if (number < word_load(&file->first_chunk))
        word_store(&file->first_chunk, number);
    if (number > word_load(&file->last_chunk))
        word_store(&file->last_chunk, number);
}

static void recover(struct state *state)
{
    uint64_t total = 0;
    struct file *files = files_of(state);
    for (uint64_t i = 0; i < state->settings.files_limit_count; i++) {
        word_store(&files[i].dirty_pages, 0);
        word_store(&files[i].first_chunk, UINT64_MAX);
        word_store(&files[i].last_chunk, 0);
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
        widen(file, key & UINT32_MAX);
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

/* Pages have a moment from which a power cut leaves them. */
static void note_sent(struct file *file, uint64_t from, uint64_t to, struct answer answer)
{
    /* What failed stays as it was before, as far as a power cut goes. */
    if (journal && !answer.failed)
        journal_sent(word_load(&file->device), word_load(&file->inode),
                     word_load(&file->birth_ns), from, to, answer.done_ns, false);
}

/* The moment from which one more request may be in flight, 0 when one may be at `at_ns`. */
static uint64_t window_opens(struct state *state, uint64_t at_ns, uint64_t depth)
{
    land(state, at_ns);
    uint64_t in_flight = state->ring_tail - state->ring_head;
    return in_flight < depth ? 0 : state->ring[(state->ring_tail - depth) % RING_LENGTH].done_ns;
}

/* A sync has as much room again as the write-back in the background, which is played up to the
 * present and so would always have taken what came free: who waits for a sync would wait until
 * nothing is left to write back. The kernel lets waiters for a queue in by turns, and keeps room
 * for those that sync (blk-wbt). */
static uint64_t sync_depth(const struct state *state)
{
    uint64_t twice = 2 * (uint64_t)state->settings.writeback_depth_count;
    return twice < RING_LENGTH ? twice : RING_LENGTH;
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
    uint64_t base = (chunk_keys_of(state)[chunk] & UINT32_MAX) << CHUNK_SHIFT;
    note_sent(file, base + first, base + first + length, answer);
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
    uint64_t depth = state->settings.writeback_depth_count;
    for (uint32_t sent = 0; sent < SENT_AT_ONCE; sent++) {
        uint64_t at = state->background_ns, opens = window_opens(state, at, depth);
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

void writeback_play(struct state *state, uint64_t now_ns)
{
    play_background(state, now_ns);
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
            uint64_t opens = window_opens(state, now_ns, sync_depth(state));
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

void dirty_forget(struct state *state, struct file_id id, uint64_t from_page)
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

static uint64_t mark_chunk(struct state *state, struct file_id id, struct file *file,
                           uint64_t number, uint32_t from, uint32_t to, uint64_t now_ns)
{
    uint64_t chunk = chunk_place(state, key_of(id, number), true);
    if (chunk == UINT64_MAX)
        return UINT64_MAX;
    widen(file, number);
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
uint64_t dirty_mark(struct state *state, struct file_id id, uint64_t from, uint64_t to,
                     uint64_t now_ns)
{
    struct file *file = file_at(state, id.place);
    uint64_t last_ns = 0;
    state_lock(state);
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
            note_sent(file, page, until, answer);
            word_raise(&file->written_until_ns, answer.done_ns);
            if (answer.failed)
                word_store(&file->failed, 1);
            last_ns = answer.done_ns;
        }
        page = until;
    }
    play_background(state, now_ns);
    state_unlock(state);
    return last_ns;
}

struct owed writeback_throttle(struct state *state, uint64_t now_ns)
{
    struct owed owed = {0};
    uint64_t most = state->settings.dirty_limit_pages;
    if (word_load(&state->dirty_pages) + word_load(&state->in_flight_pages) <= most)
        return owed;
    state_lock(state);
    play_background(state, now_ns);
    if (word_load(&state->dirty_pages) + word_load(&state->in_flight_pages) > most &&
        state->ring_head != state->ring_tail) {
        uint64_t in_flight = state->ring_tail - state->ring_head;
        /* The middle of what is under way: waking for each request would be a storm. */
        owed.again_ns = state->ring[(state->ring_head + in_flight / 2) % RING_LENGTH].done_ns;
        if (owed.again_ns <= now_ns)
            owed.again_ns = now_ns + 1000;
    }
    state_unlock(state);
    return owed;
}

struct owed writeback_send(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns)
{
    uint64_t to = length ? end_page(offset, length) : UINT32_MAX;
    state_lock(state);
    play_background(state, now_ns);
    struct owed owed = send_range(state, id, offset >> PAGE_SHIFT, to, now_ns);
    state_unlock(state);
    return owed;
}

struct owed writeback_sync(struct state *state, struct file_id id, uint64_t offset, uint64_t length,
                       uint64_t now_ns)
{
    struct file *file = file_at(state, id.place);
    struct owed owed = writeback_send(state, id, offset, length, now_ns);
    if (owed.again_ns)
        return owed;
    uint64_t written_ns = word_load(&file->written_until_ns);
    if (written_ns < now_ns)
        written_ns = now_ns;
    owed.failed = word_load(&file->failed) && atomic_exchange(&file->failed, 0);
    owed.done_ns = device_sync(state, written_ns);
    return owed;
}

struct owed writeback_sync_all(struct state *state, uint64_t now_ns)
{
    struct owed owed = {.done_ns = now_ns};
    state_lock(state);
    play_background(state, now_ns);
    uint64_t *keys = chunk_keys_of(state);
    for (uint64_t chunk = 0; chunk < state->chunks_limit_count && !owed.again_ns; chunk++) {
        uint32_t first, length;
        while (keys[chunk] && is_current(state, keys[chunk]) &&
               first_run(state, chunk, 0, CHUNK_PAGES, &first, &length)) {
            owed.again_ns = window_opens(state, now_ns, sync_depth(state));
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
    state_unlock(state);
    if (!owed.again_ns)
        owed.done_ns = device_sync(state, owed.done_ns);
    return owed;
}
