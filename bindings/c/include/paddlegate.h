/*
 * Paddlegate: one rate limiter for every language a company runs.
 *
 * Every function may be called from any thread, and in a child after fork. Only pg_acquire_timeout
 * waits for a limit; of the others a refusal says in retry_after_us when to come back. Times are in microseconds, texts are UTF-8
 * and end with a zero byte.
 *
 * A pointer argument is NULL or points to what its type says. NULL where something is needed, a
 * handle that was closed and a handle of the other kind are PG_INVALID, never a crash. The last
 * argument of most functions takes what went wrong; it may be NULL.
 *
 * Written by cbindgen from bindings/c/src; change it there.
 */

#ifndef PADDLEGATE_H
#define PADDLEGATE_H

#include <stddef.h>
#include <stdint.h>

/**
 * In a request: a cost of 0, which looks without taking.
 */
#define PG_COST_ZERO -1

/**
 * As the time to wait: as long as it takes, which is at most ten years.
 */
#define PG_FOREVER -1

/**
 * As the place of a pg_wait: the one that the ticket has, else the last.
 */
#define PG_PLACE_END 0

/**
 * As the place of a pg_wait: the one that the ticket has. Without one it is PG_STATUS_GONE.
 */
#define PG_PLACE_KEPT -1

/**
 * As an index: every limit of the policy.
 */
#define PG_EVERY_LIMIT -1

/**
 * As a number of pg_pause, pg_override, pg_report_budget, pg_learn_from_response or pg_conductor_limiter: not given.
 */
#define PG_NOT_GIVEN -1

/**
 * What became of a call of a function. The numbers never change.
 */
enum pg_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * All went well. A refusal is no error: look at the status of the decision.
     */
    PG_OK = 0,
    /**
     * Not returned by any function; the number that other languages give to a refusal.
     */
    PG_OVER_LIMIT = 1,
    /**
     * The call is wrong; fix the argument that is named. Nothing was changed.
     */
    PG_INVALID = 2,
    /**
     * The store cannot decide now; may_have_counted says whether the call may have been charged.
     */
    PG_UNAVAILABLE = 3,
    /**
     * The stored value is not ours or is damaged; reset the limiter or use another database.
     */
    PG_DATA = 4,
    /**
     * A defect of this library; please report it.
     */
    PG_INTERNAL = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_code pg_code;
#else
typedef int32_t pg_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What became of a request. The numbers never change.
 */
enum pg_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Come back after retry_after_us; nothing was changed.
     */
    PG_STATUS_REFUSED = 0,
    /**
     * Go ahead; the cost is charged.
     */
    PG_STATUS_GRANTED = 1,
    /**
     * A place in the queue is taken; look again after retry_after_us, or when told to. See pg_acquire_with_id.
     */
    PG_STATUS_QUEUED = 2,
    /**
     * The ticket has no place: cancelled, lapsed or granted before.
     */
    PG_STATUS_GONE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_status pg_status;
#else
typedef int32_t pg_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a limit is called. The numbers never change.
 */
enum pg_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * None, as the reason of a grant.
     */
    PG_KIND_NONE = 0,
    /**
     * So many in each aligned interval.
     */
    PG_KIND_BUCKET = 1,
    /**
     * So many in any interval.
     */
    PG_KIND_WINDOW = 2,
    /**
     * A burst of the capacity, then as fast as it drains.
     */
    PG_KIND_LEAKY = 3,
    /**
     * A leaky meter whose cost is estimated first and corrected later.
     */
    PG_KIND_POINTS = 4,
    /**
     * Starts at least an interval apart, whatever they cost.
     */
    PG_KIND_THROTTLE = 5,
    /**
     * No limit.
     */
    PG_KIND_UNLIMITED = 6,
    /**
     * Nothing may pass.
     */
    PG_KIND_PAUSED = 7,
    /**
     * So many at once.
     */
    PG_KIND_CONCURRENCY = 8,
    /**
     * No limit, but the reason of a refusal while the store cannot decide.
     */
    PG_KIND_UNAVAILABLE = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_kind pg_kind;
#else
typedef int32_t pg_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What became of a correction, a report of upstream, a release or a cancellation.
 *
 * The numbers never change.
 */
enum pg_settlement
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The call failed; there is no answer.
     */
    PG_SETTLEMENT_NONE = 0,
    /**
     * pg_correct: the charge is now the actual cost. pg_report_budget, pg_learn_from_response: the report rules.
     */
    PG_SETTLEMENT_SETTLED = 3,
    /**
     * pg_correct: it was settled before.
     */
    PG_SETTLEMENT_ALREADY = 4,
    /**
     * pg_correct: the permit is older than five minutes; the estimate stands. pg_release: the lease
     * had ended before, and another may have its place. pg_report_budget, pg_learn_from_response: the report of a later call
     * was there before.
     */
    PG_SETTLEMENT_LATE = 5,
    /**
     * No such permit, lease or ticket is here: never given, given back, reset since, or forgotten.
     */
    PG_SETTLEMENT_UNKNOWN = 6,
    /**
     * pg_release: the lease is free for another.
     */
    PG_SETTLEMENT_RELEASED = 7,
    /**
     * pg_cancel: the ticket has left the queue.
     */
    PG_SETTLEMENT_CANCELLED = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_settlement pg_settlement;
#else
typedef int32_t pg_settlement;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What is done with a job. The numbers never change.
 */
