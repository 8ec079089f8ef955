/* How long an estimate can be settled. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

static const int64_t MINUTE = 60000000, HOUR = 3600000000, WEEK = 7 * 86400000000;

enum { ACQUIRE, TIMEOUT, WITH_ID, ADMIT, VERBS };

static void make_points(pg_limiter **first, pg_limiter **second)
{
    OK(pg_new_id(name, &error));
    OK(pg_limiter_points(here, name, 1000, 86400000000, first, &error));
    OK(pg_limiter_points(there, name, 1000, 86400000000, second, &error));
}

/* Every function that takes an estimate and charges it; id is that of the call. */
static pg_code take(int verb, const char *id, pg_limiter *limiter, const pg_request *request, pg_decision *d, pg_error *e)
{
    pg_admission admission;
    pg_code code;

    switch (verb) {
    case ACQUIRE:
        return pg_acquire(limiter, request, d, e);
    case TIMEOUT:
        return pg_acquire_timeout(limiter, request, 0, d, e);
    case WITH_ID:
        return pg_acquire_with_id(limiter, request, id, NULL, d, e);
    default:
        code = pg_admit(limiter, id, NULL, request, &admission, e);
        *d = admission.decision;
        return code;
    }
}

static void every_call_says_how_long(void)
{
    const pg_units units[] = {{"points", 200, NULL}};
    const pg_request long_ones[] = {
        {.estimate = 200, .settle_within_us = HOUR},
        {.estimate_by_label = units, .estimate_count = 1, .settle_within_us = HOUR},
    };
    pg_limiter *first, *second;
    pg_decision longer, shorter, d;
    pg_settlement settlement;

    for (int verb = 0; verb < VERBS; verb++) {
        for (int i = 0; i < 2; i++) {
            at(NOW);
            make_points(&first, &second);
            OK(take(verb, "long", first, &long_ones[i], &longer, &error));
            CHECK_INT(PG_STATUS_GRANTED, longer.status);
            OK(take(verb, "short", first, &(pg_request){.estimate = 200}, &shorter, &error));
            at(NOW + 6 * MINUTE);
            OK(pg_correct(second, shorter.permit, 50, NULL, 0, &settlement, &error));
            CHECK_INT(PG_SETTLEMENT_LATE, settlement);
            OK(pg_correct(second, longer.permit, 50, NULL, 0, &settlement, &error));
            CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
            OK(pg_peek(first, &(pg_request){.estimate = 1, .settle_within_us = HOUR}, &d, &error));
            /* 400 without 150, and what six minutes have given back. */
            CHECK_INT(754, d.remaining);
            forget(first, second);
        }
    }
}

