/* Which pages are cached. See storage_cache.h.
 *
 * Set-associative: what belongs to a page are two words, its key and when it was last used, and no
 * list or counter has to agree with them. A process may die between the two.
 */
#include "storage_cache.h"

/* A page's stamp is renewed only when it is older: most hits then write nothing. */
#define STAMP_NS UINT64_C(10000000)

struct place cache_find(struct state *state, uint64_t key)
{
    if (state->cache_sets == 0)
        return (struct place){NULL, 0};
    return cache_find_in(cache_places(state, key), key);
}

bool cache_has(struct state *state, uint64_t key)
{
    return cache_find(state, key).set != NULL;
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
void cache_put(struct state *state, uint64_t key, uint64_t stamp_ns)
{
    if (state->cache_sets == 0)
        return;
    struct places places = cache_places(state, key);
    struct place place = cache_find_in(places, key);
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

void cache_drop(struct state *state, uint64_t key)
{
    struct place place = cache_find(state, key);
    if (place.set) {
        word_store(&place.set->keys[place.way], 0);
        word_store(&place.set->stamps_ns[place.way], 0);
    }
}

uint64_t cache_use(struct place place, uint64_t now_ns)
{
    atomic_word *word = &place.set->stamps_ns[place.way];
    uint64_t stamp_ns = word_load(word);
    if (stamp_ns + STAMP_NS < now_ns)
        word_store(word, now_ns);
    return stamp_ns;
}