enum pg_action
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * It is over the limit, and on_limit leaves it to the caller what that means.
     */
    PG_ACTION_REFUSE = 0,
    /**
     * It runs now; the permit of the decision is released when it has ended, however it has.
     */
    PG_ACTION_RUN = 1,
    /**
     * It stays where it is and keeps its place; ask again after after_us.
     */
    PG_ACTION_WAIT = 2,
    /**
     * It is put away until its time, in after_us, and keeps its place.
     */
    PG_ACTION_RESCHEDULE = 3,
    /**
     * It is discarded.
     */
    PG_ACTION_DROP = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_action pg_action;
#else
typedef int32_t pg_action;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A level of a slot. The numbers never change.
 */
enum pg_level
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * None is full.
     */
    PG_LEVEL_NONE = 0,
    /**
     * ActionsPerSecond.
     */
    PG_LEVEL_SECOND = 1,
    /**
     * ActionsPerMinute.
     */
    PG_LEVEL_MINUTE = 2,
    /**
     * ActionsPerHour.
     */
    PG_LEVEL_HOUR = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pg_level pg_level;
#else
typedef int32_t pg_level;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The limiters of a document: of our own format sorted by name, of any other in its order.
 */
typedef struct pg_document pg_document;

/**
 * The limits of a RateLimitControl on a store. Make it once, keep it, and use it from any thread.
 */
typedef struct pg_invantive_gate pg_invantive_gate;

/**
 * A limiter. Making one asks no server; make it once, keep it, and use it from any thread.
 */
typedef struct pg_limiter pg_limiter;

/**
 * The limiters of a store as they were when it was opened, by name.
 */
typedef struct pg_list pg_list;

/**
 * A store: this process, or a Redis that is shared by many.
 */
typedef struct pg_store pg_store;

/**
 * The one place where this process hears of the tickets that name its channel.
 *
 * It belongs to the process that opened it; a child opens its own.
 */
typedef struct pg_wakeups pg_wakeups;

/**
 * What went wrong. All zero after a call that went well.
 */
typedef struct pg_error {
    /**
     * What to do about it; also what the function returned.
     */
    pg_code code;
    /**
     * 1 when the call failed but may have been charged all the same, else 0.
     */
    int32_t may_have_counted;
    /**
     * The name of the wrong argument, for PG_INVALID; else empty.
     */
    char argument[32];
    /**
     * A text to read, not to compare; cut to its room.
     */
    char message[256];
} pg_error;

/**
 * One rule: how many units in which time. What a kind has no use for is ignored.
 */
typedef struct pg_limit {
    /**
     * A pg_kind.
     */
    int32_t kind;
    /**
     * The limit or capacity in units.
     */
    int64_t amount;
    /**
     * The interval, the time to drain or refill fully, or how long a lease lasts.
     */
    int64_t interval_us;
    /**
     * By how much earlier the intervals of a bucket start; for UTC+2 two hours.
     */
    int64_t offset_us;
} pg_limit;

/**
 * What one call asks for: a final cost, or an estimate that is corrected later.
 *
 * All zero, and NULL in its place, is a cost of 1. A limiter with points needs one of the two.
 */
typedef struct pg_request {
    /**
     * Units to take, up to 10^12; 0 when not given, PG_COST_ZERO for a cost of 0.
     */
    int64_t cost;
    /**
     * Units to take until the actual cost is known; 0 when not given. The grant has a permit.
     */
    int64_t estimate;
    /**
     * The store's time of this call since 1970, for tests and simulations; 0 for now.
     */
    int64_t at_us;
} pg_request;

/**
 * The answer to one call, with the numbers of the limit that is the tightest.
 *
 * Of a grant that is the limit with the least left, of a refusal the one that takes longest to let
 * the call pass. -1 stands for a number that there is none of.
 */
typedef struct pg_decision {
    /**
     * Granted, refused, queued or gone.
     */
    pg_status status;
    /**
     * The kind of the limit that refused; PG_KIND_NONE when granted, PG_KIND_UNAVAILABLE when it was
     * refused because the store cannot decide, see pg_limiter_with_on_unavailable.
     */
    pg_kind reason;
    /**
     * Which limit of the policy the numbers describe, counted from 0; the number of limits when it is
     * a pause that was ordered, see pg_pause.
     */
    int64_t index;
    /**
     * The units of that limit; -1 when nothing limits.
     */
    int64_t limit;
    /**
     * The units that could be taken right after this decision; -1 when nothing limits.
     */
    int64_t remaining;
    /**
     * Refused one microsecond before, granted at it. 0 when granted; -1 when no time is known
     * (paused by the policy).
     */
    int64_t retry_after_us;
    /**
     * Until all of the limit is there again, if nobody calls; -1 when no time is known (paused
     * by the policy).
     */
    int64_t reset_after_us;
    /**
     * The store's time of the decision since 1970; 0 when no store was asked.
     */
    int64_t at_us;
    /**
     * How long the lease lasts from at_us; -1 without a limit of concurrency.
     */
    int64_t lease_us;
    /**
     * A number that rises with every lease, to fence off holders that are late; -1 without a limit
     * of concurrency.
     */
    int64_t fence;
    /**
     * The number of a ticket, under which it may come back to its place; -1 unless queued.
     */
    int64_t ticket;
    /**
     * How many stand before it in the queue; -1 unless queued.
     */
    int64_t position;
    /**
     * When it may pass if all before it do; -1 where that is not known.
     */
    int64_t ready_after_us;
    /**
     * The id under which a grant may be corrected or released, from any process; empty unless it
     * has an estimate or a limit of concurrency.
     */
    char permit[96];
    /**
     * 1 when the store could not decide and the limiter has decided without it, else 0.
     */
    int32_t degraded;
} pg_decision;

