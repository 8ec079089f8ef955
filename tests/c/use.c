/* The library used as it is meant to be. */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"

#include <poll.h>
#include <stddef.h>

/* The example of the design, to its end. */
static void points_are_estimated_and_corrected(void)
{
    pg_store *store;
    pg_limiter *shop;
    pg_decision d;
    pg_error e = {0};
    pg_settlement settlement;

    CHECK_INT(PG_OK, pg_store_open("memory://", 0, &store, &e));
    CHECK_INT(PG_OK, pg_limiter_points(store, "shopify-42", 1000, 20000000, &shop, &e));
    CHECK_INT(PG_OK, pg_acquire(shop, &(pg_request){.estimate = 200}, &d, &e));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(PG_REASON_NONE, d.reason);
    CHECK_INT(1000, d.limit);
    CHECK_INT(800, d.remaining);
    CHECK(d.permit[0] != '\0');

    CHECK_INT(PG_OK, pg_correct(shop, d.permit, 50, NULL, 0, &settlement, &e));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    CHECK_INT(PG_OK, pg_correct(shop, d.permit, 50, NULL, 0, &settlement, &e));
    CHECK_INT(PG_SETTLEMENT_ALREADY, settlement);
    CHECK_INT(PG_OK, pg_correct(shop, d.permit, 50, NULL, 0, NULL, NULL));
    CHECK_INT(PG_OK, pg_correct(shop, "nobody's", 50, NULL, 0, &settlement, &e));
    CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);

    CHECK_INT(PG_OK, pg_peek(shop, &(pg_request){.cost = PG_COST_ZERO}, &d, &e));
    CHECK(d.remaining >= 950);
    CHECK_TEXT("", d.permit);
    CHECK_INT(PG_OK, pg_reset(shop, &e));
    CHECK_INT(PG_OK, pg_limiter_close(shop, &e));
    CHECK_INT(PG_OK, pg_store_close(store, &e));
}

