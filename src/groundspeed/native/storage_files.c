/* The table of files. See storage_files.h.
 *
 * When it is full the file used least recently gives up its place: its pages are forgotten, which is
 * counted, and it gets a new place when it is used again.
 */
#include "storage_files.h"

#include "storage_writeback.h"

#define FILE_WAYS 16

bool files_is(struct state *state, struct file_id id)
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

/* Give a place up: the next generation makes all that is known of the file unreachable. */
static void vacate(struct state *state, uint32_t place)
{
    struct file *file = file_at(state, place);
    uint64_t generation = word_load(&file->generation);
    if (word_load(&file->inode) == 0)
        return;
    struct file_id id = {.place = place, .generation = (uint32_t)generation};
    dirty_forget(state, id, 0);
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

struct file_id files_find(struct state *state, const struct file_identity *identity,
                          uint64_t now_ns)
{
    uint32_t from = first_place(state, identity);
    state_lock(state);
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
    state_unlock(state);
    return id;
}

struct file_id files_known(struct state *state, const struct file_identity *identity)
{
    struct file_id id = {0};
    uint32_t from = first_place(state, identity);
    state_lock(state);
    for (uint32_t place = from; place < from + FILE_WAYS && !id.generation; place++)
        if (is_file(file_at(state, place), identity))
            id = (struct file_id){
                .place = place,
                .generation = (uint32_t)word_load(&file_at(state, place)->generation),
            };
    state_unlock(state);
    return id;
}

void files_forget(struct state *state, struct file_id id)
{
    state_lock(state);
    if (files_is(state, id))
        vacate(state, id.place);
    state_unlock(state);
}