/**
 * How a call waits.
 */
typedef struct pg_wait {
    /**
     * How long it would wait: 0 refuses, as does a time that is known to come later; or PG_FOREVER.
     */
    int64_t max_wait_us;
    /**
     * How long the ticket keeps its place after the time at which it was to look again and did
     * not; 0 for the default.
     */
    int64_t claim_timeout_us;
    /**
     * Where it is told that its turn has come, see pg_listen; NULL or empty when it looks by
     * itself.
     */
    const char *channel;
    /**
     * PG_PLACE_END, PG_PLACE_KEPT, or the number of a ticket: then the place that it has, else the
     * one that it had.
     */
    int64_t place;
} pg_wait;

/**
 * A message to one who waits.
 */
typedef struct pg_wakeup {
    /**
     * When to look, from now; 0 for at once.
     */
    int64_t delay_us;
    /**
     * The id of the call whose turn it is.
     */
    char id[72];
} pg_wakeup;

/**
 * What a limiter has done in all processes, and who is there now. Times are sums.
 */
typedef struct pg_statistics {
    /**
     * Calls that passed (leases held, of a limit of concurrency).
     */
    int64_t granted;
    /**
     * Calls that were refused, and waits whose time was up.
     */
    int64_t refused;
    /**
     * Grants that had to wait; the others were immediate.
     */
    int64_t waited;
    /**
     * The time that those waited.
     */
    int64_t wait_time_us;
    /**
     * Units taken, after corrections.
     */
    int64_t units;
    /**
     * Permits that were settled.
     */
    int64_t corrections;
    /**
     * The time that released leases were held.
     */
    int64_t held_time_us;
    /**
     * Leases whose holder released them after their end.
     */
    int64_t overages;
    /**
     * Leases that had ended without a release when somebody else was granted one.
     */
    int64_t reclaimed;
    /**
     * Tickets that lost their place because they did not look in time.
     */
    int64_t lapsed;
    /**
     * Leases held now.
     */
    int64_t leases;
    /**
     * Tickets in the queue now.
     */
    int64_t tickets;
} pg_statistics;

/**
 * One limiter of a list.
 */
typedef struct pg_limiter_info {
    /**
     * Its name; empty after the last one.
     */
    char name[520];
    /**
     * Its limits as they were last used.
     */
    struct pg_limit limits[8];
    /**
     * How many those are.
     */
    size_t count;
    /**
     * The store's time of its last use since 1970, to the minute; -1 in memory, which does not keep
     * it.
     */
    int64_t last_used_us;
    /**
     * For how long after it the limiter is listed and its statistics are kept.
     */
    int64_t ttl_us;
} pg_limiter_info;

/**
 * What is in force beside the policies of the processes.
 */
typedef struct pg_runtime_state {
    /**
     * Rises with every change; 0 when nothing is in force.
     */
    int64_t version;
    /**
     * How long the pause that was ordered lasts; -1 without one.
     */
    int64_t paused_for_us;
    /**
     * How long the overrides hold; -1 when they hold until they are removed, and without any.
     */
    int64_t expires_in_us;
    /**
     * How many limits the policy has; 0 when it has no state that could change.
     */
    size_t count;
    /**
     * 1 when the store knew the limiter before this call: it had a state or statistics. 0 for a name that nobody has
     * used, for limits of other kinds than those in use under it, and without any limit. An earlier order counts as a use.
     */
    int32_t in_use;
    /**
     * By limit the numbers that were told and rule; PG_KIND_NONE where there are none.
     */
    struct pg_limit overrides[8];
    /**
     * By limit the numbers that were learned from upstream, which rule where nothing was told.
     */
    struct pg_limit learned[8];
} pg_runtime_state;

/**
 * What became of a report: what it has changed, and what it has not, and why. What was known already is in neither list.
 *
 * The lists have a word or a sentence in each line, with a line feed between them. With several limits the index of the
 * limit follows the word, as in `remaining[1]`.
 */
typedef struct pg_learned {
    /**
     * What became of the permit; PG_SETTLEMENT_NONE when no cost of a permit was told.
     */
    pg_settlement settlement;
    /**
     * What the call did cost, as the answer says; -1 when it does not.
     */
    int64_t cost;
    /**
     * How long the answer asks to pause; -1 when it does not.
     */
    int64_t pause_us;
    /**
     * Of whom a refusal is: "user", "shared", or "global", which concerns all limiters of this API; empty when the
     * answer does not say. Only Discord does.
     */
    char scope[16];
    /**
     * What the upstream calls the budget that counted the call; empty when it does not say. Only Discord does.
     */
    char bucket[136];
    /**
     * What has changed: "limit", "interval", "remaining", "reset" and "pause".
     */
    char learned[512];
    /**
     * What was said and changed nothing, with the reason: "remaining: calls are open".
     */
    char ignored[4096];
} pg_learned;

/**
 * One limiter of a document.
 */
typedef struct pg_loaded_limiter {
    /**
     * Its name; empty after the last one.
     */
    char name[520];
    /**
     * The limiter, to be closed by pg_limiter_close; NULL after the last one.
     */
    struct pg_limiter *limiter;
    /**
     * Its limits.
     */
    struct pg_limit limits[8];
    /**
     * How many those are; 0 of one that is unlimited.
     */
    size_t count;
    /**
     * For how long after its last use it is listed and its statistics are kept.
     */
    int64_t ttl_us;
    /**
     * How long a call waits at most; -1 when the document does not say.
     */
    int64_t wait_timeout_us;
    /**
     * What becomes of work that is refused: "raise", "ignore", "wait", "reschedule" or "drop".
     */
    char on_limit[16];
} pg_loaded_limiter;

