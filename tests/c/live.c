/* What changes a limiter while it runs, for all processes. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include <pthread.h>
#include <time.h>

static void a_pause_refuses_until_it_ends(void)
{
    const pg_limit window = {.kind = PG_KIND_WINDOW, .amount = 10, .interval_us = 60000000};
    pg_limiter *first, *second, *other;
    pg_runtime_state controls;
    pg_decision d;

    make(window, &first, &second);
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(there, name, &window, 1, &other, &error));
    OK(pg_pause(first, 30000000, PG_NOT_GIVEN, &controls, &error));
    CHECK_INT(NOW, controls.version);
    CHECK_INT(30000000, controls.paused_for_us);
    CHECK_INT(-1, controls.expires_in_us);
    CHECK_INT(0, controls.override_count);
    /* Nobody has used it yet. */
    CHECK_INT(0, controls.in_use);
    /* A shorter one does not shorten it. */
    at(NOW + 5000000);
    OK(pg_pause(second, PG_NOT_GIVEN, NOW + 10000000, NULL, &error));
    at(NOW + 29999999);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_PAUSED, d.reason);
    CHECK_TEXT("", d.label);
    CHECK_INT(0, d.limit);
    CHECK_INT(1, d.retry_after_us);
    OK(pg_acquire(other, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    at(NOW + 30000000);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_pause(second, 1000000, PG_NOT_GIVEN, NULL, &error));
    at(NOW + 30000001);
    OK(pg_resume(first, &controls, &error));
    CHECK_INT(1, controls.in_use);
    CHECK_INT(-1, controls.paused_for_us);
    at(NOW + 30000002);
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_reset(other, &error));
    OK(pg_limiter_close(other, &error));
    forget(first, second);
}

static void numbers_are_overridden_and_restored(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 10, .interval_us = 60000000},
        {.kind = PG_KIND_LEAKY, .amount = 5, .interval_us = 5000000},
    };
    pg_limiter *first, *second;
    pg_runtime_state c;
    pg_decision d;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 2, &first, &error));
    OK(pg_limiter_new(there, name, limits, 2, &second, &error));
    OK(pg_override(first, "window", 1, PG_NOT_GIVEN, 20000000, PG_NOT_GIVEN, &c, &error));
    CHECK_INT(20000000, c.expires_in_us);
    CHECK_INT(1, c.override_count);
    CHECK_TEXT("window", c.overrides[0].label);
    CHECK_INT(PG_KIND_WINDOW, c.overrides[0].kind);
    CHECK_INT(1, c.overrides[0].amount);
    CHECK_INT(60000000, c.overrides[0].interval_us);
    CHECK_INT(PG_KIND_NONE, c.overrides[1].kind);
    CHECK_INT(0, c.learned_count);
    OK(pg_override(first, "leaky", PG_NOT_GIVEN, 8000000, PG_NOT_GIVEN, NOW + 30000000, &c, &error));
    CHECK_INT(30000000, c.expires_in_us);
    at(NOW + 1);
    OK(pg_acquire(second, &(pg_request){.cost = 1}, &d, &error));
    CHECK_TEXT("window", d.label);
    CHECK_INT(1, d.limit);
    at(NOW + 2);
    OK(pg_acquire(second, &(pg_request){.cost = 1}, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    at(NOW + 3);
    OK(pg_restore(second, "window", &c, &error));
    CHECK_INT(1, c.override_count);
    CHECK_TEXT("leaky", c.overrides[0].label);
    CHECK_INT(8000000, c.overrides[0].interval_us);
    CHECK_INT(5, c.overrides[0].amount);
    at(NOW + 4);
    OK(pg_acquire(first, &(pg_request){.cost = 4}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    at(NOW + 5);
    OK(pg_restore(first, NULL, NULL, &error));
    at(NOW + 6);
    OK(pg_runtime_state_get(second, &c, &error));
    CHECK_INT(0, c.version);
    CHECK_INT(0, c.override_count);
    CHECK_INT(PG_KIND_NONE, c.overrides[0].kind);
    forget(first, second);
}

static void labels_name_the_limits(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 1000000, .label = "burst"},
        {.kind = PG_KIND_WINDOW, .amount = 3, .interval_us = 60000000, .label = "sustained"},
    };
    const pg_limit raised = {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000, .label = "sustained"};
    pg_limiter *first, *second;
    pg_runtime_state c;
    pg_decision d;
    pg_error e;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 2, &first, &error));
    OK(pg_limiter_new(there, name, limits, 2, &second, &error));
    OK(pg_acquire(first, &(pg_request){.cost = 2}, &d, &error));
    CHECK_TEXT("burst", d.label);
    at(NOW + 1000000);
    OK(pg_acquire(second, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_TEXT("sustained", d.label);
    /* Of two limits one must be named. */
    CHECK_INT(PG_INVALID, pg_override(first, NULL, 5, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &e));
    CHECK_TEXT("label", e.argument);
    OK(pg_override_limits(first, &raised, 1, 60000000, PG_NOT_GIVEN, &c, &error));
    CHECK_INT(1, c.override_count);
    CHECK_TEXT("sustained", c.overrides[0].label);
    CHECK_INT(60000000, c.expires_in_us);
    at(NOW + 1000001);
    OK(pg_acquire(second, &(pg_request){.cost = 2}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_restore(second, "sustained", &c, &error));
    CHECK_INT(0, c.override_count);
    forget(first, second);
}

static void a_name_has_one_state(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000},
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000, .label = "sms"},
    };
    const pg_limit lower = {.kind = PG_KIND_WINDOW, .amount = 2, .interval_us = 60000000, .label = "sms"};
    pg_limiter *one, *both;
    pg_runtime_state c;
    pg_decision d;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 1, &one, &error));
    OK(pg_limiter_new(there, name, limits, 2, &both, &error));
    OK(pg_acquire(one, &(pg_request){.cost = 4}, &d, &error));
    OK(pg_acquire(both, NULL, &d, &error));
    CHECK_TEXT("window", d.label);
    CHECK_INT(0, d.remaining);
    /* Also the limits of other policies are overridden. */
    OK(pg_override_limits(one, &lower, 1, PG_NOT_GIVEN, PG_NOT_GIVEN, &c, &error));
    CHECK_TEXT("sms", c.overrides[0].label);
    at(NOW + 60000000);
    OK(pg_acquire(both, NULL, &d, &error));
    CHECK_TEXT("sms", d.label);
    CHECK_INT(2, d.limit);
    forget(one, both);
}

