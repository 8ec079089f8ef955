/* Takes a lease, works and gives it back, again and again. See holder.py for the arguments and the lines. */

#include <inttypes.h>
#include <paddlegate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pg_limiter *limiter;
static long hold_ms, rounds;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void check(pg_code code, const pg_error *error) {
    if (code != 0) {
        fprintf(stderr, "holder: %s\n", error->message);
        exit(1);
    }
}

static void *hold(void *unused) {
    pg_error error = {0};
    (void)unused;
    for (long round = 0; round < rounds; round++) {
        pg_decision decision;
        pg_settlement settlement;
        check(pg_acquire_timeout(limiter, NULL, 120 * INT64_C(1000000), &decision, &error), &error);
        if (decision.status != PG_STATUS_GRANTED) {
            fprintf(stderr, "holder: refused\n");
            exit(1);
        }
        printf("enter %" PRId64 " %" PRId64 " %" PRId64 "\n", decision.fencing_token, decision.ticket < 0 ? 0 : decision.ticket, now());
        fflush(stdout);
        struct timespec work = {hold_ms / 1000, hold_ms % 1000 * 1000000};
        nanosleep(&work, NULL);
        printf("leave %" PRId64 " %" PRId64 "\n", decision.fencing_token, now());
        fflush(stdout);
        check(pg_release(limiter, decision.permit, &settlement, &error), &error);
        printf("answer %" PRId64 " %d\n", decision.fencing_token, (int)settlement);
        fflush(stdout);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pg_store *store;
    pg_error error = {0};
    if (count != 7) {
        fprintf(stderr, "usage: holder NAME LIMIT LOCK_MS HOLD_MS ROUNDS LOOPS\n");
        return 2;
    }
    long limit = atol(arguments[2]), lock_ms = atol(arguments[3]), loops = atol(arguments[6]);
    hold_ms = atol(arguments[4]);
    rounds = atol(arguments[5]);
    check(pg_store_open(getenv("PADDLEGATE_URL"), 10 * INT64_C(1000000), &store, &error), &error);
    check(pg_limiter_concurrent(store, arguments[1], limit, lock_ms * INT64_C(1000), &limiter, &error), &error);
    pthread_t *threads = calloc((size_t)loops, sizeof *threads);
    for (long i = 0; i < loops; i++) {
        pthread_create(&threads[i], NULL, hold, NULL);
    }
    for (long i = 0; i < loops; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
    return 0;
}