/**
 * What is done with a job, and when to ask again.
 */
typedef struct pg_admission {
    /**
     * Run, wait, reschedule, drop or refuse.
     */
    pg_action action;
    /**
     * How long until it may run, or should be asked about again; -1 when that is not known (paused),
     * and of a job that runs or is dropped.
     */
    int64_t after_us;
    /**
     * With the permit of a job that runs, and the place of one that waits.
     */
    struct pg_decision decision;
} pg_admission;

/**
 * What is known of a request. Each text may be NULL: then no criterion for it matches.
 *
 * All NULL and zero, and NULL in its place, is a request of which nothing is known.
 */
typedef struct pg_request_attributes {
    /**
     * Compared with Context.
     */
    const char *context;
    /**
     * Compared with Url.
     */
    const char *url;
    /**
     * Compared with LogOnCode.
     */
    const char *log_on_code;
    /**
     * Compared with DataContainerId.
     */
    const char *data_container_id;
    /**
     * The address of the client without a port, compared with IpAddressClientCidr.
     */
    const char *ip;
    /**
     * As in pg_request.
     */
    int64_t at_us;
} pg_request_attributes;

/**
 * What becomes of a request.
 */
typedef struct pg_gate_decision {
    /**
     * 1 when it may go ahead; 0 when its answer is a failure.
     */
    int32_t allowed;
    /**
     * The level that refused, or the one that delays longest; PG_LEVEL_NONE when none is full.
     */
    pg_level level;
    /**
     * The kind of the limit that refused; PG_KIND_NONE when allowed.
     */
    pg_kind reason;
    /**
     * By how much the answer is to be delayed, also that of a failure.
     */
    int64_t delay_us;
    /**
     * When a refused request may pass; 0 when allowed, -1 when no time is known (0 actions).
     */
    int64_t retry_after_us;
    /**
     * The name of the slot that counted; empty when nothing limits the request.
     */
    char slot[520];
} pg_gate_decision;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of this library. Never to be freed.
 */
const char *pg_version(void);

/**
 * Opens a store. Connects to nothing and starts nothing; the first call of a limiter does.
 *
 * The url is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or
 * memory://. More nodes of a cluster may follow the first after commas. NULL takes the environment
 * variable PADDLEGATE_URL, and memory when it is not set. Every call has an answer or fails within
 * timeout_us; 0 stands for the default, one second.
 */
pg_code pg_store_open(const char *url,
                      int64_t timeout_us,
                      struct pg_store **store,
                      struct pg_error *error);

/**
 * Opens a store in this process. Two of them share nothing.
 */
pg_code pg_store_memory(struct pg_store **store, struct pg_error *error);

/**
 * Closes a store and the connections that this process has to it, whatever limiters of it are open.
 *
 * Every later call of those limiters is PG_INVALID, with the argument "store", and so is a
 * pg_acquire_timeout that waits; limiters in memory go on. The handles of limiters and of pg_wakeups
 * are to be closed all the same.
 */
pg_code pg_store_close(struct pg_store *store,
                       struct pg_error *error);

/**
 * 1 when the limiters of a store answer without asking a server, so that no call waits; else 0.
 */
int32_t pg_store_is_memory(const struct pg_store *store);

/**
 * The word for a kind, such as "bucket"; "?" for a number that is none. Never to be freed.
 */
const char *pg_kind_name(int32_t kind);

/**
 * Reads second, minute, hour, day or an ISO 8601 duration such as PT0.1S into microseconds.
 */
pg_code pg_parse_interval(const char *text, int64_t *interval_us, struct pg_error *error);

/**
 * Makes a limiter of one to eight limits that are decided together, all charged or none.
 *
 * The name has 1 to 512 bytes. Limiters of one name and the same kinds share their state, in all
 * processes and languages. The handle is to be closed by pg_limiter_close.
 */
pg_code pg_limiter_new(const struct pg_store *store,
                       const char *name,
                       const struct pg_limit *limits,
                       size_t count,
                       struct pg_limiter **limiter,
                       struct pg_error *error);

/**
 * pg_limiter_new with a time to live: for how long after the last use it is listed and its
 * statistics are kept, from one second; 90 days by default.
 */
pg_code pg_limiter_new_with_ttl(const struct pg_store *store,
                                const char *name,
                                const struct pg_limit *limits,
                                size_t count,
                                int64_t ttl_us,
                                struct pg_limiter **limiter,
                                struct pg_error *error);

/**
 * At most limit leases at once, each at most lock_timeout_us long unless it is renewed.
 *
 * The permit of a grant is its lease, and ends by pg_release. A limit of 0 is a pause.
 */
pg_code pg_limiter_concurrent(const struct pg_store *store,
                              const char *name,
                              int64_t limit,
                              int64_t lock_timeout_us,
                              struct pg_limiter **limiter,
                              struct pg_error *error);

/**
 * At most limit units in each interval that starts at a multiple of it since 1970 (UTC).
 */
pg_code pg_limiter_bucket(const struct pg_store *store,
                          const char *name,
                          int64_t limit,
                          int64_t interval_us,
                          struct pg_limiter **limiter,
                          struct pg_error *error);

/**
 * At most limit units, up to 100,000, in any interval, exactly.
 */
pg_code pg_limiter_window(const struct pg_store *store,
                          const char *name,
                          int64_t limit,
                          int64_t interval_us,
                          struct pg_limiter **limiter,
                          struct pg_error *error);

