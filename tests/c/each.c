/* Several calls in one exchange: each is decided by itself. */
#include "live.h"

#define MANY 200

static pg_acquire_call calls[PG_MAX_EACH + 1];

static void each_call_is_decided_by_itself(void)
{
    pg_limiter *first, *second;
    pg_error e;

    make((pg_limit){.kind = PG_KIND_WINDOW, .amount = MANY, .interval_us = 60000000}, &first, &second);
    memset(calls, 0x55, sizeof calls);
    for (int i = 0; i < MANY; i++) {
        calls[i].limiter = i % 2 ? first : second;
        calls[i].request = NULL;
    }
    int64_t least = MANY;
    calls[5].request = &(pg_request){.cost = 3};
    calls[6].request = &(pg_request){.cost = MANY + 1};
    calls[7].limiter = NULL;
    calls[8].request = &(pg_request){.cost = -2};
    OK(pg_acquire_each(calls, MANY, &error));
    for (int i = 0; i < MANY; i++) {
        if (i >= 6 && i <= 8) {
            CHECK_INT(PG_INVALID, calls[i].error.code);
            CHECK_TEXT(i == 7 ? "limiter" : "cost", calls[i].error.argument);
            CHECK_INT(PG_STATUS_REFUSED, calls[i].decision.status);
            continue;
        }
        CHECK_INT(PG_OK, calls[i].error.code);
        CHECK_INT(PG_STATUS_GRANTED, calls[i].decision.status);
        CHECK(calls[i].decision.remaining < MANY);
        if (calls[i].decision.remaining < least)
            least = calls[i].decision.remaining;
    }
    /* Three of them failed, and one took three. */
    CHECK_INT(1, least);
    calls[0] = calls[1] = (pg_acquire_call){.limiter = first, .request = &(pg_request){.cost = 1}};
    OK(pg_acquire_each(calls, 2, NULL));
    CHECK(calls[0].decision.status != calls[1].decision.status);
    CHECK_INT(PG_OK, calls[0].error.code);
    CHECK_INT(PG_OK, calls[1].error.code);
    OK(pg_acquire_each(NULL, 0, &error));
    CHECK_INT(PG_INVALID, pg_acquire_each(NULL, 1, &e));
    CHECK_TEXT("calls", e.argument);
    CHECK_INT(PG_INVALID, pg_acquire_each(calls, PG_MAX_EACH + 1, &e));
    CHECK_TEXT("calls", e.argument);
    forget(first, second);
}

static void a_call_that_grants_a_lease_has_its_permit(void)
{
    pg_limiter *first, *second;
    pg_settlement settlement;

    make((pg_limit){.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 60000000}, &first, &second);
    for (int i = 0; i < 3; i++)
        calls[i] = (pg_acquire_call){.limiter = first};
    OK(pg_acquire_each(calls, 3, &error));
    int granted = 0;
    for (int i = 0; i < 3; i++) {
        if (calls[i].decision.status != PG_STATUS_GRANTED)
            continue;
        granted++;
        OK(pg_release(second, calls[i].decision.permit, &settlement, &error));
        CHECK_INT(PG_SETTLEMENT_RELEASED, settlement);
    }
    CHECK_INT(2, granted);
    forget(first, second);
}

int main(void)
{
    ON_EACH_STORE(each_call_is_decided_by_itself);
    ON_EACH_STORE(a_call_that_grants_a_lease_has_its_permit);
    return check_report();
}
