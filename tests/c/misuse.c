/* Every wrong call is an error that names the argument; none crashes or grants. */
#define _POSIX_C_SOURCE 200809L
#include "misuse.h"

static void null_store(void)
{
    pg_limiter *made = (pg_limiter *)&store;
    pg_list *list = (pg_list *)&store;
    pg_limit limit = {.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 1000000};

    REFUSED("store", pg_store_open("memory://", 0, NULL, &error_));
    REFUSED("store", pg_store_memory(NULL, &error_));
    REFUSED("store", pg_store_close(NULL, &error_));
    REFUSED("store", pg_limiter_new(NULL, "n", &limit, 1, &made, &error_));
    CHECK(made == NULL);
    REFUSED("store", pg_limiter_bucket(NULL, "n", 5, 1000000, &made, &error_));
    REFUSED("store", pg_limiter_window(NULL, "n", 5, 1000000, &made, &error_));
    REFUSED("store", pg_limiter_leaky(NULL, "n", 5, 1000000, &made, &error_));
    REFUSED("store", pg_limiter_points(NULL, "n", 5, 1000000, &made, &error_));
    REFUSED("store", pg_limiter_throttle(NULL, "n", 1000000, &made, &error_));
    REFUSED("store", pg_limiter_unlimited(NULL, "n", &made, &error_));
    REFUSED("store", pg_limiter_paused(NULL, "n", &made, &error_));
    REFUSED("store", pg_limiter_concurrent(NULL, "n", 5, 1000000, &made, &error_));
    REFUSED("store", pg_limiter_new_with_ttl(NULL, "n", &limit, 1, 1000000, &made, &error_));
    REFUSED("store", pg_list_open(NULL, &list, &error_));
    CHECK(list == NULL);
    REFUSED("store", pg_list_open_prefix(NULL, "p", &list, &error_));
    REFUSED("store", pg_list_open_page(NULL, "p", NULL, &list, &error_));
}

static void null_limiter(void)
{
    pg_settlement settlement;
    pg_statistics statistics;
    pg_wakeups *hints = (pg_wakeups *)&store;
    char place[300];
    int64_t lease;

    REFUSED("limiter", pg_limiter_close(NULL, &error_));
    REFUSED("limiter", pg_acquire(NULL, NULL, &decision, &error_));
    CHECK_INT(PG_STATUS_REFUSED, decision.status);
    CHECK_INT(-1, decision.retry_after_us);
    CHECK_TEXT("", decision.permit);
    REFUSED("limiter", pg_peek(NULL, NULL, &decision, &error_));
    REFUSED("limiter", pg_reset(NULL, &error_));
    REFUSED("limiter", pg_correct(NULL, "p", 1, NULL, 0, &settlement, &error_));
    CHECK_INT(PG_SETTLEMENT_NONE, settlement);
    REFUSED("limiter", pg_acquire_with_id(NULL, NULL, "id", NULL, &decision, &error_));
    CHECK_INT(-1, decision.lease_us);
    CHECK_INT(-1, decision.ticket);
    REFUSED("limiter", pg_acquire_timeout(NULL, NULL, 1, &decision, &error_));
    REFUSED("limiter", pg_release(NULL, "p", &settlement, &error_));
    REFUSED("limiter", pg_cancel(NULL, "id", 0, &settlement, &error_));
    CHECK_INT(PG_SETTLEMENT_NONE, settlement);
    REFUSED("limiter", pg_renew(NULL, "p", &lease, &error_));
    CHECK_INT(-1, lease);
    REFUSED("limiter", pg_stats(NULL, &statistics, &error_));
    CHECK_INT(0, statistics.granted);
    REFUSED("limiter", pg_listen(NULL, &hints, &error_));
    CHECK(hints == NULL);
    REFUSED("limiter", pg_notification_node(NULL, place, sizeof place, &error_));
}

static void null_others(void)
{
    pg_wakeup hint;
    pg_limiter_info listed;
    size_t count = 5;
    char channel[64];

    CHECK_INT(-1, pg_wakeups_fd(NULL));
    REFUSED("hints", pg_wakeups_channel(NULL, channel, sizeof channel, &error_));
    REFUSED("hints", pg_wakeups_receive(NULL, &hint, 1, &count, &error_));
    CHECK_INT(0, count);
    REFUSED("hints", pg_wakeups_close(NULL, &error_));
    REFUSED("list", pg_list_next(NULL, &listed, &error_));
    CHECK_TEXT("", listed.name);
    REFUSED("list", pg_list_cursor(NULL, channel, sizeof channel, &error_));
    REFUSED("list", pg_list_close(NULL, &error_));
}