/**
 * A meter that holds capacity units and drains fully in drain_us: a burst, then as it drains.
 */
pg_code pg_limiter_leaky(const struct pg_store *store,
                         const char *name,
                         int64_t capacity,
                         int64_t drain_us,
                         struct pg_limiter **limiter,
                         struct pg_error *error);

/**
 * A budget of capacity points, full again after refill_us. Calls estimate and may correct.
 */
pg_code pg_limiter_points(const struct pg_store *store,
                          const char *name,
                          int64_t capacity,
                          int64_t refill_us,
                          struct pg_limiter **limiter,
                          struct pg_error *error);

/**
 * Starts at least interval_us apart, whatever they cost.
 */
pg_code pg_limiter_throttle(const struct pg_store *store,
                            const char *name,
                            int64_t interval_us,
                            struct pg_limiter **limiter,
                            struct pg_error *error);

/**
 * Everything passes.
 */
pg_code pg_limiter_unlimited(const struct pg_store *store,
                             const char *name,
                             struct pg_limiter **limiter,
                             struct pg_error *error);

/**
 * Nothing passes.
 */
pg_code pg_limiter_paused(const struct pg_store *store,
                          const char *name,
                          struct pg_limiter **limiter,
                          struct pg_error *error);

/**
 * The same limiter, which answers otherwise while its store cannot decide.
 *
 * mode is "raise", PG_UNAVAILABLE, as every limiter does that is not told; "closed", refused; "open",
 * granted and never counted; or "local", decided by this process alone with share hundredths of every
 * limit, 1 to 100, PG_NOT_GIVEN for 100. share belongs to "local". Such a decision is degraded, and
 * nobody waits for another. After five failures in a row the store is asked by one call a second,
 * until it answers. In memory there is nothing to fail. Both handles are to be closed.
 */
pg_code pg_limiter_with_on_unavailable(const struct pg_limiter *limiter,
                                       const char *mode,
                                       int64_t share,
                                       struct pg_limiter **other,
                                       struct pg_error *error);

/**
 * PG_OK when a plain yes or no is enough of an answer: for languages that have a verb like that.
 *
 * PG_INVALID with a limit of concurrency, whose grants are leases: nobody could release one without
 * its permit. Asks no server.
 */
pg_code pg_check_allow(const struct pg_limiter *limiter, struct pg_error *error);

/**
 * Closes a limiter. What it has counted stays; calls that other threads are in come to their end.
 */
pg_code pg_limiter_close(struct pg_limiter *limiter, struct pg_error *error);

/**
 * The word for a settlement, such as "settled"; "?" for a number that is none. Never to be freed.
 */
const char *pg_settlement_name(int32_t settlement);

/**
 * Takes the cost if every limit allows it, else nothing.
 *
 * A refusal is PG_OK too: look at decision->status. PG_INVALID when the cost can never pass,
 * PG_UNAVAILABLE when the store cannot decide; then the decision says PG_STATUS_REFUSED. request
 * may be NULL. A signal that arrives meanwhile leaves the call 100 ms to end.
 */
pg_code pg_acquire(const struct pg_limiter *limiter,
                   const struct pg_request *request,
                   struct pg_decision *decision,
                   struct pg_error *error);

/**
 * What pg_acquire would answer now. Changes nothing.
 */
pg_code pg_peek(const struct pg_limiter *limiter,
                const struct pg_request *request,
                struct pg_decision *decision,
                struct pg_error *error);

/**
 * Replaces the estimate of a permit by what the call did cost, once; later calls change nothing.
 *
 * Less gives back, more makes a debt. settlement may be NULL.
 */
pg_code pg_correct(const struct pg_limiter *limiter,
                   const char *permit,
                   int64_t actual,
                   pg_settlement *settlement,
                   struct pg_error *error);

/**
 * pg_correct at a given time of the store, for tests and simulations.
 */
pg_code pg_correct_at(const struct pg_limiter *limiter,
                      const char *permit,
                      int64_t actual,
                      int64_t at_us,
                      pg_settlement *settlement,
                      struct pg_error *error);

/**
 * Forgets all that was taken, and all permits.
 */
pg_code pg_reset(const struct pg_limiter *limiter, struct pg_error *error);

/**
 * Ends the lease of a permit, once, from any process: PG_SETTLEMENT_RELEASED.
 *
 * PG_SETTLEMENT_LATE when it had ended before, so that another may have worked at the same time;
 * PG_SETTLEMENT_UNKNOWN when it is not here, and without a limit of concurrency. Frees nobody
 * else's lease. at_us as in pg_request; settlement may be NULL.
 */
pg_code pg_release(const struct pg_limiter *limiter,
                   const char *permit,
                   int64_t at_us,
                   pg_settlement *settlement,
                   struct pg_error *error);

/**
 * Gives the lease of a permit its whole time again. lease_us is how long that is from now, or -1
 * when the lease has ended.
 */
pg_code pg_renew(const struct pg_limiter *limiter,
                 const char *permit,
                 int64_t at_us,
                 int64_t *lease_us,
                 struct pg_error *error);

/**
 * pg_acquire under an id of the caller, who may wait.
 *
 * The id, of 1 to 64 bytes, names the lease and the ticket: asking again with it takes no second
 * lease, and keeps the place. With PG_STATUS_QUEUED come again with the same id after
 * retry_after_us, or when the channel tells it; who wants no more says so by pg_cancel. wait may be
 * NULL: then it does not wait, and gives up a place that it has. Never waits itself.
 */
