/* Calls a limiter. What it reads and says is in timeouts_test.py. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <paddlegate.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 64

struct call {
    double ms;
    const char *what;
};

static pg_limiter *limiter;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void *run(void *argument)
{
    struct call *call = argument;
    pg_decision decision;
    double began = now();
    pg_code code = pg_acquire(limiter, NULL, &decision, NULL);

    call->ms = now() - began;
    call->what = code == PG_UNAVAILABLE ? "unavailable" : code == 0 ? "answered" : pg_error_name(code);
    return NULL;
}

static void nothing(int number)
{
    (void)number;
}

static void check(pg_code code, const pg_error *error)
{
    if (code != 0) {
        fprintf(stderr, "client: %s\n", error->message);
        exit(1);
    }
}

static void open_store(const char *url, int64_t timeout_ms)
{
    pg_limit limit = {.kind = PG_KIND_BUCKET, .amount = 1000000, .interval_us = INT64_C(86400000000)};
    pg_store *store;
    pg_error error = {0};

    check(pg_store_open(url, timeout_ms * 1000, &store, &error), &error);
    check(pg_limiter_new(store, "timeouts", &limit, 1, &limiter, &error), &error);
    puts("opened");
}

static void call_together(int count)
{
    struct call calls[MOST];
    pthread_t threads[MOST];

    /* One call comes from the main thread, the one that signals interrupt. */
    if (count == 1) {
        run(&calls[0]);
    } else {
        for (int i = 0; i < count; i++) {
            pthread_create(&threads[i], NULL, run, &calls[i]);
        }
        for (int i = 0; i < count; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    for (int i = 0; i < count; i++) {
        printf("%.1f %s ", calls[i].ms, calls[i].what);
    }
    putchar('\n');
}

int main(void)
{
    char line[4096], what[4000];
    int64_t timeout_ms;
    /* System calls are not restarted. */
    struct sigaction action = {.sa_handler = nothing};

    sigaction(SIGUSR2, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (;;) {
        if (fgets(line, sizeof line, stdin) == NULL) {
            if (feof(stdin)) {
                return 0;
            }
            clearerr(stdin);
            continue;
        }
        if (sscanf(line, "open %3999s %" SCNd64, what, &timeout_ms) == 2) {
            open_store(what, timeout_ms);
        } else if (sscanf(line, "call %3999s", what) == 1 && atoi(what) <= MOST) {
            call_together(atoi(what));
        }
    }
}
