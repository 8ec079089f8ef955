/* Eight threads share stores, limiters and the table of handles. */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 8 };

static pg_store *store;
static pg_limiter *limiter;
static char name[64];
static int tries;
static atomic_int granted, closed, wrong;

static void together(void *(*body)(void *))
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, body, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *take(void *unused)
{
    pg_decision d;

    for (int i = 0; i < tries; i++) {
        OK(pg_acquire(limiter, NULL, &d, &error));
        granted += d.status == PG_STATUS_GRANTED;
    }
    return unused;
}

/* Exactly the limit is granted, however many ask. */
static void one_limiter(const char *url)
{
    open_at(NOW, url, &store);
    OK(pg_limiter_bucket(store, name, THREADS * tries / 2, 86400000000, &limiter, &error));
    granted = 0;
    together(take);
    CHECK_INT(THREADS * tries / 2, granted);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void one_limiter_in_memory(void)
{
    one_limiter("memory://");
}

static void one_limiter_in_redis(void)
{
    one_limiter(getenv("PADDLEGATE_TEST_URL"));
}

static void *open_and_close(void *unused)
{
    pg_decision d;
    pg_limiter *own;

    for (int i = 0; i < tries; i++) {
        OK(pg_limiter_bucket(store, name, 1, 86400000000, &own, &error));
        OK(pg_acquire(own, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
        OK(pg_limiter_close(own, &error));
        wrong += pg_acquire(own, NULL, &d, NULL) != PG_INVALID;
    }
    return unused;
}

static void handles_of_their_own(void)
{
    OK(pg_store_memory(&store, &error));
    wrong = 0;
    together(open_and_close);
    CHECK_INT(0, wrong);
    OK(pg_store_close(store, &error));
}

static void *use_and_close(void *unused)
{
    pg_decision d;
    pg_code code;

    do {
        code = pg_acquire(limiter, NULL, &d, NULL);
        wrong += code != PG_OK && code != PG_INVALID;
        if (granted++ == 40) {
            closed += pg_limiter_close(limiter, NULL) == PG_OK;
            closed += pg_limiter_close(limiter, NULL) == PG_OK;
        }
    } while (code == PG_OK);
    return unused;
}

/* One closes it while the others use it. */
static void a_handle_that_is_closed_under_their_hands(void)
{
    OK(pg_store_memory(&store, &error));
    closed = wrong = 0;
    for (int i = 0; i < tries; i++) {
        OK(pg_limiter_bucket(store, name, 1, 1000000, &limiter, &error));
        granted = 0;
        together(use_and_close);
    }
    CHECK_INT(tries, closed);
    CHECK_INT(0, wrong);
    OK(pg_store_close(store, &error));
}

static atomic_int inside;

static void *hold(void *unused)
{
    pg_decision d;
    pg_settlement settlement;

    for (int i = 0; i < tries / 10; i++) {
        OK(pg_acquire_timeout(limiter, NULL, PG_FOREVER, &d, &error));
        wrong += d.status != PG_STATUS_GRANTED;
        wrong += atomic_fetch_add(&inside, 1) != 0;
        inside--;
        OK(pg_release(limiter, d.permit, &settlement, &error));
        wrong += settlement != PG_SETTLEMENT_RELEASED;
    }
    return unused;
}

/* All wait for one lease, and each gets it as often as it asks. */
static void one_lease(const char *url)
{
    pg_statistics statistics;

    OK(pg_store_open(url, 10000000, &store, &error));
    OK(pg_limiter_concurrent(store, name, 1, 60000000, &limiter, &error));
    wrong = inside = 0;
    together(hold);
    CHECK_INT(0, wrong);
    OK(pg_stats(limiter, &statistics, &error));
    CHECK_INT(THREADS * (tries / 10), statistics.granted);
    CHECK_INT(0, statistics.leases);
    CHECK_INT(0, statistics.tickets);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void one_lease_in_memory(void)
{
    one_lease("memory://");
}

static void one_lease_in_redis(void)
{
    one_lease(getenv("PADDLEGATE_TEST_URL"));
}

int main(int count, char **arguments)
{
    tries = count > 1 ? atoi(arguments[1]) : 1000;
    snprintf(name, sizeof name, "c-threads-%ld", (long)time(NULL));
    RUN(one_limiter_in_memory);
    RUN(one_limiter_in_redis);
    RUN(one_lease_in_memory);
    RUN(one_lease_in_redis);
    RUN(handles_of_their_own);
    RUN(a_handle_that_is_closed_under_their_hands);
    return check_report();
}