pg_code pg_acquire_with_id(const struct pg_limiter *limiter,
                           const struct pg_request *request,
                           const char *id,
                           const struct pg_wait *wait,
                           struct pg_decision *decision,
                           struct pg_error *error);

/**
 * Leaves the queue: PG_SETTLEMENT_CANCELLED, or PG_SETTLEMENT_UNKNOWN when there was no ticket. A
 * lease that it became meanwhile ends too.
 *
 * gave_up is not 0 when the time to wait was up, which is counted as a refusal. at_us as in
 * pg_request; settlement may be NULL.
 */
pg_code pg_cancel(const struct pg_limiter *limiter,
                  const char *id,
                  int32_t gave_up,
                  int64_t at_us,
                  pg_settlement *settlement,
                  struct pg_error *error);

/**
 * Takes the cost as soon as every limit allows it and it is the caller's turn, waiting on this
 * thread for at most wait_timeout_us, or PG_FOREVER.
 *
 * PG_STATUS_REFUSED when the time is up, or at once when it is known not to be enough; then nothing
 * was taken. request may be NULL.
 */
pg_code pg_acquire_timeout(const struct pg_limiter *limiter,
                           const struct pg_request *request,
                           int64_t wait_timeout_us,
                           struct pg_decision *decision,
                           struct pg_error *error);

/**
 * Writes a new id for a call, which nobody else has: 32 letters and a zero byte.
 */
pg_code pg_new_id(char *id, struct pg_error *error);

/**
 * Where waiters of a limiter hear that their turn has come: equal for limiters of one store that
 * can share their pg_wakeups.
 *
 * Empty when the limiter has no state, so that nobody waits. In a cluster it changes when a slot
 * moves. 300 bytes are room enough.
 */
pg_code pg_notification_node(const struct pg_limiter *limiter,
                             char *place,
                             size_t room,
                             struct pg_error *error);

/**
 * Listens for waiters at the pg_notification_node of a limiter. Connects, within the time-out of the store.
 *
 * The handle is to be closed by pg_wakeups_close.
 */
pg_code pg_listen(const struct pg_limiter *limiter,
                  struct pg_wakeups **hints,
                  struct pg_error *error);

/**
 * The file descriptor that can be read when there are messages; -1 when hints is not open here.
 *
 * It is open as long as hints is. Only to be waited for: pg_wakeups_receive does the reading.
 */
int32_t pg_wakeups_fd(const struct pg_wakeups *hints);

/**
 * Writes the channel that a pg_wait names so that its messages come here. 64 bytes are room enough.
 */
pg_code pg_wakeups_channel(const struct pg_wakeups *hints,
                           char *channel,
                           size_t room,
                           struct pg_error *error);

/**
 * The messages that have come, without waiting: count of them, at most room.
 *
 * When count is room, there may be more: call again. After an error none will come: close hints,
 * open others and let all who wait look again. It costs nothing else when messages are lost.
 */
pg_code pg_wakeups_receive(const struct pg_wakeups *hints,
                           struct pg_wakeup *received,
                           size_t room,
                           size_t *count,
                           struct pg_error *error);

/**
 * Closes hints: messages that come later reach nobody. Also for a child that inherited them.
 */
pg_code pg_wakeups_close(struct pg_wakeups *hints, struct pg_error *error);

/**
 * What all processes did with a limiter, and who is there now. at_us as in pg_request.
 */
pg_code pg_stats(const struct pg_limiter *limiter,
                 int64_t at_us,
                 struct pg_statistics *statistics,
                 struct pg_error *error);

/**
 * Lists the limiters that any process used lately, whatever its language made them: in Redis within
 * the time to live of each, in memory those that are not yet forgotten.
 *
 * The handle is to be closed by pg_list_close.
 */
pg_code pg_list_open(const struct pg_store *store, struct pg_list **list, struct pg_error *error);

/**
 * The next limiter of a list. One without a name comes after the last.
 */
pg_code pg_list_next(const struct pg_list *list,
                     struct pg_limiter_info *listed,
                     struct pg_error *error);

/**
 * Closes a list.
 */
pg_code pg_list_close(struct pg_list *list, struct pg_error *error);

/**
 * Grants nothing for a time, or until a time since 1970, in all processes. Those who wait go on
 * waiting.
 *
 * One of the two is given, the other is PG_NOT_GIVEN. A refusal then has the reason PG_KIND_PAUSED
 * and says in retry_after_us when the pause ends. A pause that ends later stays as it is. at_us as in
 * pg_request; controls, which gets what is in force now, may be NULL.
 */
pg_code pg_pause(const struct pg_limiter *limiter,
                 int64_t for_us,
                 int64_t until_us,
                 int64_t at_us,
                 struct pg_runtime_state *controls,
                 struct pg_error *error);

/**
 * Ends a pause that was ordered, in all processes, and calls those who wait. The rest as in pg_pause.
 */
pg_code pg_resume(const struct pg_limiter *limiter,
                  int64_t at_us,
                  struct pg_runtime_state *controls,
                  struct pg_error *error);

/**
 * Puts other numbers before those of every policy, for one limit and in all processes.
 *
 * The limit is counted from 0. amount and interval_us are those of pg_limit, one of them or both; what
 * is PG_NOT_GIVEN stays as the policy of this limiter has it. All overrides of the limiter hold for expires_in_us, or
 * until expires_at_us since 1970; when both are PG_NOT_GIVEN until they are removed, or for 90 days
 * in which nobody is granted anything. The rest as in pg_pause.
 */