struct waiter {
    pthread_t thread;
    pg_limiter *limiter;
    pg_decision decision;
    struct timespec entered;
};

static void *enter(void *argument)
{
    struct waiter *waiter = argument;

    OK(pg_acquire_timeout(waiter->limiter, NULL, 20000000, &waiter->decision, &error));
    clock_gettime(CLOCK_MONOTONIC, &waiter->entered);
    return NULL;
}

static void wait_until_queued(pg_limiter *limiter, int64_t tickets)
{
    pg_statistics statistics;

    do {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        OK(pg_stats(limiter, &statistics, &error));
    } while (statistics.tickets < tickets);
}

static void check_entered(struct waiter *waiter, struct timespec since)
{
    pthread_join(waiter->thread, NULL);
    CHECK_INT(PG_STATUS_GRANTED, waiter->decision.status);
    /* Who is not called looks by itself, after five seconds. */
    CHECK((waiter->entered.tv_sec - since.tv_sec) * 1000 + (waiter->entered.tv_nsec - since.tv_nsec) / 1000000 < 3000);
}

static void a_raised_limit_calls_those_who_wait(void)
{
    struct waiter waiters[2] = {0};
    struct timespec since;
    pg_limiter *first, *second;
    pg_decision d;

    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 3, .interval_us = 60000000}, &first, &second);
    for (int i = 0; i < 3; i++) {
        OK(pg_acquire(first, NULL, &d, &error));
    }
    for (int i = 0; i < 2; i++) {
        waiters[i].limiter = first;
        pthread_create(&waiters[i].thread, NULL, enter, &waiters[i]);
    }
    wait_until_queued(second, 2);
    clock_gettime(CLOCK_MONOTONIC, &since);
    OK(pg_override(second, NULL, 5, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    check_entered(&waiters[0], since);
    check_entered(&waiters[1], since);
    /* Lowered, nobody is evicted. */
    OK(pg_override(second, NULL, 2, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_release(second, waiters[0].decision.permit, NULL, &error));
    OK(pg_acquire(first, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    forget(first, second);
}

static void a_resume_calls_those_who_wait(void)
{
    struct waiter waiter = {0};
    struct timespec since;
    pg_limiter *first, *second;

    make((pg_limit){.kind = PG_KIND_BUCKET, .amount = 5, .interval_us = 86400000000}, &first, &second);
    OK(pg_pause(second, 15000000, PG_NOT_GIVEN, NULL, &error));
    waiter.limiter = first;
    pthread_create(&waiter.thread, NULL, enter, &waiter);
    wait_until_queued(second, 1);
    clock_gettime(CLOCK_MONOTONIC, &since);
    OK(pg_resume(second, NULL, &error));
    check_entered(&waiter, since);
    forget(first, second);
}

int main(void)
{
    ON_EACH_STORE(a_pause_refuses_until_it_ends);
    ON_EACH_STORE(numbers_are_overridden_and_restored);
    ON_EACH_STORE(labels_name_the_limits);
    ON_EACH_STORE(a_name_has_one_state);
    ON_EACH_STORE(a_raised_limit_calls_those_who_wait);
    ON_EACH_STORE(a_resume_calls_those_who_wait);
    return check_report();
}