static void a_refusal_says_when_to_come_back(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_window(store, "w", 2, 1000000, &limiter, &error));
    OK(pg_acquire(limiter, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(NOW, d.at_us);
    at(NOW + 400000);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_WINDOW, d.reason);
    CHECK_INT(0, d.remaining);
    CHECK_INT(600000, d.retry_after_us);
    at(NOW + 999999);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    at(NOW + 1000000);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void a_clock_is_moved_by_the_test(void)
{
    pg_store *stores[2];
    pg_limiter *limiters[2];
    pg_decision d;

    for (int i = 0; i < 2; i++) {
        open_at(NOW, "memory://", &stores[i]);
        OK(pg_limiter_window(stores[i], "w", 1, 1000000, &limiters[i], &error));
        OK(pg_acquire(limiters[i], NULL, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
    }
    OK(pg_test_clock_advance(test_clock, 999999, &error));
    CHECK_INT(NOW + 999999, pg_test_clock_now(test_clock));
    OK(pg_acquire(limiters[0], NULL, &d, &error));
    CHECK_INT(1, d.retry_after_us);
    /* The clock of a server may run backwards, and the limiter still knows what was. */
    at(NOW - 1);
    OK(pg_acquire(limiters[0], NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    at(NOW + 1000000);
    OK(pg_test_clock_close(test_clock, &error));
    test_clock = NULL;
    for (int i = 0; i < 2; i++) {
        OK(pg_acquire(limiters[i], NULL, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
        OK(pg_limiter_close(limiters[i], &error));
        OK(pg_store_close(stores[i], &error));
    }
}

static void every_kind_can_be_made(void)
{
    pg_store *store;
    pg_limiter *limiters[8];
    pg_decision d;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_bucket(store, "bucket", 5, 1000000, &limiters[0], &error));
    OK(pg_limiter_window(store, "window", 5, 1000000, &limiters[1], &error));
    OK(pg_limiter_leaky(store, "leaky", 5, 1000000, &limiters[2], &error));
    OK(pg_limiter_points(store, "points", 5, 1000000, &limiters[3], &error));
    OK(pg_limiter_throttle(store, "throttle", 1000000, &limiters[4], &error));
    OK(pg_limiter_unlimited(store, "unlimited", &limiters[5], &error));
    OK(pg_limiter_paused(store, "paused", &limiters[6], &error));
    OK(pg_limiter_concurrent(store, "concurrent", 5, 1000000, &limiters[7], &error));
    for (int i = 0; i < 8; i++) {
        OK(pg_acquire(limiters[i], &(pg_request){.cost = 1}, &d, &error));
        CHECK_INT(i == 6 ? PG_STATUS_REFUSED : PG_STATUS_GRANTED, d.status);
        CHECK_INT(i == 6 ? PG_REASON_PAUSED : PG_REASON_NONE, d.reason);
        CHECK_INT(i == 5 ? -1 : i == 6 ? 0 : i == 4 ? 1 : 5, d.limit);
        CHECK_INT(i == 6 ? -1 : 0, d.retry_after_us);
        OK(pg_limiter_close(limiters[i], &error));
    }
    OK(pg_store_close(store, &error));
}

static void several_limits_are_one_policy(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 100, .interval_us = 60000000},
        {.kind = PG_KIND_THROTTLE, .interval_us = 100000},
    };
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_new(store, "stripe", limits, 2, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_THROTTLE, d.reason);
    CHECK_TEXT("throttle", d.label);
    CHECK_INT(100000, d.retry_after_us);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void a_throttle_has_several_starts_per_interval(void)
{
    static const int64_t starts[] = {0, 333334, 666667, 1000000, 1333334, 1666667, 2000000};
    const pg_limit limit = {.kind = PG_KIND_THROTTLE, .amount = 3, .interval_us = 1000000};
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_new(store, "mail", &limit, 1, &limiter, &error));
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (i > 0) {
            at(NOW + starts[i] - 1);
            OK(pg_acquire(limiter, NULL, &d, &error));
            CHECK_INT(PG_STATUS_REFUSED, d.status);
            CHECK_INT(1, d.retry_after_us);
        }
        at(NOW + starts[i]);
        OK(pg_acquire(limiter, &(pg_request){.cost = 7}, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
        CHECK_INT(1, d.limit);
    }
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void a_limiter_of_a_closed_store_refuses(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;
    pg_error refused;

    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_bucket(store, "b", 5, 1000000, &limiter, &error));
    CHECK_INT(1, pg_store_is_memory(store));
    OK(pg_store_close(store, &error));
    CHECK_INT(0, pg_store_is_memory(store));
    CHECK_INT(PG_INVALID, pg_acquire(limiter, NULL, &d, &refused));
    CHECK_TEXT("store", refused.argument);
    OK(pg_limiter_close(limiter, &error));
}

static void leases_are_released_and_renewed(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d, other;
    pg_settlement settlement;
    int64_t lease;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_concurrent(store, "erp", 1, 2000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(2000000, d.lease_us);
    CHECK(d.fencing_token > 0 && d.permit[0] != '\0');
    CHECK_INT(-1, d.ticket);
    OK(pg_acquire(limiter, NULL, &other, &error));
    CHECK_INT(PG_STATUS_REFUSED, other.status);
    CHECK_INT(PG_REASON_CONCURRENCY, other.reason);
    CHECK_INT(-1, other.lease_us);
    CHECK_INT(-1, other.fencing_token);
    CHECK_TEXT("", other.permit);

    at(NOW + 1000000);
    OK(pg_renew(limiter, d.permit, &lease, &error));
    CHECK_INT(2000000, lease);
    at(NOW + 3000000);
    OK(pg_renew(limiter, d.permit, &lease, &error));
    CHECK_INT(-1, lease);
    OK(pg_acquire(limiter, NULL, &other, &error));
    CHECK_INT(PG_STATUS_GRANTED, other.status);
    CHECK(other.fencing_token > d.fencing_token);
    at(NOW + 3000001);
    OK(pg_release(limiter, d.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_LATE, settlement);
    OK(pg_release(limiter, other.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    OK(pg_release(limiter, other.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);
    OK(pg_release(limiter, other.permit, NULL, NULL));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void an_id_takes_one_lease(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_concurrent(store, "erp", 1, 2000000, &limiter, &error));
    for (int i = 0; i < 2; i++) {
        OK(pg_acquire_with_id(limiter, NULL, "job 1", NULL, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
    }
    OK(pg_acquire_with_id(limiter, NULL, "job 2", NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void tickets_keep_their_order(void)
{
    const pg_wait last = {.max_wait_us = PG_FOREVER, .claim_timeout_us = 60000000};
    const pg_wait kept = {.max_wait_us = PG_FOREVER, .position = PG_POSITION_EXISTING};
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d, held;
    pg_settlement settlement;
    pg_queued_id ids[2];
    size_t found, count;
    int64_t after_us;
    char channel[64];
    pg_wakeups *wakeups;
    pg_wakeup wakeup;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_concurrent(store, "jobs", 1, 30000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &held, &error));
    for (int i = 0; i < 3; i++) {
        static const char *const jobs[] = {"a", "b", "c"};

        OK(pg_acquire_with_id(limiter, NULL, jobs[i], &last, &d, &error));
        CHECK_INT(PG_STATUS_QUEUED, d.status);
        CHECK_INT(i, d.position);
        CHECK_INT(i + 1, d.ticket);
        CHECK_INT(-1, d.ready_after_us);
        CHECK(d.retry_after_us > 0);
    }
    OK(pg_cancel(limiter, "b", 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_CANCELLED, settlement);
    OK(pg_cancel(limiter, "b", 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);
    OK(pg_acquire_with_id(limiter, NULL, "b", &kept, &d, &error));
    CHECK_INT(PG_STATUS_NO_TICKET, d.status);
    OK(pg_acquire_with_id(limiter, NULL, "c", &kept, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    CHECK_INT(1, d.position);
    OK(pg_ready(limiter, 2, ids, &found, &error));
    CHECK_INT(0, found);
    OK(pg_listen(limiter, &wakeups, &error));
    OK(pg_wakeups_channel(wakeups, channel, sizeof channel, &error));
    OK(pg_ready_for(limiter, NULL, NULL, 2, ids, &found, &after_us, &error));
    CHECK(found == 0 && after_us > 0 && after_us <= 5000000);
    OK(pg_ready_for(limiter, "host", channel, 2, ids, &found, &after_us, &error));
    CHECK(found == 0 && after_us > 0 && after_us <= 5000000);
    OK(pg_release(limiter, held.permit, NULL, &error));
    for (count = 0; count == 0;) {
        OK(pg_wakeups_receive(wakeups, &wakeup, 1, &count, &error));
    }
    CHECK_TEXT("host", wakeup.id);
    CHECK_INT(0, wakeup.delay_us);
    OK(pg_wakeups_close(wakeups, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_ready_for(limiter, "host", channel, 2, ids, &found, &after_us, &error));
    CHECK_INT(1, found);
    CHECK(after_us > 0 && after_us <= 5000000);
    CHECK_TEXT("a", ids[0].id);
    CHECK_INT(1, ids[0].length);
    CHECK_TEXT("", ids[1].id);
    CHECK_INT(0, ids[1].length);
    OK(pg_acquire_with_id(limiter, NULL, "a", &kept, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    /* Without a wait it gives up its place. */
    OK(pg_acquire_with_id(limiter, NULL, "c", NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_acquire_with_id(limiter, NULL, "c", &kept, &d, &error));
    CHECK_INT(PG_STATUS_NO_TICKET, d.status);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void it_is_counted_what_was_done(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;
    pg_statistics s;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_concurrent(store, "counted", 1, 30000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    OK(pg_acquire(limiter, NULL, &(pg_decision){0}, &error));
    OK(pg_stats(limiter, &s, &error));
    CHECK_INT(1, s.granted);
    CHECK_INT(1, s.refused);
    CHECK_INT(1, s.units);
    CHECK_INT(1, s.leases);
    at(NOW + 7);
    OK(pg_release(limiter, d.permit, NULL, &error));
    OK(pg_stats(limiter, &s, &error));
    CHECK_INT(7, s.held_time_us);
    CHECK_INT(0, s.leases);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void wait_for(pg_wakeups *hints)
{
    struct pollfd here = {.fd = pg_wakeups_fd(hints), .events = POLLIN};

    CHECK_INT(1, poll(&here, 1, 10000));
}

static void a_release_is_heard(const char *url)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision held[2], d;
    pg_wakeups *hints;
    pg_wakeup hint;
    size_t count;
    char place[300], other_place[300], channel[64], name[33];
    pg_wait wait = {.max_wait_us = 60000000, .channel = channel};

    OK(pg_store_open(url, 10000000, &store, &error));
    OK(pg_new_id(name, &error));
    OK(pg_limiter_concurrent(store, name, 2, 30000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &held[0], &error));
    OK(pg_acquire(limiter, NULL, &held[1], &error));
    OK(pg_notification_node(limiter, place, sizeof place, &error));
    CHECK(place[0] != '\0');
    OK(pg_notification_node(limiter, other_place, sizeof other_place, &error));
    CHECK_TEXT(place, other_place);
    OK(pg_listen(limiter, &hints, &error));
    OK(pg_wakeups_channel(hints, channel, sizeof channel, &error));
    OK(pg_wakeups_receive(hints, &hint, 1, &count, &error));
    CHECK_INT(0, count);
    OK(pg_acquire_with_id(limiter, NULL, "first", &wait, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    OK(pg_acquire_with_id(limiter, NULL, "second", &wait, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    OK(pg_release(limiter, held[0].permit, NULL, &error));
    OK(pg_release(limiter, held[1].permit, NULL, &error));
    /* One at a time, whether they came together or not. A delay tells the second of the first. */
    for (int i = 0; i < 2; i++) {
        do {
            OK(pg_wakeups_receive(hints, &hint, 1, &count, &error));
            if (count == 0) {
                wait_for(hints);
            }
        } while (count == 0 || hint.delay_us > 0);
        CHECK_INT(1, count);
        CHECK_TEXT(i == 0 ? "first" : "second", hint.id);
        OK(pg_acquire_with_id(limiter, NULL, hint.id, &wait, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
    }
    OK(pg_wakeups_close(hints, &error));
    CHECK_INT(-1, pg_wakeups_fd(hints));
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void a_release_is_heard_in_memory(void)
{
    a_release_is_heard("memory://");
}

static void a_release_is_heard_in_redis(void)
{
    a_release_is_heard(getenv("PADDLEGATE_TEST_URL"));
}

static void waiting_ends_with_a_grant_or_with_its_time(void)
{
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;
    pg_statistics s;

    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_concurrent(store, "erp", 1, 60000000, &limiter, &error));
    OK(pg_acquire_timeout(limiter, NULL, 1000000, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_acquire_timeout(limiter, NULL, 20000, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_stats(limiter, &s, &error));
    CHECK_INT(0, s.tickets);
    OK(pg_limiter_close(limiter, &error));
    /* A lease ends by itself. */
    OK(pg_limiter_concurrent(store, "short", 1, 100000, &limiter, &error));
    for (int i = 0; i < 2; i++) {
        OK(pg_acquire_timeout(limiter, NULL, PG_FOREVER, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
    }
    OK(pg_stats(limiter, &s, &error));
    CHECK_INT(1, s.reclaimed);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_limiter_unlimited(store, "u", &limiter, &error));
    OK(pg_acquire_timeout(limiter, NULL, 1000000, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void limiters_are_listed(const char *url)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 5, .interval_us = 30000000},
        {.kind = PG_KIND_WINDOW, .amount = 100, .interval_us = 60000000},
    };
    pg_store *store;
    pg_limiter *limiter;
    pg_decision d;
    pg_list *list;
    pg_limiter_info listed;
    char name[33];
    int found = 0, memory;

    OK(pg_store_open(url, 10000000, &store, &error));
    memory = pg_store_is_memory(store);
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new_with_ttl(store, name, limits, 2, 3600000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    OK(pg_list_open(store, &list, &error));
    for (;;) {
        OK(pg_list_next(list, &listed, &error));
        if (listed.name[0] == '\0') {
            break;
        }
        if (strcmp(listed.name, name) != 0) {
            continue;
        }
        found++;
        CHECK_INT(2, listed.count);
        CHECK_INT(PG_KIND_CONCURRENCY, listed.limits[0].kind);
        CHECK_INT(5, listed.limits[0].amount);
        CHECK_INT(30000000, listed.limits[0].interval_us);
        CHECK_TEXT("concurrency", listed.limits[0].label);
        CHECK_INT(PG_KIND_WINDOW, listed.limits[1].kind);
        CHECK_INT(memory ? pg_ttl_us() : 3600000000, listed.ttl_us);
        CHECK(memory ? listed.last_used_us == -1 : listed.last_used_us > NOW);
    }
    CHECK_INT(1, found);
    OK(pg_list_next(list, &listed, &error));
    CHECK_TEXT("", listed.name);
    OK(pg_list_close(list, &error));
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void limiters_are_listed_in_memory(void)
{
    limiters_are_listed("memory://");
}

static void limiters_are_listed_in_redis(void)
{
    limiters_are_listed(getenv("PADDLEGATE_TEST_URL"));
}

static void intervals_are_read(void)
{
    int64_t us;

    OK(pg_parse_interval("minute", &us, &error));
    CHECK_INT(60000000, us);
    OK(pg_parse_interval("PT0.1S", &us, &error));
    CHECK_INT(100000, us);
}

static void numbers_have_names(void)
{
    CHECK_TEXT("ok", pg_error_name(PG_OK));
    CHECK_TEXT("over_limit", pg_error_name(PG_OVER_LIMIT));
    CHECK_TEXT("invalid", pg_error_name(PG_INVALID));
    CHECK_TEXT("unavailable", pg_error_name(PG_UNAVAILABLE));
    CHECK_TEXT("data", pg_error_name(PG_DATA));
    CHECK_TEXT("internal", pg_error_name(PG_INTERNAL));
    CHECK_TEXT("bucket", pg_kind_name(PG_KIND_BUCKET));
    CHECK_TEXT("unlimited", pg_kind_name(PG_KIND_UNLIMITED));
    CHECK_TEXT("paused", pg_kind_name(PG_KIND_PAUSED));
    CHECK_TEXT("concurrency", pg_kind_name(PG_KIND_CONCURRENCY));
    CHECK_TEXT("quota", pg_kind_name(PG_KIND_QUOTA));
    CHECK_TEXT("?", pg_kind_name(9));
    CHECK_TEXT("none", pg_kind_name(PG_KIND_NONE));
    CHECK_TEXT("none", pg_reason_name(PG_REASON_NONE));
    CHECK_TEXT("window", pg_reason_name(PG_REASON_WINDOW));
    CHECK_TEXT("paused", pg_reason_name(PG_REASON_PAUSED));
    CHECK_TEXT("too_large", pg_reason_name(PG_REASON_TOO_LARGE));
    CHECK_TEXT("unavailable", pg_reason_name(PG_REASON_UNAVAILABLE));
    CHECK_TEXT("quota", pg_reason_name(PG_REASON_QUOTA));
    CHECK_TEXT("blocked", pg_reason_name(PG_REASON_BLOCKED));
    CHECK_TEXT("settled", pg_settlement_name(PG_SETTLEMENT_SETTLED));
    CHECK_TEXT("released", pg_settlement_name(PG_SETTLEMENT_RELEASED));
    CHECK_TEXT("cancelled", pg_settlement_name(PG_SETTLEMENT_CANCELLED));
    CHECK_TEXT("unknown", pg_settlement_name(PG_SETTLEMENT_UNKNOWN));
    CHECK_TEXT("refuse", pg_action_name(PG_ACTION_REFUSE));
    CHECK_TEXT("run", pg_action_name(PG_ACTION_RUN));
    CHECK_TEXT("wait", pg_action_name(PG_ACTION_WAIT));
    CHECK_TEXT("reschedule", pg_action_name(PG_ACTION_RESCHEDULE));
    CHECK_TEXT("drop", pg_action_name(PG_ACTION_DROP));
    for (int32_t i = -2; i < 100; i += 101) {
        CHECK_TEXT("?", pg_error_name(i));
        CHECK_TEXT("?", pg_kind_name(i));
        CHECK_TEXT("?", pg_reason_name(i));
        CHECK_TEXT("?", pg_settlement_name(i));
        CHECK_TEXT("?", pg_action_name(i));
    }
    CHECK_TEXT("?", pg_settlement_name(1));
    CHECK(strlen(pg_version()) >= 5);
    CHECK_INT(5000000, pg_wait_timeout_us());
    CHECK_INT(30000000, pg_lock_timeout_us());
    CHECK_INT(2000000, pg_claim_timeout_us());
    CHECK_INT(90 * 86400000000, pg_ttl_us());
}

/* Other languages read these structs by their bytes. */
static void structs_have_a_fixed_layout(void)
{
    CHECK_INT(24, sizeof(pg_units));
    CHECK_INT(8, offsetof(pg_units, units));
    CHECK_INT(16, offsetof(pg_units, limiter));
    CHECK_INT(88, sizeof(pg_request));
    CHECK_INT(16, offsetof(pg_request, cost_by_label));
    CHECK_INT(32, offsetof(pg_request, estimate_by_label));
    CHECK_INT(48, offsetof(pg_request, settle_within_us));
    CHECK_INT(56, offsetof(pg_request, priority));
    CHECK_INT(64, offsetof(pg_request, share));
    CHECK_INT(72, offsetof(pg_request, weight));
    CHECK_INT(80, offsetof(pg_request, limits));
    CHECK_INT(88, sizeof(pg_decision_limit));
    CHECK_INT(36, offsetof(pg_decision_limit, limiter));
    CHECK_INT(40, offsetof(pg_decision_limit, kind));
    CHECK_INT(48, offsetof(pg_decision_limit, limit));
    CHECK_INT(8 + 32 * 88, sizeof(pg_decision_limits));
    CHECK_INT(8, offsetof(pg_decision_limits, each));
    CHECK_INT(744, sizeof(pg_decision));
    CHECK_INT(736, offsetof(pg_decision, is_lowered));
    CHECK_INT(8, offsetof(pg_decision, label));
    CHECK_INT(44, offsetof(pg_decision, limiter));
    CHECK_INT(48, offsetof(pg_decision, limit));
    CHECK_INT(88, offsetof(pg_decision, lease_us));
    CHECK_INT(128, offsetof(pg_decision, permit));
    CHECK_INT(728, offsetof(pg_decision, degraded));
    CHECK_INT(732, offsetof(pg_decision, would_refuse));
    CHECK_INT(760, sizeof(pg_admission));
    CHECK_INT(8, offsetof(pg_admission, after_us));
    CHECK_INT(16, offsetof(pg_admission, decision));
    CHECK_INT(48, sizeof(pg_wait));
    CHECK_INT(16, offsetof(pg_wait, channel));
    CHECK_INT(40, offsetof(pg_wait, is_run));
    CHECK_INT(120, sizeof(pg_waiter));
    CHECK_INT(80, sizeof(pg_wakeup));
    CHECK_INT(8, offsetof(pg_wakeup, id));
    CHECK_INT(2032, sizeof(pg_statistics));
    CHECK_INT(6464, sizeof(pg_limiter_info));
    CHECK_INT(520, offsetof(pg_limiter_info, group));
    CHECK_INT(1040, offsetof(pg_limiter_info, limits));
    CHECK_INT(6416, offsetof(pg_limiter_info, count));
    CHECK_INT(6440, offsetof(pg_limiter_info, keyed));
    CHECK_INT(296, sizeof(pg_error));
    CHECK_INT(8, offsetof(pg_error, argument));
    CHECK_INT(40, offsetof(pg_error, message));
    CHECK_INT(72, sizeof(pg_limit));
    CHECK_INT(8, offsetof(pg_limit, amount));
    CHECK_INT(32, offsetof(pg_limit, label));
    CHECK_INT(40, offsetof(pg_limit, per));
    CHECK_INT(48, offsetof(pg_limit, timezone));
    CHECK_INT(56, offsetof(pg_limit, starts));
    CHECK_INT(64, offsetof(pg_limit, refund));
    CHECK_INT(168, sizeof(pg_labelled_limit));
    CHECK_INT(32, offsetof(pg_labelled_limit, label));
    CHECK_INT(65, offsetof(pg_labelled_limit, per));
    CHECK_INT(73, offsetof(pg_labelled_limit, timezone));
    CHECK_INT(138, offsetof(pg_labelled_limit, starts));
}

int main(void)
{
    RUN(points_are_estimated_and_corrected);
    RUN(a_refusal_says_when_to_come_back);
    RUN(a_clock_is_moved_by_the_test);
    RUN(every_kind_can_be_made);
    RUN(several_limits_are_one_policy);
    RUN(a_throttle_has_several_starts_per_interval);
    RUN(a_limiter_of_a_closed_store_refuses);
    RUN(leases_are_released_and_renewed);
    RUN(an_id_takes_one_lease);
    RUN(tickets_keep_their_order);
    RUN(it_is_counted_what_was_done);
    RUN(a_release_is_heard_in_memory);
    RUN(a_release_is_heard_in_redis);
    RUN(waiting_ends_with_a_grant_or_with_its_time);
    RUN(limiters_are_listed_in_memory);
    RUN(limiters_are_listed_in_redis);
    RUN(intervals_are_read);
    RUN(numbers_have_names);
    RUN(structs_have_a_fixed_layout);
    return check_report();
}
