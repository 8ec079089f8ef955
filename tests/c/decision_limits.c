/* The numbers of each limit in a decision that asks for them. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

#include "misuse.h"

static const pg_wait A_MINUTE = {.max_wait_us = 60000000};

static void make_model(pg_limiter **first)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 3, .interval_us = 60000000, .label = "rpm"},
        {.kind = PG_KIND_POINTS, .amount = 100, .interval_us = 100000000, .label = "tpm"},
        {.kind = PG_KIND_CONCURRENCY, .amount = 2, .interval_us = 30000000, .label = "workers"},
    };

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 3, first, &error));
}

static void check_limit(const pg_decision_limit *limit, const char *label, int64_t amount, int64_t interval,
                        int64_t remaining, int64_t retry_after, int64_t reset_after)
{
    CHECK_TEXT(label, limit->label);
    CHECK_INT(-1, limit->limiter);
    CHECK_INT(amount, limit->limit);
    CHECK_INT(interval, limit->interval_us);
    CHECK_INT(remaining, limit->remaining);
    CHECK_INT(retry_after, limit->retry_after_us);
    CHECK_INT(reset_after, limit->reset_after_us);
}

static void each_limit_is_written_if_the_request_asks(void)
{
    pg_limiter *model;
    pg_decision_limits limits;
    const pg_units forty = {.label = "tpm", .units = 40}, seventy = {.label = "tpm", .units = 70};
    const pg_request small = {.cost_by_label = &forty, .cost_count = 1, .limits = &limits};
    const pg_request large = {.cost_by_label = &seventy, .cost_count = 1, .limits = &limits};
    pg_decision d;

    make_model(&model);
    memset(&limits, 0x55, sizeof limits);
    OK(pg_acquire(model, &small, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(3, limits.count);
    check_limit(&limits.each[0], "rpm", 3, 60000000, 2, 0, 60000000);
    check_limit(&limits.each[1], "tpm", 100, 100000000, 60, 0, 40000000);
    check_limit(&limits.each[2], "workers", 2, 30000000, 1, 0, 30000000);
    CHECK_TEXT("", limits.each[3].label);
    for (int i = 0; i < 3; i++) {
        memset(&limits, 0x55, sizeof limits);
        if (i == 0) {
            OK(pg_acquire(model, &large, &d, &error));
        } else if (i == 1) {
            OK(pg_peek(model, &large, &d, &error));
        } else {
            OK(pg_acquire_with_id(model, &large, "waits", &A_MINUTE, &d, &error));
            CHECK_INT(PG_STATUS_QUEUED, d.status);
        }
        CHECK_INT(3, limits.count);
        check_limit(&limits.each[0], "rpm", 3, 60000000, 2, 0, 60000000);
        check_limit(&limits.each[1], "tpm", 100, 100000000, 60, 10000000, 40000000);
        check_limit(&limits.each[2], "workers", 2, 30000000, 1, 0, 30000000);
    }
    OK(pg_reset(model, &error));
    OK(pg_limiter_close(model, &error));
}

static void limiters_that_decide_together_say_whose_limit_it_is(void)
{
    pg_limiter *model, *org, *both;
    const pg_limit nine = {.kind = PG_KIND_BUCKET, .amount = 9, .interval_us = 60000000};
    pg_decision_limits limits;
    const pg_units forty = {.label = "tpm", .units = 40};
    const pg_request request = {.cost_by_label = &forty, .cost_count = 1, .limits = &limits};
    char org_name[33];
    pg_decision d;

    make_model(&model);
    OK(pg_new_id(org_name, &error));
    OK(pg_limiter_new(here, org_name, &nine, 1, &org, &error));
    OK(pg_together(here, (pg_limiter *[]){org, model}, 2, &both, &error));
    OK(pg_acquire(both, &request, &d, &error));
    CHECK_INT(4, limits.count);
    CHECK_INT(0, limits.each[0].limiter);
    CHECK_INT(8, limits.each[0].remaining);
    for (int i = 1; i < 4; i++) {
        CHECK_INT(1, limits.each[i].limiter);
    }
    OK(pg_limiter_close(both, &error));
    OK(pg_reset(org, &error));
    OK(pg_limiter_close(org, &error));
    OK(pg_reset(model, &error));
    OK(pg_limiter_close(model, &error));
}

static void nothing_is_written_after_an_error(void)
{
    pg_limiter *model;
    pg_decision_limits limits;
    const pg_units many = {.label = "tpm", .units = 101};
    const pg_request request = {.cost_by_label = &many, .cost_count = 1, .limits = &limits};

    make_model(&model);
    memset(&limits, 0x55, sizeof limits);
    REFUSED("cost", pg_acquire(model, &request, &decision, &error_));
    CHECK_INT(0, limits.count);
    CHECK_INT(-1, limits.each[31].limiter);
    OK(pg_reset(model, &error));
    OK(pg_limiter_close(model, &error));
}

int main(void)
{
    ON_EACH_STORE(each_limit_is_written_if_the_request_asks);
    ON_EACH_STORE(limiters_that_decide_together_say_whose_limit_it_is);
    ON_EACH_STORE(nothing_is_written_after_an_error);
    return check_report();
}
