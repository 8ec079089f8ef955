/* Costs: a number for every limit, or units by label. */
#define _POSIX_C_SOURCE 200809L
#include "live.h"

static const pg_limit LLM[] = {
    {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000, .label = "rpm"},
    {.kind = PG_KIND_POINTS, .amount = 1000, .interval_us = 60000000, .label = "tpm"},
};

static void make_llm(pg_limiter **first, pg_limiter **second)
{
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, LLM, 2, first, &error));
    OK(pg_limiter_new(there, name, LLM, 2, second, &error));
}

/* What the limit has left. */
static int64_t left(pg_limiter *limiter, const char *label)
{
    /* As many units of the other as it has: then this one is described. */
    const pg_units nothing[] = {{"rpm", 0, NULL}, {"tpm", 0, NULL}};
    pg_request check = {.cost_by_label = nothing, .cost_count = 2};
    pg_units most[] = {{"rpm", 5, NULL}, {"tpm", 1000, NULL}};
    pg_decision d;

    OK(pg_peek(limiter, &check, &d, &error));
    if (strcmp(d.label, label) == 0) {
        return d.remaining;
    }
    most[strcmp(label, "rpm") == 0].units = 0;
    OK(pg_peek(limiter, &(pg_request){.cost_by_label = most, .cost_count = 2}, &d, &error));
    CHECK_TEXT(label, d.label);
    return d.remaining;
}

