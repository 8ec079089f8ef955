/* The steps of waiting.json: the rules of one waiting call, without a limiter. */
#ifndef WAITING_H
#define WAITING_H

#include "vectors.h"

static pg_waiter waiter;
static int64_t claim_timeout, keep;

static void expect_number(const char *expected, int64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, number);
    expect(expected, text);
}

/* whether the id is its own, maximum wait, now */
static void waiter_init(void)
{
    pg_error error;

    claim_timeout = pg_claim_timeout_us(), keep = 0;
    well(pg_waiter_init(&waiter, atoi(field[1]) ? NULL : "given", atoll(field[2]), atoll(field[3]), &error), &error);
    if (strlen(waiter.id) != (atoi(field[1]) ? 32 : strlen("given"))) {
        fail("an id", waiter.id);
    }
}

/* claim time-out, patience, now */
static void waiter_init_job(void)
{
    pg_error error;

    claim_timeout = atoll(field[1]), keep = pg_job_claim_timeout_us();
    well(pg_waiter_init_job(&waiter, "given", claim_timeout, atoll(field[2]), atoll(field[3]), &error), &error);
}

/* now, channel, expected maximum wait and ticket or 0, channel of the attempt */
static void waiter_next(void)
{
    pg_wait wait;
    pg_error error;

    well(pg_waiter_next(&waiter, atoll(field[1]), field[2], &wait, &error), &error);
    expect_number(field[3], wait.max_wait_us);
    expect_number(field[4], wait.position);
    expect(field[5], wait.channel == NULL ? "" : wait.channel);
    if (wait.claim_timeout_us != claim_timeout || wait.keep_us != keep) {
        fail("the claim time-out and what a job adds to it", "others");
    }
}

/* now, status, retry_after, ticket, degraded, expected, whether there is a ticket then */
static void waiter_decision(void)
{
    pg_decision decision = {.status = (pg_status)atoi(field[2]), .retry_after_us = atoll(field[3]),
                            .ticket = atoll(field[4]), .degraded = atoi(field[5])};

    expect_number(field[6], pg_waiter_on_decision(&waiter, atoll(field[1]), &decision));
    expect_number(field[7], pg_waiter_has_ticket(&waiter));
}

static int is_of_waiter(const char *verb)
{
    return strncmp(verb, "waiter-", 7) == 0;
}

static void of_waiter(const char *verb)
{
    if (strcmp(verb, "waiter-init") == 0) {
        waiter_init();
    } else if (strcmp(verb, "waiter-init_job") == 0) {
        waiter_init_job();
    } else if (strcmp(verb, "waiter-next") == 0) {
        waiter_next();
    } else if (strcmp(verb, "waiter-decision") == 0) {
        waiter_decision();
    } else if (strcmp(verb, "waiter-error") == 0) {
        pg_error error = {.may_have_counted = atoi(field[1])};
        pg_waiter_on_error(&waiter, &error);
    } else if (strcmp(verb, "waiter-wakeup") == 0) {
        pg_waiter_on_wakeup(&waiter, atoll(field[1]));
    } else if (strcmp(verb, "waiter-retry_at") == 0) {
        expect_number(field[2], pg_waiter_retry_at(&waiter, field[1]));
    } else if (strcmp(verb, "waiter-must_cancel") == 0) {
        expect_number(field[2], pg_waiter_must_cancel(&waiter, atoi(field[1])));
    } else if (strcmp(verb, "waiter-pause") == 0) {
        expect_number(field[2], pg_reconnect_pause_us(atoll(field[1])));
    } else {
        fail("a step of a waiter", verb);
    }
}

#endif
