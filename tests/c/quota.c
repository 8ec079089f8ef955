/* Periods of the calendar, more units for an open permit, and what a correction gives back. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include "misuse.h"

/* 2023-11-14T22:13:20Z, which is NOW, is 23:13:20 in Berlin. */
static const int64_t MIDNIGHT_IN_BERLIN = 46 * 60000000LL + 40 * 1000000LL;

static pg_limiter *quota(pg_store *of, const char *per, const char *timezone, const char *starts)
{
    pg_limiter *limiter;

    OK(pg_limiter_quota(of, name, 5, per, timezone, starts, &limiter, &error));
    return limiter;
}

static void all_units_return_at_midnight(void)
{
    pg_limiter *first, *second;
    pg_decision d;
    pg_list *list;
    pg_limiter_info info;

    OK(pg_new_id(name, &error));
    first = quota(here, "day", "Europe/Berlin", NULL);
    second = quota(there, "day", "Europe/Berlin", "00:00");
    OK(pg_acquire(first, &(pg_request){.cost = 5}, &d, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_QUOTA, d.reason);
    CHECK_TEXT("quota", pg_reason_name(d.reason));
    CHECK_TEXT("quota", d.label);
    CHECK_INT(MIDNIGHT_IN_BERLIN, d.retry_after_us);
    OK(pg_list_open_prefix(here, name, &list, &error));
    OK(pg_list_next(list, &info, &error));
    CHECK_INT(PG_KIND_QUOTA, info.limits[0].kind);
    CHECK_TEXT("day", info.limits[0].per);
    CHECK_TEXT("Europe/Berlin", info.limits[0].timezone);
    CHECK_TEXT("00:00", info.limits[0].starts);
    CHECK_INT(86400000000, info.limits[0].interval_us);
    OK(pg_list_close(list, &error));
    OK(pg_test_clock_set(test_clock, NOW + MIDNIGHT_IN_BERLIN, &error));
    OK(pg_acquire(second, NULL, &d, &error));
    CHECK_INT(4, d.remaining);
    forget(first, second);
}

static void a_quota_is_one_of_several_limits(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_QUOTA, .amount = 3, .per = "month", .starts = "31", .label = "monthly"},
        {.kind = PG_KIND_WINDOW, .amount = 9, .interval_us = 1000000},
    };
    pg_limiter *limiter;
    pg_decision d;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 2, &limiter, &error));
    OK(pg_acquire(limiter, &(pg_request){.cost = 3}, &d, &error));
    CHECK_INT(0, d.remaining);
    OK(pg_acquire(limiter, NULL, &d, &error));
    CHECK_TEXT("monthly", d.label);
    /* November has no 31st: the period ends on the 30th. */
    CHECK_INT(15 * 86400000000LL + 6400000000LL, d.retry_after_us);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

static void a_permit_is_extended(void)
{
    pg_limiter *first, *second;
    pg_decision granted, more, d;
    pg_settlement settlement;

    make((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 20000000}, &first, &second);
    OK(pg_acquire(first, &(pg_request){.estimate = 200}, &granted, &error));
    OK(pg_extend(second, granted.permit, 300, NULL, 0, &settlement, &more, &error));
    CHECK_INT(PG_SETTLEMENT_NONE, settlement);
    CHECK_INT(PG_STATUS_GRANTED, more.status);
    CHECK_INT(500, more.remaining);
    CHECK(strcmp(granted.permit, more.permit) != 0);
    OK(pg_extend(second, more.permit, 0, &(pg_units){"points", 501, NULL}, 1, &settlement, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(20000, d.retry_after_us);
    CHECK_TEXT("", d.permit);
    REFUSED("units", pg_extend(second, more.permit, 0, NULL, 0, &settlement, &d, &error_));
    CHECK_INT(PG_SETTLEMENT_NONE, settlement);
    REFUSED("units", pg_extend(second, more.permit, 1001, NULL, 0, NULL, &d, &error_));
    REFUSED("units", pg_extend(second, more.permit, -1, NULL, 0, NULL, &d, &error_));
    REFUSED("permit", pg_extend(second, NULL, 1, NULL, 0, NULL, &d, &error_));
    REFUSED("decision", pg_extend(second, more.permit, 1, NULL, 0, NULL, NULL, &error_));
    OK(pg_correct(first, more.permit, 450, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    OK(pg_extend(second, more.permit, 1, NULL, 0, &settlement, &d, &error));
    CHECK_INT(PG_SETTLEMENT_ALREADY, settlement);
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_extend(second, "nonsense", 1, NULL, 0, NULL, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    OK(pg_peek(first, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
    CHECK_INT(550, d.remaining);
    forget(first, second);
}

static void only_what_has_not_drained_is_given_back(void)
{
    const char *const refunds[] = {NULL, "full", "undrained"};
    const int64_t remaining[] = {1000, 1000, 0};

    for (size_t i = 0; i < 3; i++) {
        pg_limiter *first, *second;
        pg_decision early, d;

        OK(pg_test_clock_set(test_clock, NOW, &error));
        make((pg_limit){.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 20000000, .refund = refunds[i]}, &first,
             &second);
        OK(pg_acquire(first, &(pg_request){.estimate = 1000}, &early, &error));
        OK(pg_test_clock_set(test_clock, NOW + 20000000, &error));
        OK(pg_acquire(first, &(pg_request){.estimate = 1000}, &d, &error));
        OK(pg_correct(second, early.permit, 0, NULL, 0, NULL, &error));
        OK(pg_peek(first, &(pg_request){.cost = PG_COST_ZERO}, &d, &error));
        CHECK_INT(remaining[i], d.remaining);
        forget(first, second);
    }
}

static void wrong_numbers_are_refused(void)
{
    pg_limiter *limiter = NULL;
    const pg_limit window = {.kind = PG_KIND_WINDOW, .amount = 1, .interval_us = 1000000, .refund = "undrained"};
    const pg_limit points = {.kind = PG_KIND_POINTS, .amount = 1, .interval_us = 1000000, .refund = "half"};

    REFUSED("per", pg_limiter_quota(here, "q", 5, "hour", NULL, NULL, &limiter, &error_));
    REFUSED("per", pg_limiter_quota(here, "q", 5, NULL, NULL, NULL, &limiter, &error_));
    REFUSED("timezone", pg_limiter_quota(here, "q", 5, "day", "Mars/Phobos", NULL, &limiter, &error_));
    REFUSED("timezone", pg_limiter_quota(here, "q", 5, "day", "\xff", NULL, &limiter, &error_));
    REFUSED("starts", pg_limiter_quota(here, "q", 5, "month", NULL, "32", &limiter, &error_));
    REFUSED("limit", pg_limiter_quota(here, "q", 0, "day", NULL, NULL, &limiter, &error_));
    REFUSED("limit", pg_limiter_quota(here, "q", -1, "day", NULL, NULL, &limiter, &error_));
    REFUSED("refund", pg_limiter_new(here, "q", &window, 1, &limiter, &error_));
    REFUSED("refund", pg_limiter_new(here, "q", &points, 1, &limiter, &error_));
    CHECK(limiter == NULL);
}

int main(void)
{
    ON_EACH_STORE(all_units_return_at_midnight);
    ON_EACH_STORE(a_quota_is_one_of_several_limits);
    ON_EACH_STORE(a_permit_is_extended);
    ON_EACH_STORE(only_what_has_not_drained_is_given_back);
    ON_EACH_STORE(wrong_numbers_are_refused);
    return check_report();
}