static void a_cost_names_its_limits(void)
{
    const pg_units cost[] = {{"tpm", 900, NULL}};
    const pg_request call = {.cost_by_label = cost, .cost_count = 1};
    pg_limiter *first, *second;
    pg_decision d;

    make_llm(&first, &second);
    OK(pg_acquire(first, &call, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    /* The limit that is not named counts the call. */
    CHECK_TEXT("rpm", d.label);
    CHECK_INT(4, d.remaining);
    CHECK_INT(100, left(second, "tpm"));
    OK(pg_acquire(second, &call, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_POINTS, d.reason);
    CHECK_TEXT("tpm", d.label);
    CHECK_INT(48000000, d.retry_after_us);
    OK(pg_peek(first, &(pg_request){.cost = 4}, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    forget(first, second);
}

static void an_estimate_is_corrected_by_label(void)
{
    const pg_units estimate[] = {{"tpm", 600, NULL}}, actual[] = {{"tpm", 50, NULL}};
    pg_limiter *first, *second;
    pg_decision d;
    pg_settlement settlement;

    make_llm(&first, &second);
    OK(pg_acquire(first, &(pg_request){.estimate_by_label = estimate, .estimate_count = 1}, &d, &error));
    CHECK(d.permit[0] != '\0');
    CHECK_INT(400, left(second, "tpm"));
    OK(pg_correct(second, d.permit, 0, actual, 1, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    CHECK_INT(950, left(first, "tpm"));
    CHECK_INT(4, left(first, "rpm"));
    OK(pg_correct(first, d.permit, 0, actual, 1, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_ALREADY, settlement);
    /* A number is the actual cost of every limit. */
    OK(pg_acquire(first, &(pg_request){.estimate_by_label = estimate, .estimate_count = 1}, &d, &error));
    OK(pg_correct(first, d.permit, 0, NULL, 0, &settlement, &error));
    CHECK_INT(950, left(first, "tpm"));
    CHECK_INT(4, left(first, "rpm"));
    forget(first, second);
}

static void an_empty_array_is_a_cost(void)
{
    const pg_limit limits[] = {
        {.kind = PG_KIND_WINDOW, .amount = 5, .interval_us = 60000000, .label = "rpm"},
        {.kind = PG_KIND_BUCKET, .amount = 9, .interval_us = 60000000, .label = "rpd"},
    };
    const pg_units none[] = {{NULL, 0, NULL}};
    pg_limiter *limiter;
    pg_decision d;

    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 2, &limiter, &error));
    OK(pg_acquire(limiter, &(pg_request){.estimate_by_label = none}, &d, &error));
    CHECK_INT(4, d.remaining);
    CHECK(d.permit[0] != '\0');
    OK(pg_correct(limiter, d.permit, 0, none, 0, NULL, &error));
    OK(pg_debit(limiter, 0, none, 0, &d, &error));
    CHECK_INT(3, d.remaining);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

static void who_waits_names_limits_too(void)
{
    const pg_units cost[] = {{"tpm", 600, NULL}};
    const pg_request call = {.cost_by_label = cost, .cost_count = 1};
    const pg_wait wait = {.max_wait_us = 60000000};
    pg_limiter *first, *second;
    pg_decision d;
    pg_admission admission;

    make_llm(&first, &second);
    OK(pg_acquire_timeout(first, &call, 0, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    OK(pg_acquire_with_id(second, &call, "job", &wait, &d, &error));
    CHECK_INT(PG_STATUS_QUEUED, d.status);
    CHECK_INT(12000000, d.ready_after_us);
    OK(pg_admit(first, "other", "reschedule", &call, &admission, &error));
    CHECK_INT(PG_ACTION_RESCHEDULE, admission.action);
    CHECK_INT(48000000, admission.decision.ready_after_us);
    at(NOW + 12000000);
    OK(pg_acquire_with_id(second, &call, "job", &wait, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(0, left(first, "tpm"));
    CHECK_INT(3, left(first, "rpm"));
    forget(first, second);
}

static void a_debit_is_charged_in_any_case(void)
{
    const pg_units tokens[] = {{"tpm", 900, NULL}};
    pg_limiter *first, *second;
    pg_decision d;

    make_llm(&first, &second);
    OK(pg_debit(first, 0, tokens, 1, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_INT(PG_REASON_NONE, d.reason);
    CHECK_TEXT("rpm", d.label);
    CHECK_INT(5, d.limit);
    CHECK_INT(4, d.remaining);
    CHECK_TEXT("", d.permit);
    OK(pg_debit(second, 0, tokens, 1, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    CHECK_TEXT("tpm", d.label);
    CHECK_INT(0, d.remaining);
    /* A debt of 800, and the point. */
    OK(pg_acquire(first, &(pg_request){.cost = 1}, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(48060000, d.retry_after_us);
    /* The debt is one whole limit at most. */
    OK(pg_debit(first, 5000, NULL, 0, &d, &error));
    OK(pg_peek(second, &(pg_request){.cost = 1}, &d, &error));
    CHECK_TEXT("tpm", d.label);
    CHECK_INT(60060000, d.retry_after_us);
    forget(first, second);
}

static void a_lowered_limit_refuses_a_cost_above_it(void)
{
    const pg_units cost[] = {{"tpm", 600, NULL}};
    const pg_request call = {.cost_by_label = cost, .cost_count = 1};
    pg_limiter *first, *second;
    pg_decision d;

    make_llm(&first, &second);
    OK(pg_override(first, "tpm", 500, PG_NOT_GIVEN, PG_NOT_GIVEN, PG_NOT_GIVEN, NULL, &error));
    OK(pg_acquire(second, &call, &d, &error));
    CHECK_INT(PG_STATUS_REFUSED, d.status);
    CHECK_INT(PG_REASON_TOO_LARGE, d.reason);
    CHECK_TEXT("tpm", d.label);
    CHECK_INT(500, d.limit);
    CHECK_INT(-1, d.retry_after_us);
    OK(pg_restore(second, "tpm", NULL, &error));
    OK(pg_override(second, "tpm", 500, PG_NOT_GIVEN, 30000000, PG_NOT_GIVEN, NULL, &error));
    OK(pg_acquire(first, &call, &d, &error));
    CHECK_INT(PG_REASON_TOO_LARGE, d.reason);
    CHECK_INT(30000000, d.retry_after_us);
    OK(pg_restore(first, NULL, NULL, &error));
    OK(pg_acquire(second, &call, &d, &error));
    CHECK_INT(PG_STATUS_GRANTED, d.status);
    forget(first, second);
}

static void the_longest_permit_fits(void)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const int64_t most = 1000000000000;
    pg_limit limits[8];
    pg_units estimate[8];
    char id[65] = "";
    pg_limiter *limiter;
    pg_decision d;
    pg_settlement settlement;

    memset(id, 'x', 64);
    for (int i = 0; i < 8; i++) {
        limits[i] = (pg_limit){.kind = PG_KIND_BUCKET, .amount = most, .interval_us = 86400000000, .label = labels[i]};
        estimate[i] = (pg_units){labels[i], (uint64_t)most - (uint64_t)(i == 7), NULL};
    }
    OK(pg_new_id(name, &error));
    OK(pg_limiter_new(here, name, limits, 8, &limiter, &error));
    OK(pg_acquire_with_id(limiter, &(pg_request){.estimate_by_label = estimate, .estimate_count = 8}, id, NULL, &d,
                          &error));
    CHECK_INT(192, strlen(d.permit));
    OK(pg_correct(limiter, d.permit, 0, NULL, 0, &settlement, &error));
    CHECK_INT(PG_SETTLEMENT_SETTLED, settlement);
    OK(pg_peek(limiter, NULL, &d, &error));
    CHECK_INT(most, d.remaining);
    OK(pg_reset(limiter, &error));
    OK(pg_limiter_close(limiter, &error));
}

int main(void)
{
    ON_EACH_STORE(a_cost_names_its_limits);
    ON_EACH_STORE(an_estimate_is_corrected_by_label);
    ON_EACH_STORE(an_empty_array_is_a_cost);
    ON_EACH_STORE(who_waits_names_limits_too);
    ON_EACH_STORE(a_debit_is_charged_in_any_case);
    ON_EACH_STORE(a_lowered_limit_refuses_a_cost_above_it);
    ON_EACH_STORE(the_longest_permit_fits);
    return check_report();
}
