/* The order of the queue: priorities, shares, and jobs that do not come back. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include "misuse.h"

static const pg_wait A_MINUTE = {.max_wait_us = 60000000};

static void make_workers(pg_limiter **first, pg_limiter **second)
{
    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 60000000}, first, second);
}

static int64_t position_of(pg_limiter *limiter, const char *id, pg_request request)
{
    pg_decision d;

    OK(pg_acquire_with_id(limiter, &request, id, &A_MINUTE, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    return d.position;
}

static void a_higher_priority_comes_first(void)
{
    pg_limiter *first, *second;
    pg_decision held, d;

    make_workers(&first, &second);
    OK(pg_acquire(first, NULL, &held, &error));
    CHECK_INT(0, position_of(first, "report", (pg_request){.cost = 1}));
    CHECK_INT(0, position_of(second, "payment", (pg_request){.cost = 1, .priority = 9}));
    CHECK_INT(1, position_of(first, "report", (pg_request){.cost = 1}));
    OK(pg_release(second, held.permit, NULL, &error));
    OK(pg_acquire_with_id(first, NULL, "report", &A_MINUTE, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    OK(pg_acquire_with_id(second, &(pg_request){.priority = 9}, "payment", &A_MINUTE, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    forget(first, second);
}

static void shares_take_turns(void)
{
    pg_limiter *first, *second;
    pg_decision held;

    make_workers(&first, &second);
    OK(pg_acquire(first, NULL, &held, &error));
    CHECK_INT(0, position_of(first, "a1", (pg_request){.share = "acme"}));
    CHECK_INT(1, position_of(second, "a2", (pg_request){.share = "acme"}));
    CHECK_INT(2, position_of(first, "a3", (pg_request){.share = "acme"}));
    CHECK_INT(1, position_of(second, "b1", (pg_request){.share = "globex"}));
    /* Four times as much as others: before the second of both. */
    CHECK_INT(0, position_of(first, "c1", (pg_request){.share = "initech", .weight = 4}));
    forget(first, second);
}

static void a_call_that_waits_rises(void)
{
    pg_limiter *first, *second, *aging, *other = NULL;
    const pg_wait long_wait = {.max_wait_us = 3600000000, .claim_timeout_us = 600000000};
    const pg_request urgent = {.cost = 1, .priority = 2};
    pg_decision d;
    int64_t now = pg_test_clock_now(test_clock);

    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 1, .interval_us = 3600000000}, &first, &second);
    OK(pg_limiter_with_aging(first, 60000000, &aging, &error));
    OK(pg_acquire(aging, NULL, &d, &error));
    OK(pg_acquire_with_id(aging, NULL, "report", &long_wait, &d, &error));
    OK(pg_acquire_with_id(aging, &urgent, "mail", &long_wait, &d, &error));
    CHECK_INT(0, d.position);
    OK(pg_test_clock_set(test_clock, now + 181000000, &error));
    OK(pg_acquire_with_id(second, NULL, "report", &long_wait, &d, &error));
    CHECK_INT(1, d.position);
    OK(pg_acquire_with_id(aging, NULL, "report", &long_wait, &d, &error));
    CHECK_INT(0, d.position);
    OK(pg_test_clock_set(test_clock, now, &error));
    REFUSED("aging", pg_limiter_with_aging(first, 999999, &other, &error_));
    REFUSED("aging", pg_limiter_with_aging(first, -1, &other, &error_));
    REFUSED("aging", pg_limiter_with_aging(first, INT64_MAX, &other, &error_));
    CHECK(other == NULL);
    OK(pg_limiter_close(aging, &error));
    forget(first, second);
}