static void places_without_room(void)
{
    pg_wakeups *hints;
    pg_wakeup hint;
    pg_list *list;
    char small[64] = "small";
    size_t count;

    REFUSED("place", pg_notification_node(limiter, NULL, 300, &error_));
    REFUSED("room", pg_notification_node(limiter, small, 6, &error_));
    CHECK_TEXT("small", small);
    OK(pg_notification_node(limiter, small, 7, &error));
    CHECK_TEXT("memory", small);
    REFUSED("id", pg_new_id(NULL, &error_));
    REFUSED("hints", pg_listen(limiter, NULL, &error_));
    OK(pg_listen(limiter, &hints, &error));
    REFUSED("channel", pg_wakeups_channel(hints, NULL, 64, &error_));
    REFUSED("room", pg_wakeups_channel(hints, small, 42, &error_));
    OK(pg_wakeups_channel(hints, small, 43, &error));
    REFUSED("received", pg_wakeups_receive(hints, NULL, 1, &count, &error_));
    REFUSED("room", pg_wakeups_receive(hints, &hint, 0, &count, &error_));
    REFUSED("count", pg_wakeups_receive(hints, &hint, 1, NULL, &error_));
    REFUSED("hints", pg_wakeups_close((pg_wakeups *)limiter, &error_));
    REFUSED("limiter", pg_limiter_close((pg_limiter *)hints, &error_));
    OK(pg_wakeups_close(hints, &error));
    REFUSED("hints", pg_wakeups_close(hints, &error_));
    REFUSED("hints", pg_wakeups_receive(hints, &hint, 1, &count, &error_));
    REFUSED("list", pg_list_open(store, NULL, &error_));
    REFUSED("list", pg_list_open_prefix(store, "p", NULL, &error_));
    REFUSED("list", pg_list_open_page(store, "p", NULL, NULL, &error_));
    OK(pg_list_open(store, &list, &error));
    REFUSED("listed", pg_list_next(list, NULL, &error_));
    REFUSED("cursor", pg_list_cursor(list, NULL, 64, &error_));
    REFUSED("room", pg_list_cursor(list, small, 0, &error_));
    OK(pg_list_close(list, &error));
    REFUSED("list", pg_list_close(list, &error_));
    REFUSED("list", pg_list_cursor(list, small, sizeof small, &error_));
    REFUSED("statistics", pg_stats(limiter, NULL, &error_));
    REFUSED("lease_us", pg_renew(limiter, "p", NULL, &error_));
}

