/* The device: limits, slots that serve requests in parallel, latencies, replicas.
 *
 * Nothing here waits and no thread works in the background. A request reserves its place: each
 * limit and each slot is one word, the moment at which it is next free, and taking it moves that
 * word on by compare-and-swap. So requests of all processes queue as they would before one device,
 * and a process that dies between two words has at worst taken a place that it does not use.
 */
#define _GNU_SOURCE
#include "storage_device.h"

#include <unistd.h>

/* A program that waits at a limit wakes up a little late and asks for the next request late. So much
 * is taken as if it had come in time, or a limit met at depth 1 would lose all of it. */
#define LATENESS_FORGIVEN_NS UINT64_C(1000000)
/* Moments past this one are no queue but an overflow or a lost limit. */
#define FAR_NS (UINT64_C(1) << 62)

struct counters *counters_here(struct state *state)
{
    static _Thread_local uint32_t shard;
    static atomic_uint next;
    if (shard == 0)
        /* Mixed with the process: each starts its own count at the same number. */
        shard = 1 + (uint32_t)(mix(((uint64_t)getpid() << 32) + atomic_fetch_add(&next, 1)) %
                               COUNTER_SHARDS);
    return &state->counters[shard - 1];
}

static uint64_t draw(struct state *state)
{
    return mix(state->settings.seed + atomic_fetch_add_explicit(&state->draws, 1, memory_order_relaxed));
}

/* Inverse transform sampling from the table of mid-quantiles, linear between two of them. */
static uint64_t draw_latency(struct state *state, const struct latency_table *table)
{
    if (!table->costs)
        return 0;
    double at = (double)(draw(state) >> 11) * 0x1p-53 * TABLE_LENGTH - 0.5;
    if (at <= 0)
        return table->ns[0];
    uint32_t below = (uint32_t)at;
    if (below >= TABLE_LENGTH - 1)
        return table->ns[TABLE_LENGTH - 1];
    double low = (double)table->ns[below], high = (double)table->ns[below + 1];
    return (uint64_t)(low + (at - below) * (high - low));
}

static bool draw_error(struct state *state, double ratio)
{
    return ratio > 0 && (double)(draw(state) >> 11) * 0x1p-53 < ratio;
}

struct passage {
    uint64_t start_ns; /* when all limits let it begin */
    uint64_t end_ns;   /* not done before: its bytes have to pass */
};

/* Take one request or its bytes from a bucket: the generic cell rate algorithm, which keeps the
 * bucket as one word, the moment at which it is full again (ITU-T I.371). */
static struct passage pass_limit(const struct limit *limit, atomic_word *free_ns, uint64_t bytes,
                                 uint64_t at_ns)
{
    uint64_t cost_ns = (uint64_t)(limit->unit_ns * (limit->of == OF_BYTES ? (double)bytes : 1.0));
    uint64_t late_ns = at_ns > LATENESS_FORGIVEN_NS ? at_ns - LATENESS_FORGIVEN_NS : 0;
    uint64_t idle_ns = limit->tolerance_ns ? at_ns : late_ns;
    uint64_t seen = word_load(free_ns), full;
    do {
        full = (seen > idle_ns ? seen : idle_ns) + cost_ns;
    } while (!atomic_compare_exchange_weak_explicit(free_ns, &seen, full, memory_order_relaxed,
                                                    memory_order_relaxed));
    uint64_t tolerance_ns = limit->tolerance_ns > cost_ns ? limit->tolerance_ns : cost_ns;
    uint64_t start_ns = full > tolerance_ns ? full - tolerance_ns : 0;
    if (limit->slice_ns)
        start_ns -= start_ns % limit->slice_ns;
    struct passage passage = {.start_ns = start_ns > at_ns ? start_ns : at_ns, .end_ns = 0};
    /* Bytes take the time they need on the way; with a burst in hand they do not. */
    if (limit->of == OF_BYTES && limit->tolerance_ns <= cost_ns && !limit->slice_ns)
        passage.end_ns = full;
    return passage;
}

static struct passage pass_limits(const struct limit *limits, uint32_t count, struct tier *tier,
                                  enum direction on, uint64_t bytes, uint64_t at_ns)
{
    struct passage all = {.start_ns = at_ns, .end_ns = 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!(limits[i].on & on))
            continue;
        struct passage one = pass_limit(&limits[i], &tier->limit_free_ns[i], bytes, at_ns);
        if (one.start_ns > all.start_ns)
            all.start_ns = one.start_ns;
        if (one.end_ns > all.end_ns)
            all.end_ns = one.end_ns;
    }
    return all;
}