static void others_pass_a_job_by_that_does_not_call(void)
{
    pg_limiter *first, *second;
    pg_admission held, admission;
    const int64_t timeouts[] = {PG_NOT_GIVEN, 30000000}, passed_after[] = {5000000, 30000000};

    CHECK_INT(5000000, pg_admission_claim_timeout_us());
    for (size_t i = 0; i < 2; i++) {
        int64_t now = pg_test_clock_now(test_clock);

        make_workers(&first, &second);
        OK(pg_admit(first, "held", NULL, NULL, &held, &error));
        CHECK_INT(PG_ACTION_RUN, held.action);
        OK(pg_admit_within(second, "gone", NULL, timeouts[i], NULL, &admission, &error));
        CHECK_INT(PG_ACTION_WAIT, admission.action);
        OK(pg_admit_within(second, "here", NULL, timeouts[i], NULL, &admission, &error));
        CHECK_INT(1, admission.decision.position);
        OK(pg_release(first, held.decision.permit, NULL, &error));
        OK(pg_admit_within(second, "here", NULL, timeouts[i], NULL, &admission, &error));
        CHECK_INT(PG_ACTION_WAIT, admission.action);
        OK(pg_test_clock_set(test_clock, now + passed_after[i] - 1000000, &error));
        OK(pg_admit_within(second, "here", NULL, timeouts[i], NULL, &admission, &error));
        CHECK_INT(PG_ACTION_WAIT, admission.action);
        /* Its turn was at most a first guess of the wait later than it called. */
        OK(pg_test_clock_set(test_clock, now + passed_after[i] + 6000000, &error));
        OK(pg_admit_within(second, "here", NULL, timeouts[i], NULL, &admission, &error));
        CHECK_INT(PG_ACTION_RUN, admission.action);
        forget(first, second);
    }
}

static void a_wrong_place_changes_nothing(void)
{
    static char long_share[130];
    pg_limiter *limiter, *other;
    pg_decision d;
    pg_admission admission;

    memset(long_share, 'x', 129);
    make_workers(&limiter, &other);
    for (int queues = 0; queues < 2; queues++) {
        const pg_wait *wait = queues ? &A_MINUTE : NULL;

        REFUSED("priority", pg_acquire_with_id(limiter, &(pg_request){.priority = 10}, "id", wait, &d, &error_));
        REFUSED("priority", pg_acquire_with_id(limiter, &(pg_request){.priority = -1}, "id", wait, &d, &error_));
        REFUSED("share", pg_acquire_with_id(limiter, &(pg_request){.share = ""}, "id", wait, &d, &error_));
        REFUSED("share", pg_acquire_with_id(limiter, &(pg_request){.share = "a\tb"}, "id", wait, &d, &error_));
        REFUSED("share", pg_acquire_with_id(limiter, &(pg_request){.share = "\xff"}, "id", wait, &d, &error_));
        REFUSED("share", pg_acquire_with_id(limiter, &(pg_request){.share = long_share}, "id", wait, &d, &error_));
        REFUSED("weight", pg_acquire_with_id(limiter, &(pg_request){.weight = 1}, "id", wait, &d, &error_));
        REFUSED("weight", pg_acquire_with_id(limiter, &(pg_request){.share = "a", .weight = 1001}, "id", wait, &d, &error_));
        REFUSED("weight", pg_acquire_with_id(limiter, &(pg_request){.share = "a", .weight = -1}, "id", wait, &d, &error_));
    }
    REFUSED("priority", pg_admit(limiter, "id", NULL, &(pg_request){.priority = INT64_MAX}, &admission, &error_));
    REFUSED("priority", pg_acquire_timeout(limiter, &(pg_request){.priority = 10}, 0, &d, &error_));
    REFUSED("claim_timeout", pg_admit_within(limiter, "id", NULL, 0, NULL, &admission, &error_));
    REFUSED("claim_timeout", pg_admit_within(limiter, "id", NULL, -2, NULL, &admission, &error_));
    REFUSED("claim_timeout", pg_admit_within(limiter, "id", NULL, INT64_MAX, NULL, &admission, &error_));
    OK(pg_peek(limiter, &(pg_request){.cost = PG_COST_ZERO, .priority = 9, .share = "a", .weight = 1000}, &d, &error));
    CHECK_INT(1, d.remaining);
    forget(limiter, other);
}

int main(void)
{
    ON_EACH_STORE(a_higher_priority_comes_first);
    ON_EACH_STORE(shares_take_turns);
    ON_EACH_STORE(a_call_that_waits_rises);
    ON_EACH_STORE(others_pass_a_job_by_that_does_not_call);
    ON_EACH_STORE(a_wrong_place_changes_nothing);
    return check_report();
}