static void it_ends_when_its_time_does(void)
{
    const int64_t times[] = {0, 5 * MINUTE, HOUR, WEEK};
    pg_limiter *first, *second;
    pg_decision one, other;
    pg_settlement settlement;

    for (int i = 0; i < 4; i++) {
        const pg_request request = {.estimate = 10, .settle_within_us = times[i]};
        int64_t time = times[i] == 0 ? 5 * MINUTE : times[i];

        at(NOW);
        make_points(&first, &second);
        OK(pg_acquire(first, &request, &one, &error));
        OK(pg_acquire(first, &request, &other, &error));
        at(NOW + time - 1);
        OK(pg_correct(first, one.permit, 5, NULL, 0, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
        OK(pg_correct(second, one.permit, 5, NULL, 0, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_ALREADY, settlement);
        at(NOW + time);
        OK(pg_correct(second, other.permit, 5, NULL, 0, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_LATE, settlement);
        forget(first, second);
    }
}

static void who_waits_says_it_with_the_last_attempt(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_THROTTLE, .amount = 1, .interval_us = HOUR},
        {.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 86400000000},
    };
    const pg_request request = {.estimate = 100, .settle_within_us = 3 * HOUR};
    const pg_wait wait = {.max_wait_us = 2 * HOUR};
    pg_limiter *limiter;
    pg_decision d;
    pg_settlement settlement;

    at(NOW);
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 2, &limiter, &error));
    OK(pg_acquire(limiter, &request, &d, &error));
    OK(pg_acquire_with_id(limiter, &request, "job", &wait, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    at(NOW + HOUR);
    OK(pg_acquire_with_id(limiter, &request, "job", &wait, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    at(NOW + 4 * HOUR - 1);
    OK(pg_correct(limiter, d.permit, 1, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

static void several_limiters_and_keys_too(void)
{
    const pg_request request = {.estimate = 100, .settle_within_us = HOUR};
    pg_limiter *first, *second, *plain, *keyed, *one, *members[2], *both;
    char of_keys[64];
    pg_decision d;
    pg_settlement settlement;

    at(NOW);
    make_points(&first, &second);
    snprintf(of_keys, sizeof of_keys, "%s-keyed", name);
    OK(pg_limiter_points(here, of_keys, 1000, 86400000000, &plain, &error));
    OK(pg_limiter_keyed(plain, &keyed, &error));
    OK(pg_limiter_with_key(keyed, "ann", &one, &error));
    members[0] = first;
    members[1] = one;
    OK(pg_together(here, members, 2, &both, &error));
    for (int i = 0; i < 2; i++) {
        at(NOW + i * HOUR);
        OK(pg_acquire(i == 0 ? both : one, &request, &d, &error));
        CHECK_INT(PG_STATUS_GRANTED, d.status);
        at(NOW + i * HOUR + 6 * MINUTE);
        OK(pg_correct(i == 0 ? both : one, d.permit, 1, NULL, 0, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    }
    OK(pg_reset(one, &error));
    OK(pg_limiter_close(both, &error));
    OK(pg_limiter_close(one, &error));
    OK(pg_limiter_close(keyed, &error));
    OK(pg_limiter_close(plain, &error));
    forget(first, second);
}

static void wrong_times_charge_nothing(void)
{
    const int64_t wrong[] = {-1, 1, 5 * MINUTE - 1, WEEK + 1, INT64_MAX, INT64_MIN};
    const pg_request without_estimate[] = {
        {.settle_within_us = HOUR},
        {.cost = 1, .settle_within_us = HOUR},
        {.cost = PG_COST_ZERO, .settle_within_us = HOUR},
    };
    pg_limiter *first, *second;
    pg_decision d;
    pg_error e;

    at(NOW);
    make_points(&first, &second);
    for (int verb = 0; verb < VERBS; verb++) {
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            const pg_request bad = {.estimate = 1, .settle_within_us = wrong[i]};

            CHECK_INT(PG_INVALID, take(verb, "bad", first, &bad, &d, &e));
            CHECK_TEXT("settle_within", e.argument);
            CHECK(strstr(e.message, "settle_within") != NULL);
            CHECK(d.status != PG_STATUS_GRANTED);
            CHECK_INT(PG_INVALID, pg_peek(first, &bad, &d, &e));
            CHECK_TEXT("settle_within", e.argument);
        }
        for (size_t i = 0; i < sizeof without_estimate / sizeof *without_estimate; i++) {
            CHECK_INT(PG_INVALID, take(verb, "bad", first, &without_estimate[i], &d, &e));
            CHECK_TEXT("settle_within", e.argument);
        }
    }
    OK(pg_peek(second, &(pg_request){.cost = 1}, &d, &error));
    CHECK_INT(1000, d.remaining);
    forget(first, second);
}

int main(void)
{
    ON_EACH_STORE(every_call_says_how_long);
    ON_EACH_STORE(it_ends_when_its_time_does);
    ON_EACH_STORE(who_waits_says_it_with_the_last_attempt);
    ON_EACH_STORE(several_limiters_and_keys_too);
    ON_EACH_STORE(wrong_times_charge_nothing);
    return check_report();
}
