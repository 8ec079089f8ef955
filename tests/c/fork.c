/* Parent and children go on after fork, whatever other threads were doing at that moment. */
#define _POSIX_C_SOURCE 200809L
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN = 50, TRIES = 20, LIMIT = CHILDREN * TRIES / 2, BUSY = 3 };

static char name[64];
static pg_store *store;
static pg_limiter *limiter, *busy_limiter;
static atomic_int stop;

static int take(pg_limiter *from, int times)
{
    int granted = 0;
    pg_decision d;

    for (int i = 0; i < times; i++) {
        OK(pg_acquire(from, NULL, &d, &error));
        granted += d.status == PG_STATUS_GRANTED;
    }
    return granted;
}

/* What a child does: uses what it inherited, makes its own, closes both. Ends with its grants. */
static int child(void)
{
    pg_store *own_store;
    pg_limiter *own;
    int granted = take(limiter, TRIES / 2);

    open_at(NOW, getenv("PADDLEGATE_TEST_URL"), &own_store);
    OK(pg_limiter_bucket(own_store, name, LIMIT, 86400000000, &own, &error));
    granted += take(own, TRIES / 2);
    OK(pg_limiter_close(own, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(own_store, &error));
    OK(pg_store_close(store, &error));
    return granted;
}

/* Forks CHILDREN times; every child ends by itself, and together they get exactly the limit. */
static void fork_all(void)
{
    int granted = 0, lost = 0;

    open_at(NOW, getenv("PADDLEGATE_TEST_URL"), &store);
    OK(pg_limiter_bucket(store, name, LIMIT, 86400000000, &limiter, &error));
    OK(pg_reset(limiter, &error));
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(60);
            _exit(child());
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) <= TRIES) {
            granted += WEXITSTATUS(status);
        } else {
            lost++;
        }
        take(busy_limiter, 1);
    }
    CHECK_INT(0, lost);
    CHECK_INT(LIMIT, granted);
    CHECK_INT(0, take(limiter, 1));
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static void *keep_busy(void *unused)
{
    pg_store *memory;
    pg_limiter *own;

    OK(pg_store_memory(&memory, &error));
    while (!stop) {
        take(busy_limiter, 1);
        OK(pg_limiter_bucket(memory, "own", 1, 1000000, &own, &error));
        OK(pg_limiter_close(own, &error));
    }
    OK(pg_store_close(memory, &error));
    return unused;
}

static void after_use(void)
{
    take(busy_limiter, 1);
    fork_all();
}

static void while_other_threads_are_in_a_call(void)
{
    pthread_t threads[BUSY];

    stop = 0;
    for (int i = 0; i < BUSY; i++) {
        pthread_create(&threads[i], NULL, keep_busy, NULL);
    }
    fork_all();
    stop = 1;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *peek(void *unused)
{
    pg_decision d;

    while (!stop) {
        OK(pg_peek(limiter, NULL, &d, &error));
    }
    return unused;
}

/* A child has a copy of what the memory held, or nothing where a thread was in the middle of a change. */
static void in_memory(void)
{
    pthread_t threads[BUSY];
    int lost = 0;

    open_at(NOW, "memory://", &store);
    OK(pg_limiter_bucket(store, name, 2, 86400000000, &limiter, &error));
    CHECK_INT(1, take(limiter, 1));
    stop = 0;
    for (int i = 0; i < BUSY; i++) {
        pthread_create(&threads[i], NULL, peek, NULL);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(60);
            _exit(take(limiter, 2));
        }
        waitpid(pid, &status, 0);
        lost += !WIFEXITED(status) || (WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != 2);
    }
    stop = 1;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_INT(0, lost);
    CHECK_INT(1, take(limiter, 2));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

static pg_limiter *lease;

static void *wait_in_turn(void *unused)
{
    pg_decision d;

    while (!stop) {
        OK(pg_acquire_timeout(lease, NULL, PG_FOREVER, &d, &error));
        if (d.status == PG_STATUS_GRANTED) {
            OK(pg_release(lease, d.permit, NULL, &error));
        }
    }
    return unused;
}

/* The hints of the parent are not the child's; it waits in turn by its own. */
static int waiting_child(pg_wakeups *hints)
{
    pg_wakeup hint;
    pg_decision d;
    pg_wakeups *own;
    size_t count;
    int wrong = pg_wakeups_receive(hints, &hint, 1, &count, NULL) != PG_INVALID;

    wrong += pg_wakeups_fd(hints) != -1;
    wrong += pg_wakeups_close(hints, NULL) != PG_OK;
    OK(pg_listen(lease, &own, &error));
    OK(pg_wakeups_receive(own, &hint, 1, &count, &error));
    OK(pg_acquire_timeout(lease, NULL, 15000000, &d, &error));
    wrong += d.status != PG_STATUS_GRANTED;
    OK(pg_release(lease, d.permit, NULL, &error));
    OK(pg_wakeups_close(own, &error));
    return wrong;
}

static void while_other_threads_wait_in_turn(void)
{
    pthread_t threads[BUSY];
    pg_wakeups *hints;
    pg_wakeup hint;
    size_t count;
    int lost = 0;

    OK(pg_store_open(getenv("PADDLEGATE_TEST_URL"), 10000000, &store, &error));
    OK(pg_limiter_concurrent(store, name, 1, 60000000, &lease, &error));
    OK(pg_listen(lease, &hints, &error));
    stop = 0;
    for (int i = 0; i < BUSY; i++) {
        pthread_create(&threads[i], NULL, wait_in_turn, NULL);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(60);
            _exit(waiting_child(hints));
        }
        waitpid(pid, &status, 0);
        lost += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    stop = 1;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_INT(0, lost);
    OK(pg_wakeups_receive(hints, &hint, 1, &count, &error));
    OK(pg_wakeups_close(hints, &error));
    OK(pg_reset(lease, &error));
    OK(pg_limiter_close(lease, &error));
    OK(pg_store_close(store, &error));
}

/* And leaves those of its parent alone. */
static void a_child_closes_its_own(void)
{
    pg_decision d;
    int status;
    pid_t pid;

    OK(pg_store_open(getenv("PADDLEGATE_TEST_URL"), 10000000, &store, &error));
    OK(pg_limiter_concurrent(store, "c-fork-close", 1, 60000000, &limiter, &error));
    OK(pg_acquire(limiter, NULL, &d, &error));
    pid = fork();
    if (pid == 0) {
        alarm(60);
        _exit(pg_store_close(store, NULL) != PG_OK || pg_acquire(limiter, NULL, &d, NULL) != PG_INVALID);
    }
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(pg_release(limiter, d.permit, NULL, &error));
    OK(pg_limiter_close(limiter, &error));
    OK(pg_store_close(store, &error));
}

int main(void)
{
    pg_store *busy_store;

    snprintf(name, sizeof name, "c-fork-%ld", (long)time(NULL));
    open_at(NOW, getenv("PADDLEGATE_TEST_URL"), &busy_store);
    OK(pg_limiter_bucket(busy_store, "c-fork-busy", 1, 1000000, &busy_limiter, &error));
    /* The first fork comes before any call. */
    RUN(fork_all);
    RUN(after_use);
    RUN(while_other_threads_are_in_a_call);
    RUN(in_memory);
    RUN(a_child_closes_its_own);
    RUN(while_other_threads_wait_in_turn);
    OK(pg_reset(busy_limiter, &error));
    OK(pg_limiter_close(busy_limiter, &error));
    OK(pg_store_close(busy_store, &error));
    return check_report();
}