/* Be served by the slot that is free first; gives the moment at which service begins. */
static uint64_t take_slot(struct tier *tier, uint32_t count, uint64_t at_ns, uint64_t service_ns,
                          uint64_t not_before_ns)
{
    for (;;) {
        uint32_t first = 0;
        uint64_t first_free = word_load(&tier->slot_free_ns[0]);
        for (uint32_t i = 1; i < count && first_free > at_ns; i++) {
            uint64_t free_ns = word_load(&tier->slot_free_ns[i]);
            if (free_ns < first_free) {
                first = i;
                first_free = free_ns;
            }
        }
        uint64_t start = first_free > at_ns ? first_free : at_ns;
        uint64_t end = start + service_ns;
        if (end < not_before_ns)
            end = not_before_ns;
        if (atomic_compare_exchange_strong_explicit(&tier->slot_free_ns[first], &first_free, end,
                                                    memory_order_relaxed, memory_order_relaxed))
            return start;
    }
}

/* The network behind the front is one wire: bytes follow each other. To wait for those before is to
 * be held back by a limit as much as to wait for a device's. */
static uint64_t pass_link(struct state *state, uint64_t bytes, uint64_t at_ns,
                          uint64_t *throttled_ns)
{
    if (state->settings.link_bytes_per_s == 0)
        return at_ns;
    uint64_t cost_ns =
        (uint64_t)((double)bytes * 1e9 / (double)state->settings.link_bytes_per_s);
    uint64_t seen = word_load(&state->link_free_ns), end;
    do {
        end = (seen > at_ns ? seen : at_ns) + cost_ns;
    } while (!atomic_compare_exchange_weak_explicit(
        &state->link_free_ns, &seen, end, memory_order_relaxed, memory_order_relaxed));
    *throttled_ns += end - cost_ns - at_ns;
    return end;
}

static uint64_t served_by_replica(struct state *state, uint32_t replica, enum kind kind,
                                  uint64_t bytes, uint64_t at_ns, uint64_t *throttled_ns)
{
    const struct settings *settings = &state->settings;
    bool remote = replica >= settings->local_replicas_count;
    uint64_t trip_ns = remote ? draw_latency(state, &settings->round_trip) : 0;
    uint64_t at = at_ns + trip_ns / 2;
    if (remote && kind == KIND_WRITE)
        at = pass_link(state, bytes, at, throttled_ns);
    struct tier *tier = &state->replicas[replica];
    uint64_t service_ns = draw_latency(state, &settings->device[kind]);
    uint64_t done;
    if (kind == KIND_SYNC) {
        done = at + service_ns;
    } else {
        struct passage passage =
            pass_limits(settings->device_limits, settings->device_limits_count, tier,
                        kind == KIND_READ ? ON_READ : ON_WRITE, bytes, at);
        *throttled_ns += passage.start_ns - at;
        done = take_slot(tier, settings->device_parallel_count, passage.start_ns, service_ns,
                         passage.end_ns) +
               service_ns;
        if (done < passage.end_ns)
            done = passage.end_ns;
    }
    if (remote && kind == KIND_READ)
        done = pass_link(state, bytes, done, throttled_ns);
    return done + (trip_ns - trip_ns / 2);
}

/* When the n-th of the replicas is done, n being how many have to acknowledge. */
static uint64_t acknowledged(struct state *state, enum kind kind, uint64_t bytes, uint64_t at_ns,
                             uint64_t *throttled_ns)
{
    const struct settings *settings = &state->settings;
    uint64_t done[MAX_REPLICAS];
    uint64_t slowest_throttle = 0;
    for (uint32_t i = 0; i < settings->replicas_count; i++) {
        uint64_t throttle = 0;
        uint64_t one = served_by_replica(state, i, kind, bytes, at_ns, &throttle);
        if (throttle > slowest_throttle)
            slowest_throttle = throttle;
        uint32_t place = i; /* insertion sort: there are at most eight */
        for (; place > 0 && done[place - 1] > one; place--)
            done[place] = done[place - 1];
        done[place] = one;
    }
    *throttled_ns += slowest_throttle;
    return done[settings->acknowledge_count - 1];
}

static uint32_t reading_replica(struct state *state)
{
    if (state->settings.reads_are_local || state->settings.replicas_count == 1)
        return 0;
    return (uint32_t)(draw(state) % state->settings.replicas_count);
}

