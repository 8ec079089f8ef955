/* Several limiters that decide together. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include <pthread.h>
#include <sched.h>

enum { MOST = 4 };

static char names[MOST][33];
static pg_limiter *each[MOST], *all;

/* Limiters of these limits, one limit each, and the limiter that they are together. */
static void make_all(const pg_limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        OK(pg_new_id(names[i], &error));
        OK(pg_limiter_new(here, names[i], &limits[i], 1, &each[i], &error));
    }
    OK(pg_together(here, each, count, &all, &error));
}

static void forget_all(size_t count)
{
    OK(pg_limiter_close(all, &error));
    for (size_t i = 0; i < count; i++) {
        OK(pg_reset(each[i], &error));
        OK(pg_limiter_close(each[i], &error));
    }
}

static int64_t left(pg_limiter *limiter)
{
    pg_decision d;

    OK(pg_peek(limiter, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
    return d.remaining;
}

static int64_t tickets(pg_limiter *limiter)
{
    pg_statistics s;

    OK(pg_stats(limiter, &s, &error));
    return s.tickets;
}

static void all_are_charged_or_none(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000},
        {.kind = PG_KIND_BUCKET, .amount = 2, .interval_us = 60000000},
    };
    pg_decision d;

    make_all(limits, 2);
    OK(pg_acquire(all, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(1, d.limiter);
    CHECK_INT(0, d.remaining);
    OK(pg_acquire(all, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_BUCKET, d.reason);
    CHECK_INT(1, d.limiter);
    CHECK_INT(3, left(each[0]));
    OK(pg_acquire(each[0], &(pg_request){.cost = 3}, &d, &error));
    CHECK_INT(-1, d.limiter);
    at(NOW + d.reset_after_us);
    OK(pg_acquire_timeout(all, NULL, 0, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(4, left(each[0]));
    CHECK_INT(1, left(each[1]));
    forget_all(2);
}

static void a_cost_is_by_limiter_and_label(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 60000000, .label = "tpm"},
        {.kind = PG_KIND_BUCKET, .amount = 2000, .interval_us = 60000000},
        {.kind = PG_KIND_BUCKET, .amount = 9, .interval_us = 60000000},
    };
    pg_decision d;
    pg_settlement settlement;

    make_all(limits, 3);
    /* The label of one, the whole of another; the third counts the call. */
    const pg_units estimate[] = {{"tpm", 900, names[0]}, {NULL, 700, names[1]}};
    /* The name of a limiter in the place of a label, beside one by limiter and alone. */
    const pg_units actual[] = {{"tpm", 100, names[0]}, {names[1], 50, NULL}}, debit[] = {{"tpm", 10, NULL}, {names[2], 3, NULL}};

    OK(pg_acquire(all, &(pg_request){.estimate_by_label = estimate, .estimate_count = 2}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(2, d.limiter);
    CHECK_INT(8, d.remaining);
    CHECK_INT(100, left(each[0]));
    CHECK_INT(1300, left(each[1]));
    OK(pg_correct(all, d.permit, 0, actual, 2, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    CHECK_INT(900, left(each[0]));
    CHECK_INT(1950, left(each[1]));
    OK(pg_debit(all, 0, debit, 2, &d, &error));
    CHECK_INT(2, d.limiter);
    CHECK_INT(5, d.remaining);
    CHECK_INT(890, left(each[0]));
    CHECK_INT(1949, left(each[1]));
    forget_all(3);
}

static void leases_are_of_all_that_have_them(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 60000000},
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 30000000},
        {.kind = PG_KIND_BUCKET, .amount = 9, .interval_us = 60000000},
    };
    pg_decision d, held;
    pg_settlement settlement;
    int64_t lease;

    make_all(limits, 3);
    CHECK_INT(PG_INVALID, pg_check_allow(all, NULL));
    OK(pg_acquire(all, NULL, &held, &error));
    CHECK_INT(30000000, held.lease_us);
    OK(pg_acquire(all, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(1, d.limiter);
    CHECK_INT(1, left(each[0]));
    OK(pg_renew(all, held.permit, &lease, &error));
    CHECK_INT(30000000, lease);
    OK(pg_release(all, held.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    CHECK_INT(2, left(each[0]));
    CHECK_INT(1, left(each[1]));
    CHECK_INT(8, left(each[2]));
    forget_all(3);
}

static void jobs_are_admitted(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 60000000},
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000},
    };
    const char *jobs[] = {"a", "b"};
    pg_admission one, both[2];

    make_all(limits, 2);
    OK(pg_admit_all(all, jobs, 2, "drop", 0, both, &error));
    CHECK_INT(PG_ACTION_DROP, both[0].action);
    CHECK_INT(1, both[0].decision.limiter);
    CHECK_INT(2, left(each[0]));
    OK(pg_admit(all, "a", "wait", NULL, &one, &error));
    CHECK_INT(PG_ACTION_RUN, one.action);
    OK(pg_admit_all(all, jobs, 2, "wait", 1, both, &error));
    CHECK_INT(PG_ACTION_RUN, both[0].action);
    CHECK_TEXT(one.decision.permit, both[0].decision.permit);
    CHECK_INT(PG_ACTION_WAIT, both[1].action);
    CHECK_INT(1, both[1].decision.limiter);
    OK(pg_release(all, one.decision.permit, NULL, &error));
    OK(pg_admit(all, "b", "wait", NULL, &one, &error));
    CHECK_INT(PG_ACTION_RUN, one.action);
    OK(pg_release(all, one.decision.permit, NULL, &error));
    forget_all(2);
}

static void *wait_for_all(void *granted)
{
    OK(pg_acquire_timeout(all, NULL, 600000000, granted, &error));
    return NULL;
}

static void a_turn_comes_from_either_limiter(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000},
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000},
    };
    pg_decision held[2], granted;
    pthread_t thread;

    make_all(limits, 2);
    for (int i = 0; i < 2; i++) {
        OK(pg_acquire(each[i], NULL, &held[i], &error));
    }
    pthread_create(&thread, NULL, wait_for_all, &granted);
    for (int i = 0; i < 2; i++) {
        while (tickets(each[i]) == 0) {
            sched_yield();
        }
        OK(pg_release(each[i], held[i].permit, NULL, &error));
    }
    pthread_join(thread, NULL);
    CHECK_INT(PG_STATUS_GRANTED, granted.status);
    CHECK_INT(0, tickets(each[0]) + tickets(each[1]));
    OK(pg_release(all, granted.permit, NULL, &error));
    forget_all(2);
}

static void the_longest_permit_fits(void)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const int64_t most = 1000000000000;
    pg_limit limits[8];
    pg_units estimate[8];
    char id[65] = "";
    pg_decision d;
    pg_settlement settlement;

    memset(id, 'x', 64);
    for (int i = 0; i < 8; i++) {
        limits[i] = (pg_limit){.kind = PG_KIND_BUCKET, .amount = most, .interval_us = 86400000000, .label = labels[i]};
        estimate[i] = (pg_units){labels[i], (uint64_t)most - (uint64_t)(i == 7), NULL};
    }
    for (int i = 0; i < MOST; i++) {
        OK(pg_new_id(names[i], &error));
        OK(pg_limiter_new(here, names[i], limits, 8, &each[i], &error));
    }
    OK(pg_together(here, each, MOST, &all, &error));
    OK(pg_acquire_with_id(all, &(pg_request){.estimate_by_label = estimate, .estimate_count = 8}, id, NULL, &d, &error));
    /* In each a time of 16 digits, seven charges of 13 and one of 12. */
    CHECK_INT(64 + MOST * (1 + 16 + 7 * 14 + 13), strlen(d.permit));
    OK(pg_correct(all, d.permit, 0, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    CHECK_INT(most, left(each[0]));
    CHECK_INT(most, left(each[3]));
    forget_all(MOST);
}

static void the_list_has_the_group(void)
{
    pg_limiter *plain;
    pg_decision d;
    pg_list *list;
    pg_limiter_info listed;
    char group[33];
    int found = 0;

    OK(pg_new_id(group, &error));
    for (int i = 0; i < 2; i++) {
        OK(pg_new_id(names[i], &error));
        OK(pg_limiter_bucket(here, names[i], 5, 60000000, &plain, &error));
        OK(pg_limiter_with_group(plain, group, &each[i], &error));
        OK(pg_limiter_close(plain, &error));
    }
    OK(pg_together(here, each, 2, &all, &error));
    OK(pg_acquire(all, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_list_open(here, &list, &error));
    do {
        OK(pg_list_next(list, &listed, &error));
        if (strcmp(listed.name, names[0]) == 0 || strcmp(listed.name, names[1]) == 0) {
            found++;
            CHECK_TEXT(group, listed.group);
            CHECK_INT(1, listed.count);
            CHECK_INT(5, listed.limits[0].amount);
        }
    } while (listed.name[0] != '\0');
    CHECK_INT(2, found);
    OK(pg_list_close(list, &error));
    forget_all(2);
}

int main(void)
{
    ON_EACH_STORE(all_are_charged_or_none);
    ON_EACH_STORE(a_cost_is_by_limiter_and_label);
    ON_EACH_STORE(leases_are_of_all_that_have_them);
    ON_EACH_STORE(jobs_are_admitted);
    ON_EACH_STORE(a_turn_comes_from_either_limiter);
    ON_EACH_STORE(the_longest_permit_fits);
    ON_EACH_STORE(the_list_has_the_group);
    return check_report();
}