static void waits(void)
{
    static char long_text[100000];
    pg_wait wait = {.max_wait_us = 1000000};
    pg_queued_id ids[1];
    pg_inspection inspection;
    pg_lease_info leases[1];
    pg_ticket_info tickets[1];
    pg_limiter *one;
    size_t found;
    int64_t after_us;
    pg_decision held;
    pg_statistics statistics;

    memset(long_text, 'x', sizeof long_text - 1);
    OK(pg_limiter_concurrent(store, "waits", 1, 30000000, &one, &error));
    OK(pg_acquire_with_id(one, NULL, "held", NULL, &held, &error));
    REFUSED("id", pg_acquire_with_id(one, NULL, NULL, &wait, &decision, &error_));
    REFUSED("id", pg_acquire_with_id(one, NULL, "", &wait, &decision, &error_));
    REFUSED("id", pg_acquire_with_id(one, NULL, long_text, &wait, &decision, &error_));
    REFUSED("id", pg_acquire_with_id(one, NULL, "\xff", &wait, &decision, &error_));
    REFUSED("decision", pg_acquire_with_id(one, NULL, "id", &wait, NULL, &error_));
    REFUSED("cost", pg_acquire_with_id(one, &(pg_request){.cost = -2}, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = -2};
    REFUSED("wait_timeout", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = INT64_MAX};
    REFUSED("wait_timeout", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .claim_timeout_us = -1};
    REFUSED("claim_timeout", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .claim_timeout_us = INT64_MAX};
    REFUSED("claim_timeout", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .channel = long_text};
    REFUSED("channel", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .channel = "\xff"};
    REFUSED("channel", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .position = -2};
    REFUSED("ticket", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    wait = (pg_wait){.max_wait_us = 1, .position = INT64_MAX};
    REFUSED("ticket", pg_acquire_with_id(one, NULL, "id", &wait, &decision, &error_));
    REFUSED("wait_timeout", pg_acquire_timeout(one, NULL, -2, &decision, &error_));
    REFUSED("wait_timeout", pg_acquire_timeout(one, NULL, INT64_MAX, &decision, &error_));
    REFUSED("decision", pg_acquire_timeout(one, NULL, 1, NULL, &error_));
    REFUSED("id", pg_cancel(one, NULL, 0, NULL, &error_));
    REFUSED("id", pg_cancel(one, "", 0, NULL, &error_));
    REFUSED("id", pg_cancel(one, long_text, 0, NULL, &error_));
    REFUSED("count", pg_ready(one, 0, ids, &found, &error_));
    REFUSED("count", pg_ready(one, 101, ids, &found, &error_));
    REFUSED("count", pg_ready(one, SIZE_MAX, ids, &found, &error_));
    REFUSED("ids", pg_ready(one, 1, NULL, &found, &error_));
    REFUSED("found", pg_ready(one, 1, ids, NULL, &error_));
    REFUSED("limiter", pg_ready(NULL, 1, ids, &found, &error_));
    REFUSED("after_us", pg_ready_for(one, "host", "here", 1, ids, &found, NULL, &error_));
    REFUSED("count", pg_ready_for(one, "host", "here", 0, ids, &found, &after_us, &error_));
    REFUSED("id", pg_ready_for(one, NULL, "here", 1, ids, &found, &after_us, &error_));
    REFUSED("id", pg_ready_for(one, "a\x1f", "here", 1, ids, &found, &after_us, &error_));
    REFUSED("channel", pg_ready_for(one, "host", NULL, 1, ids, &found, &after_us, &error_));
    REFUSED("channel", pg_ready_for(one, "host", "two words", 1, ids, &found, &after_us, &error_));
    REFUSED("limiter", pg_ready_for(NULL, "host", "here", 1, ids, &found, &after_us, &error_));
    CHECK(found == 0 && after_us == 0);
    REFUSED("offset", pg_inspect(one, 100001, 1, &inspection, leases, tickets, &error_));
    CHECK_INT(-1, inspection.paused_for_us);
    CHECK_TEXT("", leases[0].id);
    CHECK_TEXT("", tickets[0].id);
    REFUSED("offset", pg_inspect(one, SIZE_MAX, 1, &inspection, leases, tickets, &error_));
    REFUSED("count", pg_inspect(one, 0, 251, &inspection, leases, tickets, &error_));
    REFUSED("count", pg_inspect(one, 0, SIZE_MAX, &inspection, leases, tickets, &error_));
    REFUSED("inspection", pg_inspect(one, 0, 1, NULL, leases, tickets, &error_));
    REFUSED("leases", pg_inspect(one, 0, 1, &inspection, NULL, tickets, &error_));
    REFUSED("tickets", pg_inspect(one, 0, 1, &inspection, leases, NULL, &error_));
    REFUSED("limiter", pg_inspect(NULL, 0, 1, &inspection, leases, tickets, &error_));
    OK(pg_inspect(one, 0, 0, &inspection, NULL, NULL, &error));
    REFUSED("permit", pg_release(one, NULL, NULL, &error_));
    REFUSED("permit", pg_release(one, "", NULL, &error_));
    REFUSED("permit", pg_release(one, long_text, NULL, &error_));
    REFUSED("permit", pg_renew(one, "\xff", &(int64_t){0}, &error_));
    /* All of it has changed nothing, and strangers free nobody's lease. */
    for (int i = 0; i < 3; i++) {
        static const char *const strangers[] = {"held", "held:1:1:1", "unlimited"};
        pg_settlement settlement;

        OK(pg_release(one, strangers[i], &settlement, &error));
        CHECK(settlement != PG_SETTLEMENT_RELEASED);
    }
    OK(pg_stats(one, &statistics, &error));
    CHECK_INT(1, statistics.leases);
    CHECK_INT(0, statistics.tickets);
    CHECK_INT(1, statistics.granted);
    OK(pg_limiter_close(one, &error));
}

static void null_places(void)
{
    int64_t us;

    REFUSED("decision", pg_acquire(limiter, NULL, NULL, &error_));
    REFUSED("decision", pg_peek(limiter, NULL, NULL, &error_));
    REFUSED("limiter", pg_limiter_bucket(store, "n", 5, 1000000, NULL, &error_));
    REFUSED("permit", pg_correct(limiter, NULL, 1, NULL, 0, NULL, &error_));
    REFUSED("interval", pg_parse_interval(NULL, &us, &error_));
    REFUSED("interval_us", pg_parse_interval("day", NULL, &error_));
    CHECK_INT(PG_INVALID, pg_acquire(NULL, NULL, NULL, NULL));
    CHECK_INT(PG_INVALID, pg_store_close(NULL, NULL));
    /* Nothing above has taken anything. */
    CHECK_INT(PG_OK, pg_acquire(limiter, NULL, &decision, NULL));
    CHECK_INT(4, decision.remaining);
}

static void closed_handles(void)
{
    pg_store *old_store, *new_store;
    pg_limiter *old_limiter, *new_limiter, *made;

    OK(pg_store_memory(&old_store, &error));
    OK(pg_limiter_bucket(old_store, "n", 5, 1000000, &old_limiter, &error));
    OK(pg_limiter_close(old_limiter, &error));
    OK(pg_store_close(old_store, &error));
    for (int replaced = 0; replaced < 2; replaced++) {
        REFUSED("limiter", pg_acquire(old_limiter, NULL, &decision, &error_));
        REFUSED("limiter", pg_reset(old_limiter, &error_));
        REFUSED("limiter", pg_limiter_close(old_limiter, &error_));
        REFUSED("store", pg_limiter_paused(old_store, "n", &made, &error_));
        REFUSED("store", pg_store_close(old_store, &error_));
        /* And once more when something else has their place. */
        if (!replaced) {
            OK(pg_store_memory(&new_store, &error));
            OK(pg_limiter_bucket(new_store, "n", 5, 1000000, &new_limiter, &error));
            CHECK(new_store != old_store);
            CHECK(new_limiter != old_limiter);
        }
    }
    OK(pg_acquire(new_limiter, NULL, &decision, &error));
    OK(pg_limiter_close(new_limiter, &error));
    OK(pg_store_close(new_store, &error));
}

static void handles_of_the_other_kind(void)
{
    pg_limiter *made;

    REFUSED("limiter", pg_acquire((pg_limiter *)store, NULL, &decision, &error_));
    REFUSED("limiter", pg_limiter_close((pg_limiter *)store, &error_));
    REFUSED("store", pg_limiter_paused((pg_store *)limiter, "n", &made, &error_));
    REFUSED("store", pg_store_close((pg_store *)limiter, &error_));
    /* Addresses of real things, and numbers that never were one. */
    REFUSED("limiter", pg_acquire((pg_limiter *)&decision, NULL, &decision, &error_));
    for (int bit = 0; bit < 64; bit++) {
        pg_limiter *flipped = (pg_limiter *)((uintptr_t)limiter ^ ((uintptr_t)1 << bit));
        REFUSED("limiter", pg_acquire(flipped, NULL, &decision, &error_));
        REFUSED("limiter", pg_limiter_close(flipped, &error_));
    }
    OK(pg_acquire(limiter, NULL, &decision, &error));
}

static void texts(void)
{
    static char long_name[100000], longest_name[513];
    pg_store *opened;
    pg_limiter *made;
    int64_t us;

    memset(long_name, 'x', sizeof long_name - 1);
    memset(longest_name, 'x', 512);
    OK(pg_limiter_bucket(store, longest_name, 5, 1000000, &made, &error));
    OK(pg_limiter_close(made, &error));
    REFUSED("name", pg_limiter_bucket(store, long_name, 5, 1000000, &made, &error_));
    CHECK(made == NULL);
    REFUSED("name", pg_limiter_bucket(store, "", 5, 1000000, &made, &error_));
    REFUSED("name", pg_limiter_bucket(store, NULL, 5, 1000000, &made, &error_));
    REFUSED("name", pg_limiter_bucket(store, "\xff\xfe", 5, 1000000, &made, &error_));
    REFUSED("name", pg_limiter_bucket(store, "\xed\xa0\x80", 5, 1000000, &made, &error_));
    REFUSED("permit", pg_correct(limiter, long_name, 1, NULL, 0, NULL, &error_));
    REFUSED("permit", pg_correct(limiter, "", 1, NULL, 0, NULL, &error_));
    REFUSED("permit", pg_correct(limiter, "\x80", 1, NULL, 0, NULL, &error_));
    REFUSED("interval", pg_parse_interval("fortnight", &us, &error_));
    REFUSED("interval", pg_parse_interval(long_name, &us, &error_));
    REFUSED("interval", pg_parse_interval("\xff", &us, &error_));
    REFUSED("url", pg_store_open("http://localhost", 0, &opened, &error_));
    CHECK(opened == NULL);
    REFUSED("url", pg_store_open(long_name, 0, &opened, &error_));
    REFUSED("url", pg_store_open("redis://\xff", 0, &opened, &error_));
    REFUSED("timeout", pg_store_open("redis://localhost", -1, &opened, &error_));
    REFUSED("timeout", pg_store_open("redis://localhost", INT64_MAX, &opened, &error_));
}

static void numbers(void)
{
    static const int64_t bad_amounts[] = {0, -1, INT64_MIN, 1000000000001, INT64_MAX};
    pg_limiter *made;
    pg_request bad;

    for (size_t i = 0; i < sizeof bad_amounts / sizeof *bad_amounts; i++) {
        int64_t bad_amount = bad_amounts[i];
        REFUSED("limit", pg_limiter_bucket(store, "n", bad_amount, 1000000, &made, &error_));
        REFUSED("limit", pg_limiter_window(store, "n", bad_amount, 1000000, &made, &error_));
        REFUSED("capacity", pg_limiter_leaky(store, "n", bad_amount, 1000000, &made, &error_));
        REFUSED("capacity", pg_limiter_points(store, "n", bad_amount, 1000000, &made, &error_));
        if (bad_amount != 0) { /* a pause */
            REFUSED("limit", pg_limiter_concurrent(store, "n", bad_amount, 1000000, &made, &error_));
        }
        if (bad_amount > 1000000 && bad_amount < INT64_MAX) {
            continue; /* a long interval, but one */
        }
        REFUSED("interval", pg_limiter_bucket(store, "n", 5, bad_amount, &made, &error_));
        REFUSED("interval", pg_limiter_window(store, "n", 5, bad_amount, &made, &error_));
        REFUSED("drain", pg_limiter_leaky(store, "n", 5, bad_amount, &made, &error_));
        REFUSED("refill", pg_limiter_points(store, "n", 5, bad_amount, &made, &error_));
        REFUSED("interval", pg_limiter_throttle(store, "n", bad_amount, &made, &error_));
        REFUSED("lock_timeout", pg_limiter_concurrent(store, "n", 5, bad_amount, &made, &error_));
    }
    bad = (pg_request){.cost = -2};
    REFUSED("cost", pg_acquire(limiter, &bad, &decision, &error_));
    bad = (pg_request){.cost = INT64_MAX};
    REFUSED("cost", pg_acquire(limiter, &bad, &decision, &error_));
    bad = (pg_request){.cost = 6};
    REFUSED("cost", pg_acquire(limiter, &bad, &decision, &error_));
    bad = (pg_request){.estimate = -2};
    REFUSED("estimate", pg_acquire(limiter, &bad, &decision, &error_));
    bad = (pg_request){.cost = 1, .estimate = 1};
    REFUSED("estimate", pg_peek(limiter, &bad, &decision, &error_));
    REFUSED("actual", pg_correct(limiter, "p", -1, NULL, 0, NULL, &error_));
    REFUSED("actual", pg_correct(limiter, "p", INT64_MIN, NULL, 0, NULL, &error_));
    REFUSED("actual", pg_correct(limiter, "p", INT64_MAX, NULL, 0, NULL, &error_));
}

static void costs_by_label(void)
{
    static const char *const wrong_labels[] = {"tokens", "TPM", "", "\xff", NULL};
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000, .label = "rpm"},
        {.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 60000000, .label = "tpm"},
        {.kind = PG_KIND_CONCURRENCY, .amount = 5, .interval_us = 60000000},
    };
    const pg_units good[] = {{"tpm", 5, NULL}}, unnamed[] = {{"rpm", 1, NULL}},
                   calls[] = {{"tpm", 1, NULL}, {"concurrency", 1, NULL}},
                   twice[] = {{"tpm", 1, NULL}, {"tpm", 1, NULL}}, large[] = {{"tpm", 1000000000001, NULL}},
                   above[] = {{"tpm", 1001, NULL}}, largest[] = {{"tpm", UINT64_MAX, NULL}},
                   of_limiter[] = {{"tpm", 1, "costs"}, {NULL, 1, "costs"}};
    const struct {
        const pg_units *units;
        size_t count;
    } wrong[] = {
        {unnamed, 1}, {unnamed, 0}, {calls, 2}, {twice, 2}, {large, 1}, {largest, 1}, {NULL, 1}, {good, 33},
        {good, SIZE_MAX}, {of_limiter, 1}, {of_limiter + 1, 1},
    };
    pg_limiter *llm, *starts, *free;
    pg_admission admission;
    pg_request bad;
    pg_units unknown;

    OK(pg_limiter_new(store, "costs", limits, 3, &llm, &error));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bad = (pg_request){.cost_by_label = wrong[i].units, .cost_count = wrong[i].count};
        REFUSED("cost", pg_acquire(llm, &bad, &decision, &error_));
        REFUSED("cost", pg_acquire_with_id(llm, &bad, "id", NULL, &decision, &error_));
        REFUSED("cost", pg_acquire_timeout(llm, &bad, 0, &decision, &error_));
        REFUSED("cost", pg_admit(llm, "id", NULL, &bad, &admission, &error_));
        REFUSED("cost", pg_debit(llm, 0, wrong[i].units, wrong[i].count, &decision, &error_));
        bad = (pg_request){.estimate_by_label = wrong[i].units, .estimate_count = wrong[i].count};
        REFUSED("estimate", pg_peek(llm, &bad, &decision, &error_));
        REFUSED("actual", pg_correct(llm, "id:1:1", 0, wrong[i].units, wrong[i].count, NULL, &error_));
    }
    for (size_t i = 0; i < sizeof wrong_labels / sizeof *wrong_labels; i++) {
        unknown = (pg_units){wrong_labels[i], 1, NULL};
        bad = (pg_request){.cost_by_label = &unknown, .cost_count = 1};
        REFUSED("cost", pg_acquire(llm, &bad, &decision, &error_));
        REFUSED("actual", pg_correct(llm, "id:1:1", 0, &unknown, 1, NULL, &error_));
    }
    bad = (pg_request){.cost_by_label = above, .cost_count = 1};
    REFUSED("cost", pg_acquire(llm, &bad, &decision, &error_));
    /* A number and an array, or a cost and an estimate. */
    bad = (pg_request){.cost = 5, .cost_by_label = good, .cost_count = 1};
    REFUSED("cost", pg_acquire(llm, &bad, &decision, &error_));
    bad = (pg_request){.cost = PG_COST_ZERO, .cost_by_label = good, .cost_count = 1};
    REFUSED("cost", pg_acquire(llm, &bad, &decision, &error_));
    bad = (pg_request){.estimate = 5, .estimate_by_label = good, .estimate_count = 1};
    REFUSED("estimate", pg_acquire(llm, &bad, &decision, &error_));
    bad = (pg_request){.cost_by_label = good, .cost_count = 1, .estimate = 5};
    REFUSED("estimate", pg_acquire(llm, &bad, &decision, &error_));
    REFUSED("actual", pg_correct(llm, "id:1:1", 5, good, 1, NULL, &error_));
    REFUSED("cost", pg_debit(llm, 5, good, 1, &decision, &error_));
    REFUSED("cost", pg_debit(llm, -1, NULL, 0, &decision, &error_));
    REFUSED("cost", pg_debit(llm, -1, good, 1, &decision, &error_));
    REFUSED("cost", pg_debit(llm, 1000000000001, NULL, 0, &decision, &error_));
    REFUSED("limiter", pg_debit(NULL, 1, NULL, 0, &decision, &error_));
    REFUSED("decision", pg_debit(llm, 1, NULL, 0, NULL, &error_));
    OK(pg_limiter_throttle(store, "starts", 1000000, &starts, &error));
    REFUSED("debit", pg_debit(starts, 1, NULL, 0, &decision, &error_));
    REFUSED("refund", pg_refund(starts, 1, NULL, 0, &decision, &error_));
    REFUSED("units", pg_refund(llm, -1, NULL, 0, &decision, &error_));
    REFUSED("limiter", pg_refund(NULL, 1, NULL, 0, &decision, &error_));
    REFUSED("decision", pg_refund(llm, 1, NULL, 0, NULL, &error_));
    OK(pg_limiter_unlimited(store, "free", &free, &error));
    REFUSED("cost", pg_debit(free, 0, good, 1, &decision, &error_));
    OK(pg_peek(llm, &(pg_request){.cost = 1}, &decision, &error));
    CHECK_TEXT("rpm", decision.label);
    CHECK_INT(5, decision.remaining);
    OK(pg_limiter_close(llm, &error));
    OK(pg_limiter_close(starts, &error));
    OK(pg_limiter_close(free, &error));
}