static uint64_t after_stall(struct state *state, uint64_t at_ns)
{
    const struct settings *settings = &state->settings;
    if (settings->stall_ns == 0)
        return at_ns;
    uint64_t unset = 0;
    atomic_compare_exchange_strong(&state->first_request_ns, &unset, at_ns);
    uint64_t begins = word_load(&state->first_request_ns) + settings->stall_after_ns;
    bool stalled = at_ns >= begins && at_ns < begins + settings->stall_ns;
    return stalled ? begins + settings->stall_ns : at_ns;
}

static void count_request(struct state *state, enum kind kind, uint64_t bytes, uint64_t at_ns,
                          uint64_t done_ns, uint64_t throttled_ns)
{
    struct counters *counters = counters_here(state);
    word_add(kind == KIND_READ ? &counters->read_requests : &counters->write_requests, 1);
    word_add(kind == KIND_READ ? &counters->read_request_bytes : &counters->write_request_bytes,
             bytes);
    if (throttled_ns)
        word_add(&counters->throttled_ns, throttled_ns);

    uint64_t number = at_ns / UINT64_C(1000000000) + 1;
    struct second *second = &state->seconds[number % SECONDS_KEPT];
    uint64_t seen = word_load(&second->second);
    if (seen != number && atomic_compare_exchange_strong(&second->second, &seen, number)) {
        word_store(&second->read_requests, 0);
        word_store(&second->write_requests, 0);
        word_store(&second->bytes, 0);
        word_store(&second->depth_sum_ns, 0);
        word_store(&second->throttled_ns, 0);
    }
    word_add(kind == KIND_READ ? &second->read_requests : &second->write_requests, 1);
    word_add(&second->bytes, bytes);
    word_add(&second->depth_sum_ns, done_ns - at_ns);
    word_add(&second->throttled_ns, throttled_ns);
}

struct answer device_request(struct state *state, enum kind kind, uint64_t bytes, uint64_t at_ns)
{
    const struct settings *settings = &state->settings;
    uint64_t throttled_ns = 0;
    uint64_t at = after_stall(state, at_ns);
    struct passage passage = pass_limits(settings->front_limits, settings->front_limits_count,
                                         &state->front, kind == KIND_READ ? ON_READ : ON_WRITE,
                                         bytes, at);
    throttled_ns += passage.start_ns - at;
    at = passage.start_ns;
    uint64_t service_ns = draw_latency(state, &settings->front[kind]);
    if (settings->front_parallel_count)
        at = take_slot(&state->front, settings->front_parallel_count, at, service_ns, 0);
    at += service_ns;
    uint64_t done = kind == KIND_READ
                        ? served_by_replica(state, reading_replica(state), kind, bytes, at,
                                            &throttled_ns)
                        : acknowledged(state, kind, bytes, at, &throttled_ns);
    if (done < passage.end_ns)
        done = passage.end_ns;
    if (done > FAR_NS)
        done = at_ns;
    count_request(state, kind, bytes, at_ns, done, throttled_ns);
    double error_ratio =
        kind == KIND_READ ? settings->read_error_ratio : settings->write_error_ratio;
    bool failed = draw_error(state, error_ratio);
    if (failed)
        word_add(&counters_here(state)->errors, 1);
    return (struct answer){.done_ns = done, .failed = failed};
}

uint64_t device_sync(struct state *state, uint64_t at_ns)
{
    const struct settings *settings = &state->settings;
    uint64_t at = after_stall(state, at_ns);
    at += draw_latency(state, &settings->front[KIND_SYNC]);
    /* A device without a volatile cache ignores flushes, and so does the way to it. */
    if (!settings->device[KIND_SYNC].costs)
        return at;
    uint64_t throttled_ns = 0;
    return acknowledged(state, KIND_SYNC, 0, at, &throttled_ns);
}

static void refill_tier(const struct limit *limits, uint32_t count, struct tier *tier,
                        uint64_t at_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        double missing = limits[i].credits_count - limits[i].start_credits_count;
        word_store(&tier->limit_free_ns[i], at_ns + (uint64_t)(missing * limits[i].unit_ns));
    }
}

void device_refill(struct state *state, uint64_t at_ns)
{
    const struct settings *settings = &state->settings;
    refill_tier(settings->front_limits, settings->front_limits_count, &state->front, at_ns);
    for (uint32_t i = 0; i < settings->replicas_count; i++)
        refill_tier(settings->device_limits, settings->device_limits_count, &state->replicas[i],
                    at_ns);
}

double device_credits_left(const struct limit *limit, uint64_t free_ns, uint64_t at_ns)
{
    double spent_ns = free_ns > at_ns ? (double)(free_ns - at_ns) : 0.0;
    double left = limit->credits_count - spent_ns / limit->unit_ns;
    return left > 0 ? left : 0;
}
