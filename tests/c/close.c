/* Stores that are closed while limiters of them are open. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <time.h>

/* A database of its own, by which its connections are known. */
#define DATABASE "11"

static pg_store *store;
static pg_limiter *limiter;

static void open_one(void)
{
    char url[128], name[33];

    snprintf(url, sizeof url, "%s/" DATABASE, getenv("PADDLEGATE_TEST_URL"));
    OK(pg_store_open(url, 10000000, &store, &error));
    OK(pg_new_id(name, &error));
    OK(pg_limiter_concurrent(store, name, 1, 60000000, &limiter, &error));
}

/* How many connections there are, by the server's own list. */
static int connections(void)
{
    char command[256], line[1024];
    int found = 0;
    FILE *list;

    snprintf(command, sizeof command, "redis-cli -u %s client list", getenv("PADDLEGATE_TEST_URL"));
    list = popen(command, "r");
    while (fgets(line, sizeof line, list) != NULL) {
        found += strstr(line, " db=" DATABASE " ") != NULL;
    }
    pclose(list);
    return found;
}

static int all_gone(void)
{
    /* The server learns of a connection that was closed in its own time. */
    for (int i = 0; i < 1000 && connections() > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return connections() == 0;
}

static void check_closed(pg_code code, const pg_error *error)
{
    CHECK_INT(PG_INVALID, code);
    CHECK_TEXT("store", error->argument);
}

static void no_connection_is_left(void)
{
    enum { STORES = 200 };
    pg_limiter *limiters[STORES];
    pg_decision d;
    pg_error e;

    for (int i = 0; i < STORES; i++) {
        open_one();
        limiters[i] = limiter;
        OK(pg_acquire(limiter, NULL, &d, &error));
        OK(pg_store_close(store, &error));
    }
    CHECK(all_gone());
    for (int i = 0; i < STORES; i++) {
        check_closed(pg_acquire(limiters[i], NULL, &d, &e), &e);
        CHECK_INT(PG_STATUS_REFUSED, d.status);
        check_closed(pg_release(limiters[i], "x:1:1", NULL, &e), &e);
        OK(pg_limiter_close(limiters[i], &error));
    }
    CHECK_INT(0, connections());
}

struct waiter {
    pthread_t thread;
    pg_code code;
    pg_error error;
};

static void *wait_in_turn(void *argument)
{
    struct waiter *waiter = argument;
    pg_decision d;

    waiter->code = pg_acquire_timeout(limiter, NULL, PG_FOREVER, &d, &waiter->error);
    return NULL;
}

static void waits_end(void)
{
    struct waiter waiters[4];
    pg_statistics statistics;
    pg_wakeups *hints;
    pg_decision d;
    pg_error e;

    open_one();
    OK(pg_acquire(limiter, NULL, &d, &error));
    for (int i = 0; i < 4; i++) {
        pthread_create(&waiters[i].thread, NULL, wait_in_turn, &waiters[i]);
    }
    do {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        OK(pg_stats(limiter, &statistics, &error));
    } while (statistics.tickets < 4);
    OK(pg_store_close(store, &error));
    for (int i = 0; i < 4; i++) {
        pthread_join(waiters[i].thread, NULL);
        check_closed(waiters[i].code, &waiters[i].error);
    }
    CHECK(all_gone());
    check_closed(pg_listen(limiter, &hints, &e), &e);
    check_closed(pg_store_close(store, &e), &e);
    OK(pg_limiter_close(limiter, &error));
}

static void memory_refuses_later_calls(void)
{
    pg_decision d;
    pg_error e;

    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_window(store, "w", 2, 60000000, &limiter, &error));
    OK(pg_store_close(store, &error));
    check_closed(pg_acquire(limiter, NULL, &d, &e), &e);
    OK(pg_limiter_close(limiter, &error));
}

/* What this process has counted is sent when a store is closed, and by pg_send_counts. */
static void counts_are_sent(void)
{
    char name[33];
    pg_limiter *elsewhere;
    pg_store *other;
    pg_statistics statistics;
    pg_decision d;

    OK(pg_store_open(getenv("PADDLEGATE_TEST_URL"), 10000000, &other, &error));
    for (int closes = 0; closes < 2; closes++) {
        OK(pg_new_id(name, &error));
        OK(pg_store_open(getenv("PADDLEGATE_TEST_URL"), 10000000, &store, &error));
        OK(pg_limiter_bucket(store, name, 3, 86400000000, &limiter, &error));
        for (int i = 0; i < 5; i++) {
            OK(pg_acquire(limiter, NULL, &d, &error));
        }
        if (closes) {
            OK(pg_store_close(store, &error));
        } else {
            pg_send_counts();
        }
        OK(pg_limiter_bucket(other, name, 3, 86400000000, &elsewhere, &error));
        OK(pg_stats(elsewhere, &statistics, &error));
        CHECK_INT(3, statistics.granted);
        CHECK_INT(2, statistics.refused);
        CHECK_INT(3, statistics.units);
        OK(pg_limiter_close(elsewhere, &error));
        OK(pg_limiter_close(limiter, &error));
        if (!closes) {
            OK(pg_store_close(store, &error));
        }
    }
    OK(pg_store_close(other, &error));
}

static void a_plain_yes_or_no_is_not_enough_for_a_lease(void)
{
    const pg_limit mixed[] = {
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000},
        {.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000},
    };
    pg_error e;

    OK(pg_store_memory(&store, &error));
    OK(pg_limiter_new(store, "l", mixed, 1, &limiter, &error));
    OK(pg_check_allow(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_limiter_new(store, "l", mixed, 2, &limiter, &error));
    CHECK_INT(PG_INVALID, pg_check_allow(limiter, &e));
    CHECK_TEXT("allow", e.argument);
    CHECK_INT(PG_INVALID, pg_check_allow(limiter, NULL));
    OK(pg_limiter_close(limiter, &error));
    CHECK_INT(PG_INVALID, pg_check_allow(limiter, &e));
    CHECK_TEXT("limiter", e.argument);
    OK(pg_store_close(store, &error));
}

int main(void)
{
    RUN(no_connection_is_left);
    RUN(waits_end);
    RUN(memory_refuses_later_calls);
    RUN(counts_are_sent);
    RUN(a_plain_yes_or_no_is_not_enough_for_a_lease);
    return check_report();
}