static void clocks(void)
{
    static const int64_t bad_times[] = {-1, INT64_MIN, (INT64_C(1) << 52) + 1, INT64_MAX};
    pg_test_clock *clock;
    pg_store *opened;

    REFUSED("time_us", pg_after_signal(-2, &error_));
    REFUSED("time_us", pg_after_signal(INT64_C(3600000001), &error_));
    OK(pg_after_signal(PG_FOREVER, &error));
    OK(pg_after_signal(100000, &error));
    REFUSED("clock", pg_test_clock_new(0, NULL, &error_));
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++) {
        clock = (pg_test_clock *)&store;
        REFUSED("now", pg_test_clock_new(bad_times[i], &clock, &error_));
        CHECK(clock == NULL);
    }
    OK(pg_test_clock_new(INT64_C(1) << 52, &clock, &error));
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++) {
        REFUSED("now", pg_test_clock_set(clock, bad_times[i], &error_));
    }
    REFUSED("now", pg_test_clock_advance(clock, 1, &error_));
    REFUSED("now", pg_test_clock_advance(clock, INT64_MAX, &error_));
    REFUSED("by", pg_test_clock_advance(clock, -1, &error_));
    CHECK_INT(INT64_C(1) << 52, pg_test_clock_now(clock));
    CHECK_INT(-1, pg_test_clock_now((pg_test_clock *)store));
    REFUSED("clock", pg_test_clock_set(NULL, 0, &error_));
    REFUSED("clock", pg_test_clock_advance((pg_test_clock *)store, 0, &error_));
    REFUSED("clock", pg_store_open_with_clock("memory://", 0, (pg_test_clock *)store, &opened, &error_));
    unsetenv("PADDLEGATE_TEST_CLOCK");
    REFUSED("clock", pg_store_open_with_clock("redis://localhost", 0, clock, &opened, &error_));
    CHECK(opened == NULL);
    OK(pg_test_clock_close(clock, &error));
    CHECK_INT(-1, pg_test_clock_now(clock));
    REFUSED("clock", pg_test_clock_set(clock, 0, &error_));
    REFUSED("clock", pg_store_open_with_clock("memory://", 0, clock, &opened, &error_));
    REFUSED("clock", pg_test_clock_close(clock, &error_));
    REFUSED("clock", pg_test_clock_close(NULL, &error_));
}