pg_code pg_override(const struct pg_limiter *limiter,
                    int64_t index,
                    int64_t amount,
                    int64_t interval_us,
                    int64_t expires_in_us,
                    int64_t expires_at_us,
                    int64_t at_us,
                    struct pg_runtime_state *controls,
                    struct pg_error *error);

/**
 * Ends the override of one limit, counted from 0, or of PG_EVERY_LIMIT. The rest as in pg_pause.
 */
pg_code pg_restore(const struct pg_limiter *limiter,
                   int64_t index,
                   int64_t at_us,
                   struct pg_runtime_state *controls,
                   struct pg_error *error);

/**
 * What is in force beside the policies. Changes nothing. at_us as in pg_request.
 */
pg_code pg_runtime_state_get(const struct pg_limiter *limiter,
                             int64_t at_us,
                             struct pg_runtime_state *controls,
                             struct pg_error *error);

/**
 * Takes over what upstream says of the budget behind one limit, counted from 0, for all processes.
 *
 * The permit is that of the call which upstream answered, or NULL; its time tells older reports
 * from newer ones. Every number may be PG_NOT_GIVEN. remaining units are left there, without those
 * that are still to be corrected here. amount and interval_us are the numbers that the limit has
 * there, as in pg_limit; instead of the interval restore_rate says how many units come back in a
 * second, 0 for not given. The interval of a bucket ends after reset_in_us, or at reset_at_us
 * since 1970. at_us as in pg_request; learned, which gets what became of all that, may be NULL.
 */
pg_code pg_report_budget(const struct pg_limiter *limiter,
                         const char *permit,
                         int64_t index,
                         int64_t remaining,
                         int64_t amount,
                         int64_t interval_us,
                         double restore_rate,
                         int64_t reset_in_us,
                         int64_t reset_at_us,
                         int64_t at_us,
                         struct pg_learned *learned,
                         struct pg_error *error);

/**
 * Takes over what the answer of an upstream API says of its budgets, for all processes: settles the
 * permit of the call by its cost, corrects what is left, learns new numbers, and pauses after a
 * refusal.
 *
 * The permit is NULL when the call had none. provider is NULL for "auto", or the name of one such as
 * "shopify". headers holds header_words texts: a name, its value, the next name and so on; a value
 * that is NULL is not there. body has body_length bytes and may be NULL. What is not understood says
 * nothing. status is PG_NOT_GIVEN when it is not known; then only an answer is a refusal that the provider's documents tie
 * to one. A pause lasts at most max_pause_us, PG_NOT_GIVEN for one hour. A limit is raised to at most max_learned units,
 * PG_NOT_GIVEN for ten times the policy's own. learned, which gets what became of all that, may be NULL. at_us as in
 * pg_request.
 */
pg_code pg_learn_from_response(const struct pg_limiter *limiter,
                               const char *permit,
                               const char *provider,
                               int32_t status,
                               const char *const *headers,
                               size_t header_words,
                               const char *body,
                               size_t body_length,
                               int64_t max_pause_us,
                               int64_t max_learned,
                               int64_t at_us,
                               struct pg_learned *learned,
                               struct pg_error *error);

/**
 * What a GraphQL query will cost in points, said before it is sent.
 *
 * variables is a JSON object as text, NULL for none. operation names one of several operations, NULL
 * when there is one. rules are "shopify" or "github", NULL for shopify.
 */
pg_code pg_graphql_cost(const char *query,
                        const char *variables,
                        const char *operation,
                        const char *rules,
                        int64_t *units,
                        struct pg_error *error);

/**
 * Makes the limiters that a document defines on a store: length bytes of JSON, in our own format or
 * one of those that it reads beside.
 *
 * The message of PG_INVALID names the place of a fault. The handle is to be closed by
 * pg_document_close.
 */
pg_code pg_load(const struct pg_store *store,
                const char *text,
                size_t length,
                struct pg_document **document,
                struct pg_error *error);

/**
 * As pg_load, with what the caller says beside the document; Invalid names what its format does not take.
 *
 * lock_timeout_us is how long a lease lasts that is not renewed (Open Job Spec and Conductor), PG_NOT_GIVEN for what the
 * document says. tenant is whose job it is (Open Job Spec), group what is limited by itself (guild-queues); both may be
 * NULL.
 */
pg_code pg_load_with(const struct pg_store *store,
                     const char *text,
                     size_t length,
                     int64_t lock_timeout_us,
                     const char *tenant,
                     const char *group,
                     struct pg_document **document,
                     struct pg_error *error);

/**
 * The next limiter of a document. One without a name comes after the last.
 */
pg_code pg_document_next(const struct pg_document *document,
                         struct pg_loaded_limiter *loaded,
                         struct pg_error *error);

/**
 * Closes a document. The limiters that were taken from it go on.
 */
pg_code pg_document_close(struct pg_document *document, struct pg_error *error);

/**
 * Decides about a job under its id, of 1 to 64 bytes.
 *
 * Asking again about one that runs takes nothing, and one that waits keeps its place, for a minute
 * after its time. A job that is tried again is asked about under another id. on_limit says what
 * becomes of it when it is over the limit: "wait", "reschedule", "drop", "raise" or "ignore" as in a
 * document, NULL for "wait". request may be NULL. Never waits itself.
 */
pg_code pg_admit(const struct pg_limiter *limiter,
                 const char *id,
                 const char *on_limit,
                 const struct pg_request *request,
                 struct pg_admission *admission,
                 struct pg_error *error);

/**
 * The word for an action, such as "run"; "?" for a number that is none. Never to be freed.
 */
const char *pg_action_name(int32_t action);

