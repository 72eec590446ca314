/* Reading and writing through the page cache and past it. See storage_pages.h. */
#include "storage_pages.h"

#include "storage_cache.h"
#include "storage_device.h"
#include "storage_writeback.h"

/* So many pages of one read are looked up at once on the short way. */
#define SHORT_PAGES 4

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
            cache_put(state, key_of(id, page), answer.done_ns);
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
        *both = cache_places(state, key_of(id, page));
        /* All likely lines are asked for before the first is looked at. */
        __builtin_prefetch(&both->set[0]->keys[0]);
        __builtin_prefetch(&both->set[0]->stamps_ns[0]);
    }
    struct place found[SHORT_PAGES];
    for (uint64_t page = from; page < to; page++) {
        found[page - from] = cache_find_in(places[page - from], key_of(id, page));
        if (!found[page - from].set)
            return false;
    }
    for (uint64_t page = from; page < to; page++)
        if (cache_use(found[page - from], about_now_ns) > about_now_ns)
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
        struct place found = cache_find(state, key_of(id, page));
        if (found.set) {
            uint64_t stamp_ns = cache_use(found, now_ns);
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
               !cache_has(state, key_of(id, end)))
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
        while (until < to && !cache_has(state, key_of(id, until)))
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
        cache_drop(state, key_of(id, page));
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

/* A page that is written in part has to be read first, unless it is cached or past the end. */
static uint64_t complete_page(struct state *state, struct file_id id, uint64_t page, uint64_t now_ns,
                              struct owed *owed)
{
    uint64_t size = word_load(&file_at(state, id.place)->size_bytes);
    if (page << PAGE_SHIFT >= size || cache_has(state, key_of(id, page)))
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
        cache_put(state, key_of(id, page), now_ns);
    grow(state, file, end);
    uint64_t done_ns = dirty_mark(state, id, from, to, now_ns);
    if (done_ns > owed.done_ns)
        owed.done_ns = done_ns;
    return owed;
}

struct owed pages_write_direct(struct state *state, struct file_id id, uint64_t offset,
                               uint64_t length, uint64_t now_ns)
{
    struct owed owed = {.done_ns = now_ns};
    uint64_t from = offset >> PAGE_SHIFT, to = end_page(offset, length);
    for (uint64_t page = from; page < to; page++)
        cache_drop(state, key_of(id, page));
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
    state_lock(state);
    uint64_t size = atomic_exchange(&file->size_bytes, size_bytes);
    word_add(&state->used_bytes, size_bytes - size);
    if (size_bytes < size)
        dirty_forget(state, id, (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT);
    state_unlock(state);
    uint64_t end = (size + PAGE_BYTES - 1) >> PAGE_SHIFT;
    for (uint64_t page = (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT; page < end; page++)
        cache_drop(state, key_of(id, page));
}

void pages_grew(struct state *state, struct file_id id, uint64_t size_bytes, uint64_t now_ns)
{
    uint64_t known = word_load(&file_at(state, id.place)->size_bytes);
    if (size_bytes <= known)
        return;
    uint64_t from = known >> PAGE_SHIFT, to = (size_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
    for (uint64_t page = from; page < to; page++)
        cache_put(state, key_of(id, page), now_ns);
    grow(state, file_at(state, id.place), size_bytes);
    dirty_mark(state, id, from, to, now_ns);
}
