/* The page cache of the emulated machine: which pages are in memory. Lock-free. */
#ifndef GROUNDSPEED_STORAGE_CACHE_H
#define GROUNDSPEED_STORAGE_CACHE_H

#include "storage_layout.h"

/* The two sets in which a page may be. */
struct places {
    struct page_set *set[2];
};

struct place {
    struct page_set *set; /* NULL: not cached */
    int way;
};

/* A page may be in either of two sets: with one, sets overflow long before the cache is full, and a
 * data set of nine tenths of the memory would miss where a true cache holds all of it (the power of
 * two choices; Azar, Broder, Karlin, Upfal 1999). */
static inline struct places cache_places(struct state *state, uint64_t key)
{
    /* Eight neighbours hash together and then go to eight sets side by side: a database's page of
     * several of ours is found in memory that is near, and each set is filled as by a hash a page. */
    uint64_t hash = mix(key >> 3), sets = state->cache_sets, low = key & 7;
    struct page_set *all = page_sets_of(state);
    return (struct places){{all + (((hash & UINT32_MAX) * sets >> 32) ^ low),
                            all + (((hash >> 32) * sets >> 32) ^ low)}};
}

static inline struct place cache_find_in(struct places places, uint64_t key)
{
    for (int half = 0; half < 2; half++)
        for (int way = 0; way < CACHE_WAYS; way++)
            if (word_load(&places.set[half]->keys[way]) == key)
                return (struct place){places.set[half], way};
    return (struct place){NULL, 0};
}

struct place cache_find(struct state *state, uint64_t key);
bool cache_has(struct state *state, uint64_t key);
void cache_put(struct state *state, uint64_t key, uint64_t stamp_ns);
void cache_drop(struct state *state, uint64_t key);
/* Renew the stamp of a page that is used; gives the stamp it had. */
uint64_t cache_use(struct place place, uint64_t now_ns);

#endif
