/* What a limiter answers while its store cannot decide. */
#define _POSIX_C_SOURCE 200809L
#include "gate.h"

#include <time.h>

static pg_store *store;

/* A limiter over a store, with a mode. */
static pg_limiter *with_mode(pg_limit limit, const char *mode, int64_t share)
{
    pg_limiter *plain, *limiter;
    char name[33];

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(store, name, &limit, 1, &plain, &error));
    OK(pg_limiter_with_on_unavailable(plain, mode, share, &limiter, &error));
    CHECK(limiter != plain);
    /* The one goes on without the other. */
    OK(pg_limiter_close(plain, &error));
    return limiter;
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void open_nowhere(void)
{
    OK(pg_store_open("redis://127.0.0.1:1", 0, &store, &error));
}

static void raise_is_an_error_and_never_a_refusal(void)
{
    pg_limiter *limiter;
    pg_decision d;

    open_nowhere();
    limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000}, "raise", PG_NOT_GIVEN);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(PG_UNAVAILABLE, pg_acquire(limiter, NULL, &d, NULL));
        CHECK_INT(PG_REASON_NONE, d.reason);
        CHECK_INT(0, d.degraded);
    }
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void closed_refuses_and_says_so(void)
{
    pg_limiter *limiter;
    pg_decision d;
    pg_admission admission;
    pg_statistics statistics;
    int64_t since;

    open_nowhere();
    limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 7, .interval_us = 60000000}, "fail_closed", PG_NOT_GIVEN);
    for (int i = 0; i < 10; i++) {
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(PG_STATUS_REFUSED, d.status);
        CHECK_INT(PG_REASON_UNAVAILABLE, d.reason);
        CHECK_TEXT("unavailable", pg_reason_name(d.reason));
        CHECK_INT(1, d.degraded);
        CHECK_INT(7, d.limit);
        CHECK_INT(0, d.remaining);
        CHECK(d.retry_after_us > 0 && d.retry_after_us <= 1000000);
        CHECK_TEXT("", d.permit);
    }
    OK(pg_peek(limiter, NULL, &d, &error));
    CHECK_INT(1, d.degraded);
    OK(pg_acquire_with_id(limiter, NULL, "id", &(pg_wait){.max_wait_us = PG_FOREVER}, &d, &error));
    CHECK_INT(PG_REASON_UNAVAILABLE, d.reason);
    CHECK_INT(-1, d.ticket);
    /* Nobody waits for a store. */
    since = now_us();
    OK(pg_acquire_timeout(limiter, NULL, 30000000, &d, &error));
    CHECK_INT(PG_REASON_UNAVAILABLE, d.reason);
    CHECK(now_us() - since < 5000000);
    OK(pg_admit(limiter, "job", "wait", NULL, &admission, &error));
    CHECK_INT(PG_ACTION_WAIT, admission.action);
    CHECK(admission.after_us > 0 && admission.after_us <= 1000000);
    CHECK_INT(1, admission.decision.degraded);
    /* Wrong calls are what they always are, and what is no decision is an error. */
    CHECK_INT(PG_INVALID, pg_acquire(limiter, &(pg_request){.cost = 1, .estimate = 1}, &d, NULL));
    CHECK_INT(0, d.degraded);
    CHECK_INT(PG_UNAVAILABLE, pg_stats(limiter, &statistics, NULL));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void open_grants_and_says_so(void)
{
    pg_limiter *limiter;
    pg_decision d;
    pg_admission admission;
    pg_settlement settlement;

    open_nowhere();
    limiter = with_mode((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000}, "fail_open", PG_NOT_GIVEN);
    for (int i = 0; i < 10; i++) {
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
        CHECK_INT(PG_REASON_NONE, d.reason);
        CHECK_INT(1, d.degraded);
        CHECK_INT(-1, d.lease_us);
        OK(pg_release(limiter, d.permit, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);
    }
    OK(pg_acquire_timeout(limiter, NULL, 30000000, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(1, d.degraded);
    OK(pg_admit(limiter, "job", "drop", NULL, &admission, &error));
    CHECK_INT(PG_ACTION_RUN, admission.action);
    CHECK_INT(1, admission.decision.degraded);
    CHECK(admission.decision.permit[0] != '\0');
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void local_keeps_its_share_of_the_limit(void)
{
    pg_limiter *limiter;
    pg_decision held[2], d;
    pg_settlement settlement;
    int64_t lease;

    open_nowhere();
    limiter = with_mode((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 5, .interval_us = 60000000}, "local", 50);
    for (int i = 0; i < 2; i++) {
        OK(pg_acquire(limiter, NULL, &held[i], &error));
        CHECK_INT(PG_STATUS_GRANTED, held[i].status);
        CHECK_INT(1, held[i].degraded);
        CHECK_INT(2, held[i].limit);
    }
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_CONCURRENCY, d.reason);
    CHECK_INT(1, d.degraded);
    OK(pg_renew(limiter, held[0].permit, &lease, &error));
    CHECK_INT(60000000, lease);
    OK(pg_release(limiter, held[0].permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    OK(pg_release(limiter, held[0].permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_UNKNOWN, settlement);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_limiter_close(limiter, &error));

    limiter = with_mode((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 60000000}, "local", 50);
    OK(pg_acquire(limiter, &(pg_request){.estimate = 400}, &d, &error));
    CHECK_INT(100, d.remaining);
    OK(pg_correct(limiter, d.permit, 100, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    OK(pg_limiter_close(limiter, &error));

    /* All of it where no share is given; half a unit is none. */
    limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000}, "local", PG_NOT_GIVEN);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_limiter_close(limiter, &error));
    limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000}, "local", 50);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void in_memory_there_is_nothing_to_fail(void)
{
    static const char *const modes[] = {"raise", "fail_closed", "fail_open", "local"};
    pg_limiter *limiter;
    pg_decision d;

    OK(pg_store_memory(&store, &error));
    for (int i = 0; i < 4; i++) {
        limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 60000000}, modes[i], i == 3 ? 50 : PG_NOT_GIVEN);
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
        CHECK_INT(0, d.degraded);
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(PG_REASON_WINDOW, d.reason);
        CHECK_INT(0, d.degraded);
        OK(pg_limiter_close(limiter, &error));
    }
    OK(pg_store_close(store, &error));
}

static void wait_for_the_store(pg_limiter *limiter, const pg_request *request, pg_decision *d)
{
    int64_t since = now_us();

    for (;;) {
        OK(pg_acquire(limiter, request, d, &error));
        if (!d->degraded) {
            return;
        }
        if (now_us() - since > 30000000) {
            fprintf(stderr, "the store is back and not asked\n");
            exit(1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

static void a_store_that_fails_is_asked_once_a_second_and_used_when_it_is_back(void)
{
    const pg_request look = {.cost = PG_COST_ZERO};
    pg_limiter *limiter;
    pg_decision d;
    int64_t since;
    int came;

    gate_open();
    OK(pg_store_open(gate.url, 10000000, &store, &error));
    limiter = with_mode((pg_limit){.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000}, "fail_open", PG_NOT_GIVEN);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(0, d.degraded);
    gate.shut = 1;
    for (int i = 0; i < 5; i++) {
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(1, d.degraded);
    }
    came = gate.came;
    since = now_us();
    for (int i = 0; i < 200; i++) {
        OK(pg_acquire(limiter, NULL, &d, &error));
        CHECK_INT(1, d.degraded);
    }
    CHECK(gate.came - came <= 2 + 2 * (now_us() - since) / 1000000);
    gate.shut = 0;
    wait_for_the_store(limiter, &look, &d);
    /* What was granted meanwhile is not counted. */
    CHECK_INT(4, d.remaining);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
    gate_close();
}

static void leases_end_where_they_were_given(void)
{
    const pg_request look = {.cost = PG_COST_ZERO};
    pg_limiter *limiter;
    pg_decision shared, local, d;
    pg_settlement settlement;

    gate_open();
    OK(pg_store_open(gate.url, 10000000, &store, &error));
    limiter = with_mode((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 60000000}, "local", 50);
    OK(pg_acquire(limiter, NULL, &shared, &error));
    CHECK_INT(0, shared.degraded);
    gate.shut = 1;
    /* The server dies before the release, which nobody can do for it. */
    CHECK_INT(PG_UNAVAILABLE, pg_release(limiter, shared.permit, &settlement, NULL));
    CHECK_INT(PG_SETTLEMENT_NONE, settlement);
    OK(pg_acquire(limiter, NULL, &local, &error));
    CHECK_INT(PG_STATUS_GRANTED, local.status);
    CHECK_INT(1, local.degraded);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    gate.shut = 0;
    wait_for_the_store(limiter, &look, &d);
    CHECK_INT(1, d.remaining);
    OK(pg_release(limiter, local.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    OK(pg_peek(limiter, &look, &d, &error));
    CHECK_INT(1, d.remaining);
    OK(pg_release(limiter, shared.permit, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
    gate_close();
}

int main(void)
{
    RUN(raise_is_an_error_and_never_a_refusal);
    RUN(closed_refuses_and_says_so);
    RUN(open_grants_and_says_so);
    RUN(local_keeps_its_share_of_the_limit);
    RUN(in_memory_there_is_nothing_to_fail);
    RUN(a_store_that_fails_is_asked_once_a_second_and_used_when_it_is_back);
    RUN(leases_end_where_they_were_given);
    return check_report();
}