static void policies(void)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    pg_limit nine[9], bad;
    pg_limiter *made;

    for (int i = 0; i < 9; i++) {
        nine[i] = (pg_limit){.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 1000000, .label = labels[i]};
    }
    OK(pg_limiter_new(store, "n", nine, 8, &made, &error));
    OK(pg_limiter_close(made, &error));
    nine[7].label = "a";
    REFUSED("limits", pg_limiter_new(store, "n", nine, 8, &made, &error_));
    nine[7].label = "A";
    REFUSED("label", pg_limiter_new(store, "n", nine, 8, &made, &error_));
    nine[7].label = "\xff";
    REFUSED("label", pg_limiter_new(store, "n", nine, 8, &made, &error_));
    nine[6].label = nine[7].label = NULL;
    REFUSED("limits", pg_limiter_new(store, "n", nine, 8, &made, &error_));
    REFUSED("limits", pg_limiter_new(store, "n", nine, 0, &made, &error_));
    REFUSED("limits", pg_limiter_new(store, "n", nine, 9, &made, &error_));
    REFUSED("limits", pg_limiter_new(store, "n", nine, SIZE_MAX, &made, &error_));
    REFUSED("limits", pg_limiter_new(store, "n", NULL, 1, &made, &error_));
    REFUSED("limits", pg_limiter_new(store, "n", NULL, 0, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_NONE, .amount = 5, .interval_us = 1000000};
    REFUSED("kind", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = INT32_MIN, .amount = 5, .interval_us = 1000000};
    REFUSED("kind", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = 9, .amount = 5, .interval_us = 1000000};
    REFUSED("kind", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 1000000, .offset_us = 1000000};
    REFUSED("offset", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 1000000, .offset_us = -1};
    REFUSED("offset", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_THROTTLE, .amount = -1, .interval_us = 1000000};
    REFUSED("limit", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_THROTTLE, .amount = INT64_MAX, .interval_us = 1000000};
    REFUSED("limit", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    /* more than one start per microsecond */
    bad = (pg_limit){.kind = PG_KIND_THROTTLE, .amount = 1000001, .interval_us = 1000000};
    REFUSED("limit", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_THROTTLE, .amount = 3};
    REFUSED("interval", pg_limiter_new(store, "n", &bad, 1, &made, &error_));
    bad = (pg_limit){.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 1000000};
    REFUSED("ttl", pg_limiter_new_with_ttl(store, "n", &bad, 1, 0, &made, &error_));
    REFUSED("ttl", pg_limiter_new_with_ttl(store, "n", &bad, 1, 999999, &made, &error_));
    REFUSED("ttl", pg_limiter_new_with_ttl(store, "n", &bad, 1, -1, &made, &error_));
    REFUSED("ttl", pg_limiter_new_with_ttl(store, "n", &bad, 1, INT64_MAX, &made, &error_));
    REFUSED("limits", pg_limiter_new_with_ttl(store, "n", NULL, 1, 1000000, &made, &error_));
    /* What a kind has no use for may be anything. */
    bad = (pg_limit){.kind = PG_KIND_THROTTLE, .interval_us = 1000000, .offset_us = -1};
    OK(pg_limiter_new(store, "n", &bad, 1, &made, &error));
    OK(pg_limiter_close(made, &error));
}

static void an_error_is_forgotten_by_the_next_call(void)
{
    REFUSED("limiter", pg_reset(NULL, &error_));
    CHECK_INT(PG_OK, pg_reset(limiter, &error_));
    for (size_t i = 0; i < sizeof error_; i++) {
        CHECK_INT(0, ((const char *)&error_)[i]);
    }
}

static void a_server_that_is_not_there(void)
{
    pg_store *nowhere;
    pg_limiter *lost;
    pg_wakeups *hints = (pg_wakeups *)&store;
    pg_list *list = (pg_list *)&store;

    OK(pg_store_open("redis://127.0.0.1:1", 0, &nowhere, &error));
    CHECK_INT(0, pg_store_is_memory(nowhere));
    OK(pg_limiter_bucket(nowhere, "n", 5, 1000000, &lost, &error));
    memset(&decision, 0x55, sizeof decision);
    CHECK_INT(PG_UNAVAILABLE, pg_acquire(lost, NULL, &decision, &error_));
    CHECK_INT(PG_UNAVAILABLE, error_.code);
    CHECK_INT(0, error_.may_have_counted);
    CHECK_TEXT("", error_.argument);
    CHECK_INT(PG_STATUS_REFUSED, decision.status);
    CHECK_INT(PG_UNAVAILABLE, pg_listen(lost, &hints, &error_));
    CHECK(hints == NULL);
    CHECK_INT(PG_UNAVAILABLE, pg_list_open(nowhere, &list, &error_));
    CHECK(list == NULL);
    CHECK_INT(PG_UNAVAILABLE, pg_list_open_prefix(nowhere, "p", &list, &error_));
    CHECK_INT(PG_UNAVAILABLE, pg_list_open_page(nowhere, "p", NULL, &list, &error_));
    CHECK(list == NULL);
    CHECK_INT(PG_UNAVAILABLE, pg_acquire_timeout(lost, NULL, 1000000, &decision, &error_));
    OK(pg_limiter_close(lost, &error));
    OK(pg_store_close(nowhere, &error));
}

/* A handle that is leaked for ever must not be the end of the others. */
static void many_handles(void)
{
    enum { MANY = 5000 };
    static pg_limiter *many[MANY];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            OK(pg_limiter_paused(store, "n", &many[i], &error));
        }
        for (int i = 0; i < MANY; i++) {
            OK(pg_acquire(many[i], NULL, &decision, &error));
            OK(pg_limiter_close(many[i], &error));
        }
        REFUSED("limiter", pg_acquire(many[0], NULL, &decision, &error_));
        REFUSED("limiter", pg_acquire(many[MANY - 1], NULL, &decision, &error_));
    }
}

int main(void)
{
    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_bucket(store, "misuse", 5, 86400000000, &limiter, &error));
    RUN(null_store);
    RUN(null_limiter);
    RUN(null_others);
    RUN(null_places);
    RUN(places_without_room);
    RUN(waits);
    RUN(closed_handles);
    RUN(handles_of_the_other_kind);
    RUN(texts);
    RUN(numbers);
    RUN(costs_by_label);
    RUN(clocks);
    RUN(policies);
    RUN(an_error_is_forgotten_by_the_next_call);
    RUN(a_server_that_is_not_there);
    RUN(many_handles);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
    return check_report();
}