/**
 * Decides about count jobs of one unit each, in their order, and writes as many admissions.
 *
 * partial is not 0: each by itself, as pg_admit; after an error those that run are known by their ids,
 * ask again. Else all run or none: what was taken for the first is given back when a later one cannot
 * run, none takes a place in the queue, and each admission tells what refused. A throttle, which starts
 * one at a time, lets no two run together. on_limit is as in pg_admit.
 */
pg_code pg_admit_all(const struct pg_limiter *limiter,
                     const char *const *ids,
                     size_t count,
                     const char *on_limit,
                     int32_t partial,
                     struct pg_admission *admissions,
                     struct pg_error *error);

/**
 * Pauses as the failure of a job of Open Job Spec says, in all processes: paused is 1, or 0 when the
 * failure is no signal of a rate limit, which changes nothing.
 *
 * document is that failure as JSON, such as {"type": "rate_limited", "retry_after": 30}, or an object
 * with it as its "error". The later of retry_after and rate_limit_until holds, 30 seconds without
 * either; a pause that ends later stays as it is. The message of PG_INVALID names the place of a fault.
 * paused may be NULL; at_us as in pg_request.
 */
pg_code pg_apply_ojs_signal(const struct pg_limiter *limiter,
                            const char *document,
                            int64_t at_us,
                            int32_t *paused,
                            struct pg_error *error);

/**
 * Applies an override document of Open Job Spec, in all processes.
 *
 * document is JSON with concurrency, rate, throttle and expires_at, or some of them: what it does not
 * name stays as it is, null ends an override. The message of PG_INVALID names the place of a fault, also
 * of a strategy that the limiter does not have. controls, which gets what is in force now, may be NULL;
 * at_us as in pg_request.
 */
pg_code pg_apply_ojs_override(const struct pg_limiter *limiter,
                              const char *document,
                              int64_t at_us,
                              struct pg_runtime_state *controls,
                              struct pg_error *error);

/**
 * Makes the limits of a RateLimitControl on a store: length bytes of JSON. Asks no server.
 *
 * The message of PG_INVALID names the place of a fault. The handle is to be closed by
 * pg_invantive_gate_close.
 */
pg_code pg_invantive_gate_new(const struct pg_store *store,
                              const char *text,
                              size_t length,
                              struct pg_invantive_gate **gate,
                              struct pg_error *error);

/**
 * Counts a request in the slot of the first element that applies to it. Never waits itself: the
 * caller delays the answer by delay_us.
 *
 * A refusal is PG_OK too, and counts nothing: look at verdict->allowed. facts may be NULL. In Redis
 * it asks once for the levels that fail, once for each that only delays, and once for the time when an
 * element has a validity and facts no at_us.
 */
pg_code pg_invantive_gate_admit(const struct pg_invantive_gate *gate,
                                const struct pg_request_attributes *facts,
                                struct pg_gate_decision *verdict,
                                struct pg_error *error);

/**
 * The word for a level, such as "second"; "?" for a number that is none. Never to be freed.
 */
const char *pg_level_name(int32_t level);

/**
 * Closes a gate. What it has counted stays.
 */
pg_code pg_invantive_gate_close(struct pg_invantive_gate *gate, struct pg_error *error);

/**
 * Makes the limiter for a run of a workflow of Conductor, as pg_document_next gives one. Asks no
 * server.
 *
 * definition is that of the workflow and run what is known of the run, {"input": {}, "correlationId":
 * "", "version": 1}, both JSON. Runs with one key share a limiter, whose name is conductor/workflow/
 * and the key; a run without a key has one that is unlimited. A lease lasts at most
 * lock_timeout_us unless it is renewed, PG_NOT_GIVEN for pg_lock_timeout_us. on_limit of it belongs
 * into pg_admit. The limiter is to be closed by pg_limiter_close.
 */
pg_code pg_conductor_limiter(const struct pg_store *store,
                             const char *definition,
                             const char *run,
                             int64_t lock_timeout_us,
                             struct pg_loaded_limiter *loaded,
                             struct pg_error *error);

/**
 * How long until a job comes again that was over the limit overrated times, this time included.
 *
 * draw is a random number from 0 to 299; numbers out of their range count as the nearest in it.
 */
int64_t pg_backoff(int64_t overrated, int64_t draw);

/**
 * The new overrated of a job that was over the limit so often before and now again; -1 when it has
 * come cap times and gives up.
 */
int64_t pg_reschedule_next(int64_t overrated, int64_t cap);

/**
 * How long the packages wait for a limit unless told otherwise.
 */
int64_t pg_wait_timeout_us(void);

/**
 * How long a lease lasts in the packages unless told otherwise.
 */
int64_t pg_lock_timeout_us(void);

/**
 * How long a ticket keeps its place after the time at which it was to look, unless told otherwise.
 */
int64_t pg_claim_timeout_us(void);

/**
 * The same for tickets of jobs, for which nobody waits; the packages take it.
 */
int64_t pg_job_claim_timeout_us(void);

/**
 * For how long after its last use a limiter is listed and its statistics are kept, unless told
 * otherwise.
 */
int64_t pg_ttl_us(void);

/**
 * The longest pause to take from an upstream's word, unless told otherwise.
 */
int64_t pg_max_pause_us(void);

/**
 * How often a job that is over the limit comes again, unless told otherwise; see
 * pg_reschedule_next.
 */
int64_t pg_reschedule_cap(void);

/**
 * The word for a code, such as "invalid"; "?" for a number that is none. Never to be freed.
 */
const char *pg_error_name(int32_t code);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PADDLEGATE_H */
